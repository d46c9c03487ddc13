/* agent/image/evict.c - what must stay of the images on this node, and what may go.
 *
 * In use is what a container's directory links to, what the images of a pin are
 * made of, and what somebody holds the lock of.  Everything else goes by age of
 * its last use.  docs/spec/node.md, "Images" */
#include "agent/image/evict.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"

#define TRASH "evict-"

int evict_lock(const struct image_store *s, struct err *err)
{
    AUTO_FD int fd = openat(s->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0)
        return err_sys(err, ERR_IO, errno, "cannot lock the cache of images");
    int ret = fd;
    fd = -1;
    return ret;
}

int evict_lock_layer(const struct image_store *s, const char *digest, struct err *err)
{
    char hex[DIGEST_HEX];
    digest_hex(digest, hex);
    for (;;) {
        struct stat mine, there;
        AUTO_FD int fd = openat(s->locks, hex, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &mine) < 0)
            return err_sys(err, ERR_IO, errno, "cannot lock a layer");
        /* Who held it before may have removed the file. */
        if (fstatat(s->locks, hex, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            there.st_ino == mine.st_ino) {
            int ret = fd;
            fd = -1;
            return ret;
        }
    }
}

/* Calls found() for each name of a directory but the dots. */
static void each_name(int dir, void (*found)(void *arg, const char *name), void *arg)
{
    int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    if (!d) {
        file_close(&own);
        return;
    }
    const struct dirent *e;
    while ((e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) found(arg, e->d_name);
    closedir(d);
}

struct item {
    char hex[DIGEST_HEX];
    bool blob, used;
    int64_t bytes, used_ns;
};

struct look {
    const struct image_store *s;
    VEC(struct item) items;
    struct map_str in_use; /* hex of layers */
    int dir;               /* of links that are being read */
};

/* ---- what is in use ---- */

static void take_link(void *arg, const char *name)
{
    struct look *l = arg;
    char to[256];
    ssize_t n = readlinkat(l->dir, name, to, sizeof(to) - 1);
    struct str rest = str_n(to, n > 0 ? (size_t)n : 0), part;
    while (rest.n) {
        str_cut(&rest, '/', &part);
        if (!str_starts(part, STR("sha256-"))) continue;
        map_str_put(&l->in_use, str_n(part.p + 7, part.n - 7), 1);
    }
}

static void take_container(void *arg, const char *name)
{
    struct look *l = arg;
    AUTO_FD int dir = file_open_dir(l->s->containers, name, NULL);
    AUTO_FD int links = dir >= 0 ? file_open_dir(dir, STORE_LINKS, NULL) : -1;
    if (links < 0) return;
    l->dir = links;
    each_name(links, take_link, l);
}

static void take_pinned_image(struct look *l, struct str digest)
{
    char text[DIGEST_TEXT];
    struct image_record r;
    if (!digest_is(digest) || !TEXT_SET(text, digest)) return;
    if (image_store_read(l->s, text, &r, NULL) < 0) return;
    for (uint32_t i = 0; i < r.layers.n; i++) {
        char hex[DIGEST_HEX];
        digest_hex(r.layers.v[i].digest, hex);
        map_str_put(&l->in_use, str_of(hex), 1);
    }
    wire_free(&image_record_table, &r);
}

static void take_pin(void *arg, const char *name)
{
    struct look *l = arg;
    AUTO_FREE char *buf = mem_alloc(65536);
    size_t n = 0;
    struct str line;
    if (file_read(l->s->pins, name, buf, 65536, &n, NULL) < 0) return;
    struct str rest = str_n(buf, n);
    while (str_cut(&rest, '\n', &line)) take_pinned_image(l, line);
}

/* Somebody fetches or unpacks it. */
static bool held(const struct image_store *s, const char *hex)
{
    AUTO_FD int fd = openat(s->locks, hex, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

/* ---- what is there ---- */

static void add_item(struct look *l, const char *hex, const struct stat *st, int64_t bytes,
                     bool blob)
{
    struct item *i = VEC_ADD(&l->items);
    TEXT_CLIP(i->hex, str_of(hex));
    i->blob = blob;
    i->bytes = bytes;
    i->used_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    i->used = (!blob && map_str_get(&l->in_use, str_of(hex)) != MAP_NONE) || held(l->s, hex);
}

static void take_layer(void *arg, const char *name)
{
    struct look *l = arg;
    char path[DIGEST_HEX + 16], text[32];
    struct stat st;
    size_t n = 0;
    int64_t bytes = 0;
    if (strncmp(name, "sha256-", 7) != 0 || strlen(name) != 7 + DIGEST_HEX - 1) return;
    text_fmt(path, sizeof(path), "%s/size", name);
    AUTO_FD int dir = file_open_dir(l->s->layers, name, NULL);
    if (dir < 0 || fstatat(dir, "size", &st, AT_SYMLINK_NOFOLLOW) < 0) return;
    if (file_read(dir, "size", text, sizeof(text), &n, NULL) == 0)
        str_to_i64(str_trim(str_n(text, n ? n - 1 : 0)), &bytes);
    add_item(l, name + 7, &st, bytes, false);
}

static void take_blob(void *arg, const char *name)
{
    struct look *l = arg;
    struct stat st;
    if (strlen(name) != DIGEST_HEX - 1) return;
    if (fstatat(l->s->blobs, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)) return;
    add_item(l, name, &st, st.st_size, true);
}

static void look(const struct image_store *s, struct look *ret)
{
    *ret = (struct look){.s = s, .dir = -1};
    each_name(s->containers, take_container, ret);
    each_name(s->pins, take_pin, ret);
    each_name(s->layers, take_layer, ret);
    each_name(s->blobs, take_blob, ret);
}

static void look_done(struct look *l)
{
    VEC_DONE(&l->items);
    map_str_done(&l->in_use);
}

static int oldest_first(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->used_ns != y->used_ns) return x->used_ns < y->used_ns ? -1 : 1;
    return strcmp(x->hex, y->hex);
}

/* Under one name it is whole or gone: removing takes time, and may be cut short. */
static bool remove_item(const struct image_store *s, const struct item *i)
{
    char name[DIGEST_HEX + 8], trash[DIGEST_HEX + 16];
    struct stat st;
    if (i->blob) return unlinkat(s->blobs, i->hex, 0) == 0;
    text_fmt(name, sizeof(name), "sha256-%s", i->hex);
    text_fmt(trash, sizeof(trash), TRASH "%s", i->hex);
    file_remove_tree(s->tmp, trash, NULL);
    if (renameat(s->layers, name, s->tmp, trash) < 0) return false;
    if (fstatat(s->blobs, i->hex, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        unlinkat(s->blobs, i->hex, 0); /* the mark that it is here */
    file_remove_tree(s->tmp, trash, NULL);
    return true;
}

int64_t image_store_room(const struct image_store *s, int64_t need_bytes)
{
    struct look l;
    int64_t sum = 0;
    AUTO_FD int lock = evict_lock(s, NULL);
    if (lock < 0) return 0;
    look(s, &l);
    for (uint32_t i = 0; i < l.items.n; i++) sum += l.items.v[i].bytes;
    if (l.items.n) qsort(l.items.v, l.items.n, sizeof(*l.items.v), oldest_first);
    for (uint32_t i = 0; i < l.items.n && sum > s->limit_bytes - need_bytes; i++) {
        const struct item *it = &l.items.v[i];
        if (!it->used && remove_item(s, it)) sum -= it->bytes;
    }
    look_done(&l);
    return sum < s->limit_bytes ? s->limit_bytes - sum : 0;
}

void image_store_usage(const struct image_store *s, struct image_usage *ret)
{
    struct look l;
    *ret = (struct image_usage){0};
    AUTO_FD int lock = evict_lock(s, NULL);
    if (lock < 0) return;
    look(s, &l);
    for (uint32_t i = 0; i < l.items.n; i++) {
        ret->bytes += l.items.v[i].bytes;
        if (l.items.v[i].used) ret->in_use += l.items.v[i].bytes;
        ret->layers += !l.items.v[i].blob;
    }
    look_done(&l);
}

/* ---- after a crash ---- */

static void remove_tmp(void *arg, const char *name)
{
    const struct image_store *s = arg;
    file_remove_tree(s->tmp, name, NULL);
}

static void remove_lock(void *arg, const char *name)
{
    const struct image_store *s = arg;
    if (!held(s, name)) unlinkat(s->locks, name, 0);
}

/* A mark without its layer would pass for one. */
static void remove_mark(void *arg, const char *name)
{
    const struct image_store *s = arg;
    char layer[DIGEST_HEX + 8];
    struct stat st;
    text_fmt(layer, sizeof(layer), "sha256-%.64s", name);
    if (fstatat(s->blobs, name, &st, AT_SYMLINK_NOFOLLOW) < 0) return;
    if (strlen(name) != DIGEST_HEX - 1 || (S_ISLNK(st.st_mode) && !file_exists(s->layers, layer)))
        unlinkat(s->blobs, name, 0);
}

static void remove_record(void *arg, const char *name)
{
    const struct image_store *s = arg;
    char digest[DIGEST_TEXT];
    struct image_record r;
    text_fmt(digest, sizeof(digest), "sha256:%.64s", name);
    if (digest_is(str_of(digest)) && image_store_read(s, digest, &r, NULL) == 0)
        wire_free(&image_record_table, &r);
    else
        unlinkat(s->images, name, 0);
}

void image_store_recover(const struct image_store *s)
{
    struct image_store copy = *s;
    each_name(s->tmp, remove_tmp, &copy);
    each_name(s->locks, remove_lock, &copy);
    each_name(s->blobs, remove_mark, &copy);
    each_name(s->images, remove_record, &copy);
}
