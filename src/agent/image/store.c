/* agent/image/store.c - images of this node on disk.  docs/spec/node.md, "Images" */
#include "agent/image/store.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/image/evict.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/strbuf.h"
#include "host/file.h"

#define RECORD_MAX (2 * IMAGE_DOC_MAX)
#define LAYER_NAME (DIGEST_HEX + 8)

static int sub_dir(int parent, const char *name, struct err *err)
{
    int rc = file_mkdir(parent, name, 0700, err);
    return rc < 0 ? rc : file_open_dir(parent, name, err);
}

int image_store_open(const char *state_dir, int64_t limit_bytes, struct image_store *ret,
                     struct err *err)
{
    struct image_store s = {.dir = -1, .images = -1, .layers = -1, .blobs = -1, .locks = -1,
                            .tmp = -1, .pins = -1, .containers = -1, .limit_bytes = limit_bytes};
    AUTO_FD int state = file_open_dir(AT_FDCWD, state_dir, err);
    if (state < 0) return state;
    if (text_fmt(s.path, sizeof(s.path), "%s/cache", state_dir) >= (int)sizeof(s.path) - 1)
        return err_set(err, ERR_LIMIT, "the state directory's path is too long");
    int rc = s.dir = sub_dir(state, "cache", err);
    if (rc >= 0) rc = s.images = sub_dir(s.dir, "images", err);
    if (rc >= 0) rc = s.layers = sub_dir(s.dir, "layers", err);
    if (rc >= 0) rc = s.blobs = sub_dir(s.dir, "blobs", err);
    if (rc >= 0) {
        int blobs = s.blobs; /* the fetcher's own layout */
        rc = s.blobs = sub_dir(blobs, "sha256", err);
        close(blobs);
    }
    if (rc >= 0) rc = s.locks = sub_dir(s.dir, "locks", err);
    if (rc >= 0) rc = s.tmp = sub_dir(s.dir, "tmp", err);
    if (rc >= 0) rc = s.pins = sub_dir(s.dir, "pins", err);
    if (rc >= 0) rc = s.containers = sub_dir(state, "containers", err);
    if (rc < 0) {
        image_store_close(&s);
        return rc;
    }
    *ret = s;
    return 0;
}

void image_store_close(struct image_store *s)
{
    int *const all[] = {&s->dir, &s->images, &s->layers, &s->blobs, &s->locks, &s->tmp, &s->pins,
                        &s->containers};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) file_close(all[i]);
}

static void layer_name(const char *digest, char ret[LAYER_NAME])
{
    char hex[DIGEST_HEX];
    digest_hex(digest, hex);
    text_fmt(ret, LAYER_NAME, "sha256-%s", hex);
}

bool image_store_has_layer(const struct image_store *s, const char *digest)
{
    char name[LAYER_NAME];
    layer_name(digest, name);
    return file_exists(s->layers, name);
}

