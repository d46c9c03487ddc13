/* agent/docker/load.c - an image from an OCI layout on this machine into an engine.
 * docs/spec/node.md, "Engines" */
#include "agent/docker/load.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/docker/http.h"
#include "agent/docker/tar.h"
#include "base/mem.h"
#include "host/file.h"
#include "wire/table.h"

#define JSON_MAX (4 * 1024 * 1024)
#define LAYERS_MAX 256
#define LOAD_MS 600000

/* ---- what is read ---- */

struct descriptor { char digest[80]; int64_t size; struct wire_map notes; };
static const struct wire_field descriptor_fields[] = {
    WIRE_F_TEXT(struct descriptor, digest, "digest", .flags = WIRE_REQUIRED),
    WIRE_F_I64(struct descriptor, size, "size", .flags = WIRE_REQUIRED, .max = TAR_BYTES_MAX),
    WIRE_F_MAP(struct descriptor, notes, "annotations", 256, 65536)};
static const struct wire_table descriptor_table =
    WIRE_TABLE("descriptor", struct descriptor, descriptor_fields, .lenient = true);

struct index { VEC(struct descriptor) manifests; };
static const struct wire_field index_fields[] = {
    WIRE_F_LIST(struct index, manifests, "manifests", &descriptor_table, 1024,
                .flags = WIRE_REQUIRED)};
static const struct wire_table index_table =
    WIRE_TABLE("index", struct index, index_fields, .lenient = true);

struct manifest { struct descriptor config; VEC(struct descriptor) layers; };
static const struct wire_field manifest_fields[] = {
    WIRE_F_OBJECT(struct manifest, config, "config", &descriptor_table, .flags = WIRE_REQUIRED),
    WIRE_F_LIST(struct manifest, layers, "layers", &descriptor_table, LAYERS_MAX,
                .flags = WIRE_REQUIRED)};
static const struct wire_table manifest_table =
    WIRE_TABLE("manifest", struct manifest, manifest_fields, .lenient = true);

/* "sha256:" and 64 hex digits: nothing that could lead elsewhere. */
static bool is_digest(const char *d)
{
    if (!str_starts(str_of(d), STR("sha256:")) || strlen(d) != 7 + 64) return false;
    return strspn(d + 7, "0123456789abcdef") == 64;
}

static int read_json(int dir, const char *name, const struct wire_table *t, void *obj,
                     struct err *err)
{
    AUTO_FREE char *buf = mem_alloc(JSON_MAX);
    size_t n = 0;
    int rc = file_read(dir, name, buf, JSON_MAX, &n, err);
    if (rc == 0) rc = wire_parse(t, str_n(buf, n), obj, err);
    return rc < 0 ? err_prefix(err, "%s", name), rc : 0;
}

static const struct descriptor *pick(const struct index *x, const char *tag)
{
    if (!tag) return x->manifests.n == 1 ? &x->manifests.v[0] : NULL;
    for (uint32_t i = 0; i < x->manifests.n; i++) {
        const char *name = wire_map_get(&x->manifests.v[i].notes,
                                        STR("org.opencontainers.image.ref.name"));
        if (name && strcmp(name, tag) == 0) return &x->manifests.v[i];
    }
    return NULL;
}

static int take_manifest(struct load_image *l, const struct manifest *m, struct err *err)
{
    bool good = is_digest(m->config.digest) && m->config.size >= 0;
    TEXT_CLIP(l->config, str_of(m->config.digest));
    l->config_bytes = m->config.size;
    for (uint32_t i = 0; i < m->layers.n && good; i++) {
        struct load_layer *layer = VEC_ADD(&l->layers);
        good = is_digest(m->layers.v[i].digest) && m->layers.v[i].size >= 0;
        TEXT_CLIP(layer->digest, str_of(m->layers.v[i].digest));
        layer->bytes = m->layers.v[i].size;
    }
    return good ? 0 : err_set(err, ERR_INVALID, "the manifest names a blob that is no sha256");
}

static int open_manifest(struct load_image *l, const char *tag, struct err *err)
{
    struct index x = {0};
    struct manifest m = {0};
    char blob[128];
    int rc = read_json(l->dir, "index.json", &index_table, &x, err);
    if (rc < 0) return rc;
    const struct descriptor *d = pick(&x, tag);
    if (!d) rc = err_set(err, ERR_NOT_FOUND, tag ? "there is no image '%.60s' in it"
                         : "it holds none or several images: name one%s", tag ? tag : "");
    else if (!is_digest(d->digest)) rc = err_set(err, ERR_INVALID, "its digest is no sha256");
    if (rc == 0) TEXT_CLIP(l->manifest, str_of(d->digest));
    wire_free(&index_table, &x);
    if (rc < 0) return rc;
    text_fmt(blob, sizeof(blob), "blobs/sha256/%s", l->manifest + 7);
    rc = read_json(l->dir, blob, &manifest_table, &m, err);
    if (rc < 0) return rc;
    rc = take_manifest(l, &m, err);
    wire_free(&manifest_table, &m);
    return rc;
}

int load_open(const char *ref, struct load_image *ret, struct err *err)
{
    char dir[DOCKER_NAME * 4];
    struct load_image l = {.dir = -1};
    const char *colon = strrchr(ref, ':'), *slash = strrchr(ref, '/');
    bool tagged = colon && slash && colon > slash;
    if (!TEXT_SET(dir, tagged ? str_n(ref, (size_t)(colon - ref)) : str_of(ref)))
        return err_set(err, ERR_LIMIT, "the layout's path is too long");
    l.dir = file_open_dir(AT_FDCWD, dir, err);
    int rc = l.dir < 0 ? l.dir : open_manifest(&l, tagged ? colon + 1 : NULL, err);
    if (rc < 0) {
        load_done(&l);
        err_prefix(err, "image oci:%.100s", ref);
        return rc;
    }
    *ret = l;
    return 0;
}

