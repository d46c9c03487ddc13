/* agent/image/fetch.c - one image, from its name to a record in the store.
 * docs/spec/node.md, "Images" */
#include "agent/image/fetch.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/image/evict.h"
#include "agent/image/layer.h"
#include "agent/image/source.h"
#include "base/mem.h"
#include "host/file.h"

#define UNPACKS_TO 3 /* times its archive, for most layers */
#define SLACK (INT64_C(64) << 20)

struct fetch {
    const struct fetch_opts *o;
    struct image_store store;
    struct source source;
    struct image_doc doc;
    struct image_record record;
    int locks[IMAGE_LAYERS_MAX];
    uint32_t n_locks;
};

static int64_t size_of(const struct fetch *f, const char *digest)
{
    for (uint32_t i = 0; i < f->doc.layers.n; i++)
        if (strcmp(f->doc.layers.v[i].digest, digest) == 0) return f->doc.layers.v[i].size;
    return 0;
}

/* ---- which image ---- */

static int read_doc(struct fetch *f, const char *digest, char ret_digest[DIGEST_TEXT],
                    struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, IMAGE_DOC_MAX);
    image_doc_done(&f->doc);
    f->doc = (struct image_doc){0};
    int rc = source_manifest(&f->source, digest, &b, err);
    if (rc == 0) rc = image_doc_parse(strbuf_str(&b), &f->doc, err);
    if (rc < 0) return rc;
    digest_of(strbuf_str(&b), ret_digest);
    return 0;
}

/* An index leads to a manifest, perhaps through one more index. */
static int resolve(struct fetch *f, struct err *err)
{
    char digest[DIGEST_TEXT];
    const char *tag = f->source.ref.kind == IMAGE_OCI ? f->source.ref.tag : "";
    int rc = read_doc(f, NULL, digest, err);
    for (int depth = 0; rc == 0 && image_doc_is_index(&f->doc); depth++) {
        struct image_part part;
        if (depth == 2) return err_set(err, ERR_INVALID, "an index of indexes of indexes");
        rc = image_doc_choose(&f->doc, f->o->arch, tag, &part, err);
        if (rc == 0) rc = read_doc(f, part.digest, digest, err);
        tag = "";
    }
    if (rc < 0) return rc;
    TEXT_CLIP(f->record.digest, str_of(digest));
    /* Of a layer that comes twice only the upper one shows. */
    for (uint32_t i = 0; i < f->doc.layers.n; i++) {
        bool again = false;
        for (uint32_t k = i + 1; k < f->doc.layers.n; k++)
            again |= strcmp(f->doc.layers.v[i].digest, f->doc.layers.v[k].digest) == 0;
        if (!again)
            TEXT_CLIP(VEC_ADD(&f->record.layers)->digest, str_of(f->doc.layers.v[i].digest));
    }
    return 0;
}

static int configure(struct fetch *f, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    struct image_config c;
    strbuf_init(&b, IMAGE_DOC_MAX);
    int rc = source_config(&f->source, f->record.digest, &f->doc.config, &b, err);
    if (rc == 0) rc = image_config_parse(strbuf_str(&b), &c, err);
    if (rc < 0) return rc;
    if ((c.os[0] && strcmp(c.os, "linux") != 0) ||
        (c.architecture[0] && strcmp(c.architecture, f->o->arch) != 0))
        rc = err_set(err, ERR_UNSUPPORTED, "image %.100s is for %s/%s, this node is linux/%s",
                     f->o->image, c.os, c.architecture, f->o->arch);
    else f->record.run = c.config;
    if (rc < 0) image_config_done(&c);
    return rc;
}

/* ---- its layers ---- */

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

/* In the order of their digests, so that no two wait for each other. */
static int lock_missing(struct fetch *f, struct err *err)
{
    char (*sorted)[DIGEST_TEXT] = mem_array(f->record.layers.n, sizeof(*sorted));
    int rc = 0;
    for (uint32_t i = 0; i < f->record.layers.n; i++)
        text_clip(sorted[i], DIGEST_TEXT, str_of(f->record.layers.v[i].digest));
    qsort(sorted, f->record.layers.n, sizeof(*sorted), by_text);
    for (uint32_t i = 0; i < f->record.layers.n && rc >= 0; i++) {
        rc = evict_lock_layer(&f->store, sorted[i], err);
        if (rc >= 0) f->locks[f->n_locks++] = rc;
    }
    mem_free(sorted);
    return rc < 0 ? rc : 0;
}

static void unlock_all(struct fetch *f)
{
    while (f->n_locks) file_close(&f->locks[--f->n_locks]);
}

/* What this very image takes of the store. */
static int64_t own_bytes(const struct fetch *f)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < f->record.layers.n; i++)
        sum += image_store_bytes_of(&f->store, f->record.layers.v[i].digest);
    return sum;
}

/* Waiting helps when others hold what is missing. */
static int no_room(const struct fetch *f, int64_t room, struct err *err)
{
    bool alone = room + own_bytes(f) >= f->o->limit_bytes;
    if (alone)
        return err_set(err, ERR_LIMIT, "image %.100s is larger than this node's cache of images "
                       "(%lld MiB)", f->o->image, (long long)(f->o->limit_bytes >> 20));
    return err_set(err, ERR_UNAVAILABLE, "image %.100s: what runs leaves too little room in this "
                   "node's cache of images (%lld MiB)", f->o->image,
                   (long long)(f->o->limit_bytes >> 20));
}

