/* agent/image/manifest.c - the documents that images are described by.
 * docs/spec/node.md, "Images" */
#include "agent/image/manifest.h"
#include <string.h>

#define INDEX_MAX 256
#define TEXTS_MAX 1024
#define TEXTS_BYTES (512 * 1024)
#define SIZE_MAX_BYTES (INT64_C(1) << 44) /* 16 TiB: more is nonsense */

static const struct wire_field platform_fields[] = {
    WIRE_F_TEXT(struct image_platform, os, "os"),
    WIRE_F_TEXT(struct image_platform, architecture, "architecture"),
};
static const struct wire_table platform_table =
    WIRE_TABLE("platform", struct image_platform, platform_fields, .lenient = true);

static const struct wire_field notes_fields[] = {
    WIRE_F_TEXT(struct image_notes, ref_name, "org.opencontainers.image.ref.name"),
};
static const struct wire_table notes_table =
    WIRE_TABLE("annotations", struct image_notes, notes_fields, .lenient = true);

static int finish_part(void *obj, struct err *err)
{
    const struct image_part *p = obj;
    if (digest_is(str_of(p->digest))) return 0;
    err_set(err, ERR_INVALID, "expected sha256: and 64 hexadecimal digits");
    err_field(err, "digest");
    return ERR_INVALID;
}

static const struct wire_field part_fields[] = {
    WIRE_F_TEXT(struct image_part, media_type, "mediaType"),
    WIRE_F_TEXT(struct image_part, digest, "digest", .flags = WIRE_REQUIRED),
    WIRE_F_I64(struct image_part, size, "size", .min = 0, .max = SIZE_MAX_BYTES,
               .flags = WIRE_REQUIRED),
    WIRE_F_OBJECT(struct image_part, platform, "platform", &platform_table),
    WIRE_F_OBJECT(struct image_part, annotations, "annotations", &notes_table),
};
static const struct wire_table part_table =
    WIRE_TABLE("descriptor", struct image_part, part_fields, .finish = finish_part,
               .lenient = true);

static const struct wire_field doc_fields[] = {
    WIRE_F_U32(struct image_doc, schema, "schemaVersion", .flags = WIRE_REQUIRED),
    WIRE_F_TEXT(struct image_doc, media_type, "mediaType"),
    WIRE_F_LIST(struct image_doc, manifests, "manifests", &part_table, INDEX_MAX),
    WIRE_F_OBJECT(struct image_doc, config, "config", &part_table),
    WIRE_F_LIST(struct image_doc, layers, "layers", &part_table, IMAGE_LAYERS_MAX),
};
static const struct wire_table doc_table =
    WIRE_TABLE("manifest", struct image_doc, doc_fields, .lenient = true,
               .max_bytes = IMAGE_DOC_MAX);

int image_doc_parse(struct str json, struct image_doc *ret, struct err *err)
{
    struct image_doc d;
    int rc = wire_parse(&doc_table, json, &d, err);
    if (rc < 0) return rc;
    if (d.schema != 2)
        rc = err_set(err, ERR_UNSUPPORTED, "a manifest of schema %u, not 2", d.schema);
    else if (!image_doc_is_index(&d) && !d.config.digest[0])
        rc = err_set(err, ERR_UNSUPPORTED, "neither an index nor a manifest of an image");
    else if (!image_doc_is_index(&d) && d.layers.n == 0)
        rc = err_set(err, ERR_UNSUPPORTED, "an image without layers");
    if (rc < 0) image_doc_done(&d);
    else *ret = d;
    return rc;
}

void image_doc_done(struct image_doc *d) { wire_free(&doc_table, d); }

bool image_doc_is_index(const struct image_doc *d) { return d->manifests.n > 0; }

int image_doc_choose(const struct image_doc *d, const char *arch, const char *tag,
                     struct image_part *ret, struct err *err)
{
    const struct image_part *found = NULL;
    uint32_t fits = 0;
    for (uint32_t i = 0; i < d->manifests.n; i++) {
        const struct image_part *p = &d->manifests.v[i];
        const struct image_platform *on = &p->platform;
        if (tag[0] && strcmp(p->annotations.ref_name, tag) != 0) continue;
        if (on->os[0] && strcmp(on->os, "linux") != 0) continue;
        if (on->architecture[0] && strcmp(on->architecture, arch) != 0) continue;
        if (!found) found = p;
        /* Several that name no platform are different images, not one for each. */
        fits += !on->architecture[0];
    }
    if (!found)
        return err_set(err, ERR_NOT_FOUND, tag[0] ? "no image '%.128s' for linux/%s in its index"
                                                  : "no image%.0s for linux/%s in its index",
                       tag, arch);
    if (fits > 1)
        return err_set(err, ERR_INVALID, "its index has %u images: name one by its tag", fits);
    *ret = *found;
    return 0;
}

const char *image_arch(const char *machine)
{
    static const char *const pairs[][2] = {
        {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "386"}, {"armv7l", "arm"},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
        if (strcmp(machine, pairs[i][0]) == 0) return pairs[i][1];
    return machine;
}

/* ---- configuration ---- */

static const struct wire_field run_fields[] = {
    WIRE_F_TEXTS(struct image_run, env, "Env", TEXTS_MAX, TEXTS_BYTES, .flags = WIRE_OMIT),
    WIRE_F_TEXTS(struct image_run, entrypoint, "Entrypoint", TEXTS_MAX, TEXTS_BYTES,
                 .flags = WIRE_OMIT),
    WIRE_F_TEXTS(struct image_run, cmd, "Cmd", TEXTS_MAX, TEXTS_BYTES, .flags = WIRE_OMIT),
    WIRE_F_TEXT(struct image_run, workdir, "WorkingDir"),
};
static const struct wire_table run_table =
    WIRE_TABLE("config", struct image_run, run_fields, .lenient = true);

static const struct wire_field config_fields[] = {
    WIRE_F_TEXT(struct image_config, os, "os"),
    WIRE_F_TEXT(struct image_config, architecture, "architecture"),
    WIRE_F_OBJECT(struct image_config, config, "config", &run_table),
};
static const struct wire_table config_table =
    WIRE_TABLE("image configuration", struct image_config, config_fields, .lenient = true,
               .max_bytes = IMAGE_DOC_MAX);

int image_config_parse(struct str json, struct image_config *ret, struct err *err)
{
    return wire_parse(&config_table, json, ret, err);
}

void image_config_done(struct image_config *c) { wire_free(&config_table, c); }

/* ---- our own ---- */

static int finish_layer(void *obj, struct err *err)
{
    const struct image_layer *l = obj;
    return digest_is(str_of(l->digest)) ? 0 : err_set(err, ERR_INVALID, "is no digest");
}

static const struct wire_field layer_fields[] = {
    WIRE_F_TEXT(struct image_layer, digest, "digest", .flags = WIRE_REQUIRED),
};
static const struct wire_table layer_table =
    WIRE_TABLE("layer", struct image_layer, layer_fields, .finish = finish_layer);

static const struct wire_field record_fields[] = {
    WIRE_F_TEXT(struct image_record, digest, "digest", .flags = WIRE_REQUIRED),
    WIRE_F_LIST(struct image_record, layers, "layers", &layer_table, IMAGE_LAYERS_MAX,
                .min = 1, .flags = WIRE_REQUIRED),
    WIRE_F_OBJECT(struct image_record, run, "run", &run_table),
};
const struct wire_table image_record_table =
    WIRE_TABLE("image", struct image_record, record_fields, .version = 1,
               .max_bytes = 2 * IMAGE_DOC_MAX);