bool image_store_has_blob(const struct image_store *s, const char *digest)
{
    char hex[DIGEST_HEX];
    struct stat st;
    digest_hex(digest, hex);
    return fstatat(s->blobs, hex, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

void image_store_drop_blob(const struct image_store *s, const char *digest)
{
    char hex[DIGEST_HEX];
    digest_hex(digest, hex);
    unlinkat(s->blobs, hex, 0);
}

void image_store_mark(const struct image_store *s, const struct image_record *r)
{
    for (uint32_t i = 0; i < r->layers.n; i++) {
        char hex[DIGEST_HEX];
        digest_hex(r->layers.v[i].digest, hex);
        if (!image_store_has_layer(s, r->layers.v[i].digest)) continue;
        unlinkat(s->blobs, hex, 0);
        if (symlinkat("/dev/null", s->blobs, hex) < 0) continue; /* it is only fetched again */
    }
}

/* ---- records ---- */

static bool whole(const struct image_store *s, const struct image_record *r)
{
    for (uint32_t i = 0; i < r->layers.n; i++)
        if (!image_store_has_layer(s, r->layers.v[i].digest)) return false;
    return true;
}

int image_store_read(const struct image_store *s, const char *digest, struct image_record *ret,
                     struct err *err)
{
    char hex[DIGEST_HEX], name[DIGEST_HEX + 8];
    struct image_record r;
    AUTO_FREE char *buf = mem_alloc(RECORD_MAX);
    size_t n = 0;
    digest_hex(digest, hex);
    text_fmt(name, sizeof(name), "%s.json", hex);
    int rc = file_read(s->images, name, buf, RECORD_MAX, &n, err);
    if (rc < 0) return rc;
    rc = wire_parse(&image_record_table, str_n(buf, n), &r, err);
    if (rc < 0) return err_set(err, ERR_NOT_FOUND, "the record of image %s is damaged", digest);
    if (strcmp(r.digest, digest) == 0 && whole(s, &r)) {
        *ret = r;
        return 0;
    }
    wire_free(&image_record_table, &r);
    return err_set(err, ERR_NOT_FOUND, "image %s is not whole any more", digest);
}

int image_store_write(const struct image_store *s, const struct image_record *r, struct err *err)
{
    char hex[DIGEST_HEX], name[DIGEST_HEX + 8];
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, RECORD_MAX - 1);
    digest_hex(r->digest, hex);
    text_fmt(name, sizeof(name), "%s.json", hex);
    wire_print(&image_record_table, r, &b);
    if (b.full) return err_set(err, ERR_LIMIT, "what the image says of itself is too long");
    return file_write(s->images, name, b.p, b.n, FILE_DURABLE, err);
}

/* ---- layers ---- */

int image_store_add_layer(const struct image_store *s, const char *tmp, const char *digest,
                          int64_t bytes, struct err *err)
{
    char name[LAYER_NAME], text[32];
    layer_name(digest, name);
    AUTO_FD int dir = file_open_dir(s->tmp, tmp, err);
    if (dir < 0) return dir;
    int n = text_fmt(text, sizeof(text), "%lld\n", (long long)bytes);
    int rc = file_write(dir, "size", text, (size_t)n, FILE_ORDERED, err);
    if (rc < 0) return rc;
    /* A name of a layer is a promise that outlives a power cut. */
    if (syncfs(dir) < 0) return err_sys(err, ERR_IO, errno, "cannot write a layer to disk");
    if (renameat(s->tmp, tmp, s->layers, name) == 0 || errno == EEXIST || errno == ENOTEMPTY)
        return 0;
    return err_sys(err, ERR_IO, errno, "cannot keep a layer");
}

static int link_all(const struct image_store *s, const struct image_record *r, int links,
                    struct strbuf *lower, struct err *err)
{
    for (uint32_t i = 0; i < r->layers.n; i++) {
        const char *digest = r->layers.v[r->layers.n - 1 - i].digest;
        char name[LAYER_NAME], to[LAYER_NAME + 64], no[12], size[LAYER_NAME + 8];
        layer_name(digest, name);
        if (!image_store_has_layer(s, digest))
            return err_set(err, ERR_UNAVAILABLE, "a layer of the image was evicted before it "
                           "could be used: the cache is too small for what runs");
        text_fmt(to, sizeof(to), "../../../cache/layers/%s/fs", name);
        text_fmt(size, sizeof(size), "%s/size", name);
        text_fmt(no, sizeof(no), "%u", i);
        if (symlinkat(to, links, no) < 0)
            return err_sys(err, ERR_IO, errno, "cannot link a layer");
        utimensat(s->layers, size, NULL, 0);
        strbuf_fmt(lower, "%s" STORE_LINKS "/%s", i ? ":" : "", no);
    }
    return 0;
}

int image_store_link(const struct image_store *s, const struct image_record *r, int dir,
                     char *ret_lower, size_t cap, struct err *err)
{
    AUTO_STRBUF struct strbuf lower;
    strbuf_init(&lower, cap - 1);
    AUTO_FD int lock = evict_lock(s, err);
    if (lock < 0) return lock;
    int rc = file_mkdir(dir, STORE_LINKS, 0700, err);
    AUTO_FD int links = rc < 0 ? -1 : file_open_dir(dir, STORE_LINKS, err);
    if (links < 0) return rc < 0 ? rc : links;
    rc = link_all(s, r, links, &lower, err);
    if (rc < 0) return rc;
    if (lower.full) return err_set(err, ERR_LIMIT, "the image has too many layers");
    text_clip(ret_lower, cap, strbuf_str(&lower));
    return 0;
}

int64_t image_store_bytes_of(const struct image_store *s, const char *digest)
{
    char name[LAYER_NAME + 8], hex[DIGEST_HEX], text[32];
    struct stat st;
    size_t n = 0;
    int64_t bytes = 0;
    digest_hex(digest, hex);
    if (fstatat(s->blobs, hex, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
        bytes = st.st_size;
    layer_name(digest, name);
    AUTO_FD int dir = file_open_dir(s->layers, name, NULL);
    int64_t size = 0;
    if (dir >= 0 && file_read(dir, "size", text, sizeof(text), &n, NULL) == 0 && n > 0 &&
        str_to_i64(str_n(text, n - 1), &size))
        bytes += size;
    return bytes;
}

/* ---- pins ---- */

int image_store_pin(const struct image_store *s, const char *name, const char *const *digests,
                    struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64 * 1024);
    if (!str_is_name(str_of(name), 128))
        return err_set(err, ERR_INVALID, "'%.100s' is no name of a pin", name);
    for (size_t i = 0; digests[i]; i++) {
        if (!digest_is(str_of(digests[i])))
            return err_set(err, ERR_INVALID, "'%.80s' is no digest of an image", digests[i]);
        strbuf_fmt(&b, "%s\n", digests[i]);
    }
    if (b.full) return err_set(err, ERR_LIMIT, "too many images are pinned at once");
    AUTO_FD int lock = evict_lock(s, err);
    if (lock < 0) return lock;
    return file_write(s->pins, name, b.p ? b.p : "", b.n, FILE_DURABLE, err);
}

int image_store_unpin(const struct image_store *s, const char *name, struct err *err)
{
    if (!str_is_name(str_of(name), 128))
        return err_set(err, ERR_INVALID, "'%.100s' is no name of a pin", name);
    if (unlinkat(s->pins, name, 0) == 0 || errno == ENOENT) return 0;
    return err_sys(err, ERR_IO, errno, "cannot remove the pin %s", name);
}
