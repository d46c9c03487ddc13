/* agent/bodies.c - see bodies.h.
 *
 * Files are renamed into place but not synced: after a power cut the boot id voids
 * every container, and the bodies come again.  Invariant: by_session maps each
 * session in `all` to its index. */
#include "agent/bodies.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/check.h"
#include "base/map.h"
#include "host/file.h"
#include "net/log.h"

#define FILE_MAX (1024 * 1024)

struct bodies {
    int dir_fd; /* -1: memory alone */
    VEC(struct body *) all;
    struct map_u64 by_session;
};

static void body_free(struct body *b)
{
    wire_free(&wire_session_spec, &b->spec);
    wire_free(&wire_sync_body, &b->sync);
    mem_free(b);
}

static void file_name(const struct sync_body *b, char ret[64])
{
    text_fmt(ret, 64, "%llu.%u.json", (unsigned long long)b->session, b->attempt);
}

static void file_drop(const struct bodies *b, const struct sync_body *body)
{
    char name[64];
    if (b->dir_fd < 0) return;
    file_name(body, name);
    unlinkat(b->dir_fd, name, 0);
}

/* A body that cannot be written is still in memory; the manager has it, too. */
static void file_keep(const struct bodies *b, const struct sync_body *body)
{
    char name[64];
    struct err err = {0};
    AUTO_STRBUF struct strbuf json;
    strbuf_init(&json, FILE_MAX);
    if (b->dir_fd < 0) return;
    wire_print(&wire_sync_body, body, &json);
    if (json.full) return;
    file_name(body, name);
    if (file_write(b->dir_fd, name, json.p, json.n, FILE_ORDERED, &err) != 0) {
        log_event(LOG_WARN, "body.keep", LOG_S("file", name), LOG_ERR(&err));
    }
}

static struct body *find(const struct bodies *b, uint64_t session)
{
    uint32_t at = map_u64_get(&b->by_session, session);
    return at == MAP_NONE ? NULL : b->all.v[at];
}

/* Takes `sync` over, also when it fails. */
static int take(struct bodies *b, struct sync_body *sync, bool keep, struct err *err)
{
    struct session_spec spec;
    struct body *old = find(b, sync->session);
    int rc = 0;
    if (old != NULL && old->sync.attempt >= sync->attempt) {
        wire_free(&wire_sync_body, sync);
        return 0;
    }
    rc = sync->spec == NULL
             ? err_set(err, ERR_INVALID, "no specification")
             : wire_parse(&wire_session_spec, str_of(sync->spec), &spec, err);
    if (rc != 0) {
        err_prefix(err, "session %llu", (unsigned long long)sync->session);
        wire_free(&wire_sync_body, sync);
        return rc;
    }
    struct body *body = mem_alloc(sizeof(*body));
    body->sync = *sync;
    body->spec = spec;
    if (keep) file_keep(b, &body->sync);
    if (old != NULL) {
        uint32_t at = map_u64_get(&b->by_session, sync->session);
        file_drop(b, &old->sync);
        body_free(old);
        b->all.v[at] = body;
    } else {
        map_u64_put(&b->by_session, sync->session, b->all.n);
        VEC_PUSH(&b->all, body);
    }
    return 0;
}

static int load_one(struct bodies *b, const char *name, struct err *err)
{
    struct sync_body sync;
    size_t n = 0;
    AUTO_FREE char *text = mem_alloc(FILE_MAX);
    int rc = file_read(b->dir_fd, name, text, FILE_MAX, &n, err);
    if (rc == 0) rc = wire_parse(&wire_sync_body, str_n(text, n), &sync, err);
    return rc != 0 ? rc : take(b, &sync, false, err);
}

static void load_all(struct bodies *b)
{
    int fd = openat(b->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (d == NULL) {
        if (fd >= 0) close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        struct err err = {0};
        if (e->d_name[0] == '.') continue;
        if (load_one(b, e->d_name, &err) == 0) continue;
        log_event(LOG_WARN, "body.unreadable", LOG_S("file", e->d_name), LOG_ERR(&err));
        unlinkat(b->dir_fd, e->d_name, 0);
    }
    closedir(d);
}

int bodies_open(const char *dir, struct bodies **ret, struct err *err)
{
    int fd = -1;
    if (dir != NULL) {
        if (mkdir(dir, 0700) != 0 && errno != EEXIST) {
            return err_sys(err, ERR_IO, errno, "create %s", dir);
        }
        fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0) return err_sys(err, ERR_IO, errno, "open %s", dir);
    }
    struct bodies *b = mem_alloc(sizeof(*b));
    b->dir_fd = fd;
    if (fd >= 0) load_all(b);
    *ret = b;
    return 0;
}

void bodies_free(struct bodies *b)
{
    if (b == NULL) return;
    VEC_EACH(p, &b->all) body_free(*p);
    VEC_DONE(&b->all);
    map_u64_done(&b->by_session);
    if (b->dir_fd >= 0) close(b->dir_fd);
    mem_free(b);
}

int bodies_put(struct bodies *b, const struct sync_body *body, struct err *err)
{
    struct sync_body copy;
    if (body->session == 0 || body->attempt == 0) {
        return err_set(err, ERR_INVALID, "a body without session or attempt");
    }
    wire_copy(&wire_sync_body, body, &copy);
    return take(b, &copy, true, err);
}

const struct body *bodies_get(const struct bodies *b, uint64_t session, uint32_t attempt)
{
    const struct body *body = find(b, session);
    return body != NULL && body->sync.attempt == attempt ? body : NULL;
}

uint32_t bodies_count(const struct bodies *b) { return b->all.n; }

void bodies_sweep_begin(struct bodies *b)
{
    VEC_EACH(p, &b->all) (*p)->wanted = false;
}

void bodies_mark(struct bodies *b, uint64_t session)
{
    struct body *body = find(b, session);
    if (body != NULL) body->wanted = true;
}

void bodies_sweep_end(struct bodies *b)
{
    for (uint32_t i = 0; i < b->all.n;) {
        struct body *body = b->all.v[i];
        if (body->wanted) {
            i++;
            continue;
        }
        file_drop(b, &body->sync);
        map_u64_del(&b->by_session, body->sync.session);
        body_free(body);
        b->all.v[i] = VEC_POP(&b->all);
        if (i < b->all.n) map_u64_put(&b->by_session, b->all.v[i]->sync.session, i);
    }
}