static int bring(struct fetch *f, struct err *err)
{
    int64_t need = 0;
    for (uint32_t i = 0; i < f->record.layers.n; i++) {
        const char *digest = f->record.layers.v[i].digest;
        if (image_store_has_layer(&f->store, digest)) continue;
        if (!image_store_has_blob(&f->store, digest)) need += size_of(f, digest);
    }
    if (f->source.ref.kind != IMAGE_DOCKER || need == 0) return 0;
    int64_t room = image_store_room(&f->store, need);
    if (room < need) return no_room(f, room, err);
    image_store_mark(&f->store, &f->record);
    int rc = source_layers(&f->source, f->record.digest, &f->doc, err);
    /* Copies of the documents, as the fetcher keeps them. */
    image_store_drop_blob(&f->store, f->record.digest);
    image_store_drop_blob(&f->store, f->doc.config.digest);
    return rc;
}

static int unpack_into(struct fetch *f, const char *tmp, const char *digest, int64_t most,
                       struct layer_size *ret, struct err *err)
{
    const struct layer_size limit = {most, LAYER_ENTRIES_MAX};
    int rc = file_remove_tree(f->store.tmp, tmp, err);
    if (rc == 0) rc = file_mkdir(f->store.tmp, tmp, 0700, err);
    AUTO_FD int dir = rc < 0 ? -1 : file_open_dir(f->store.tmp, tmp, err);
    if (dir < 0) return rc < 0 ? rc : dir;
    rc = file_mkdir(dir, "fs", 0755, err);
    AUTO_FD int fs = rc < 0 ? -1 : file_open_dir(dir, "fs", err);
    if (fs < 0) return rc < 0 ? rc : fs;
    AUTO_FD int blob = source_blob(&f->source, digest, err);
    return blob < 0 ? blob : layer_unpack_apart(blob, digest, fs, &limit, ret, err);
}

static int unpack(struct fetch *f, const char *digest, struct err *err)
{
    char tmp[DIGEST_HEX + 32], hex[DIGEST_HEX];
    struct layer_size size;
    digest_hex(digest, hex);
    text_fmt(tmp, sizeof(tmp), "layer-%s-%d", hex, (int)getpid());
    int64_t room = image_store_room(&f->store, UNPACKS_TO * size_of(f, digest) + SLACK);
    int rc = unpack_into(f, tmp, digest, room, &size, err);
    int64_t more = rc == ERR_LIMIT ? image_store_room(&f->store, f->o->limit_bytes) : 0;
    if (rc == ERR_LIMIT && more > room) {
        room = more;
        rc = unpack_into(f, tmp, digest, room, &size, err);
    }
    if (rc == ERR_LIMIT) rc = no_room(f, room, err);
    if (rc == ERR_CORRUPT && f->source.ref.kind == IMAGE_DOCKER)
        image_store_drop_blob(&f->store, digest); /* to be fetched again */
    if (rc == 0) rc = image_store_add_layer(&f->store, tmp, digest, size.bytes, err);
    if (rc == 0) image_store_drop_blob(&f->store, digest);
    file_remove_tree(f->store.tmp, tmp, NULL);
    return rc;
}

static int unpack_all(struct fetch *f, struct err *err)
{
    for (uint32_t i = 0; i < f->record.layers.n; i++) {
        const char *digest = f->record.layers.v[i].digest;
        char text[80];
        if (image_store_has_layer(&f->store, digest)) continue;
        text_fmt(text, sizeof(text), "unpacking layer %u of %u", i + 1, f->record.layers.n);
        f->o->say(f->o->arg, text);
        int rc = unpack(f, digest, err);
        if (rc < 0) return rc;
    }
    return 0;
}

/* ---- all of it ---- */

static bool is_here(struct fetch *f, const char *digest)
{
    struct image_record r;
    if (image_store_read(&f->store, digest, &r, NULL) < 0) return false;
    wire_free(&image_record_table, &r);
    return true;
}

/* Of a layout on this machine each blob must be readable, also one that is here from
 * somewhere else: who knows a digest alone gets nothing for it. */
static int may_read_all(struct fetch *f, struct err *err)
{
    if (f->source.ref.kind != IMAGE_OCI) return 0;
    for (uint32_t i = 0; i < f->record.layers.n; i++) {
        AUTO_FD int fd = source_blob(&f->source, f->record.layers.v[i].digest, err);
        if (fd < 0) return fd;
    }
    return 0;
}

static int make_whole(struct fetch *f, struct err *err)
{
    int rc = configure(f, err);
    if (rc == 0) rc = lock_missing(f, err);
    if (rc == 0) rc = bring(f, err);
    if (rc == 0) rc = unpack_all(f, err);
    if (rc == 0) rc = image_store_write(&f->store, &f->record, err);
    return rc;
}

int fetch_image(const struct fetch_opts *o, char ret_digest[DIGEST_TEXT], struct err *err)
{
    struct fetch f = {.o = o};
    int rc = image_store_open(o->state_dir, o->limit_bytes, &f.store, err);
    if (rc < 0) return rc;
    wire_init(&image_record_table, &f.record);
    rc = source_open(&f.source, o, &f.store, err);
    if (rc == 0) {
        const char *pinned = f.source.ref.digest;
        bool here = pinned[0] && is_here(&f, pinned);
        if (here) TEXT_CLIP(f.record.digest, str_of(pinned));
        else rc = resolve(&f, err);
        if (rc == 0 && !here) rc = may_read_all(&f, err);
        if (rc == 0 && !here && !is_here(&f, f.record.digest)) rc = make_whole(&f, err);
        if (rc == 0) text_clip(ret_digest, DIGEST_TEXT, str_of(f.record.digest));
        source_close(&f.source);
    }
    unlock_all(&f);
    if (rc == 0) image_store_room(&f.store, 0);
    image_doc_done(&f.doc);
    wire_free(&image_record_table, &f.record);
    image_store_close(&f.store);
    return rc;
}