void load_done(struct load_image *l)
{
    VEC_DONE(&l->layers);
    file_close(&l->dir);
}

/* ---- the archive ---- */

static int put_head(struct docker_stream *s, const char *name, int64_t bytes, struct err *err)
{
    char h[TAR_BLOCK];
    tar_head(&(struct tar_entry){.name = name, .mode = 0644, .bytes = bytes}, h);
    return docker_send(s, str_n(h, sizeof(h)), err);
}

static int put_pad(struct docker_stream *s, int64_t bytes, struct err *err)
{
    static const char zero[TAR_BLOCK];
    return docker_send(s, str_n(zero, (size_t)(-bytes & (TAR_BLOCK - 1))), err);
}

static int put_text(struct docker_stream *s, const char *name, struct str text, struct err *err)
{
    int rc = put_head(s, name, (int64_t)text.n, err);
    if (rc == 0) rc = docker_send(s, text, err);
    return rc < 0 ? rc : put_pad(s, (int64_t)text.n, err);
}

static int put_blob(struct docker_stream *s, int dir, const struct load_layer *blob,
                    const char *as, struct err *err)
{
    char path[128];
    struct stat st;
    text_fmt(path, sizeof(path), "blobs/sha256/%s", blob->digest + 7);
    AUTO_FD int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, ERR_NOT_FOUND, errno, "the image lacks its blob %.20s", blob->digest);
    if (!S_ISREG(st.st_mode) || st.st_size != blob->bytes)
        return err_set(err, ERR_CORRUPT, "blob %.20s is not as long as the image says",
                       blob->digest);
    AUTO_FREE char *buf = mem_alloc(1 << 20);
    int rc = put_head(s, as, blob->bytes, err);
    for (int64_t left = blob->bytes; left > 0 && rc == 0;) {
        ssize_t n = read(fd, buf, left < (1 << 20) ? (size_t)left : (size_t)(1 << 20));
        if (n <= 0) return err_sys(err, ERR_IO, errno, "cannot read blob %.20s", blob->digest);
        rc = docker_send(s, str_n(buf, (size_t)n), err);
        left -= n;
    }
    return rc < 0 ? rc : put_pad(s, blob->bytes, err);
}

static void tag_of(const struct load_image *l, char ret[DOCKER_NAME])
{
    text_fmt(ret, DOCKER_NAME, "rota/layout:%.32s", l->manifest + 7);
}

static int put_manifest(struct docker_stream *s, const struct load_image *l, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    char tag[DOCKER_NAME];
    tag_of(l, tag);
    strbuf_init(&b, 65536);
    strbuf_fmt(&b, "[{\"Config\":\"%s.json\",\"RepoTags\":[\"%s\"],\"Layers\":[", l->config + 7,
               tag);
    for (uint32_t i = 0; i < l->layers.n; i++)
        strbuf_fmt(&b, "%s\"%u/layer.tar\"", i ? "," : "", i);
    strbuf_puts(&b, "]}]");
    return put_text(s, "manifest.json", strbuf_str(&b), err);
}

static int put_archive(struct docker_stream *s, void *arg, struct err *err)
{
    static const char end[2 * TAR_BLOCK];
    const struct load_image *l = arg;
    struct load_layer config = {.bytes = l->config_bytes};
    char name[96];
    TEXT_SET(config.digest, str_of(l->config));
    text_fmt(name, sizeof(name), "%s.json", l->config + 7);
    int rc = put_blob(s, l->dir, &config, name, err);
    for (uint32_t i = 0; i < l->layers.n && rc == 0; i++) {
        text_fmt(name, sizeof(name), "%u/layer.tar", i);
        rc = put_blob(s, l->dir, &l->layers.v[i], name, err);
    }
    if (rc == 0) rc = put_manifest(s, l, err);
    return rc < 0 ? rc : docker_send(s, str_n(end, sizeof(end)), err);
}

int load_send(const char *socket, const struct load_image *l, char ret_id[DOCKER_ID],
                struct err *err)
{
    char tag[DOCKER_NAME];
    int status = 0;
    tag_of(l, tag);
    int rc = docker_image(socket, tag, ret_id, err);
    if (rc != ERR_NOT_FOUND) return rc;
    AUTO_STRBUF struct strbuf answer;
    strbuf_init(&answer, JSON_MAX);
    struct docker_call c = {.socket = socket, .method = "POST", .target = "/images/load?quiet=1",
                            .timeout_ms = LOAD_MS, .write_body = put_archive,
                            .arg = (void *)(uintptr_t)l};
    rc = docker_call(&c, &status, &answer, err);
    if (rc < 0) return rc;
    if (status < 200 || status >= 300) return docker_refused(status, strbuf_str(&answer), err);
    rc = docker_image(socket, tag, ret_id, err);
    if (rc == ERR_NOT_FOUND) /* it answers 200 and tells the failure in the stream */
        err_set(err, ERR_IO, "the engine did not load it: %.150s", answer.n ? answer.p : "");
    return rc == ERR_NOT_FOUND ? ERR_IO : rc;
}
