/* agent/crun_image.c - a member's image, before anything else is done for it.
 * docs/spec/node.md, "Images" */
#include <string.h>
#include "agent/crun_impl.h"
#include "agent/image/ref.h"
#include "base/mem.h"

int crun_image(struct crun *c, const struct container_spec *spec, struct crun_image *ret,
               struct err *err)
{
    struct image_ref ref;
    const struct fetcher_want want = {spec->ref, spec->image, spec->uid, spec->gid};
    char digest[DIGEST_TEXT];
    *ret = (struct crun_image){.spec = *spec};
    int rc = image_ref_parse(spec->image, &ref, err);
    if (rc < 0 || ref.kind == IMAGE_HOST) return rc;
    rc = fetcher_ask(c->fetcher, &want, digest, err);
    if (rc == 0) rc = image_store_read(&c->node.images, digest, &ret->record, err);
    if (rc == 0) rc = image_start_make(&ret->record.run, spec, &ret->start, err);
    if (rc == 0) ret->spec = image_start_spec(spec, &ret->start);
    if (rc == 0 || rc == ERR_UNAVAILABLE) return rc;
    /* What the caller does not try again is told by the code. */
    bool again = rc == ERR_IO || (err && strcmp(err->field, "retry") == 0);
    rc = again ? ERR_IO : ERR_UNSUPPORTED;
    if (err) err->code = rc;
    return rc;
}

void crun_image_done(struct crun_image *i)
{
    wire_free(&image_record_table, &i->record);
    image_start_done(&i->start);
}

void crun_image_note(struct crun_member *m)
{
    if (!m->claim.image[0] || m->report.phase >= MEMBER_EXITED) return;
    text_fmt(m->report.end.detail, sizeof(m->report.end.detail), "image %s", m->claim.image);
}
