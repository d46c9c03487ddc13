/* agent/netns/addr_pool.c - see addr_pool.h. */
#include "agent/netns/addr_pool.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/check.h"
#include "base/str.h"
#include "host/file.h"

#define OWNER_MAX 512

static int open_below(int dir, const char *name, struct err *err)
{
    int rc = file_mkdir(dir, name, 0700, err);
    return rc < 0 ? rc : file_open_dir(dir, name, err);
}

/* Each directory of the path is made where it is missing. */
static int open_path(const char *path, struct err *err)
{
    char part[128];
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        TEXT_CLIP(part, str_n(path, (size_t)(at - path)));
        int rc = file_mkdir(AT_FDCWD, part, 0755, err);
        if (rc < 0) return rc;
    }
    return open_below(AT_FDCWD, path, err);
}

int addr_pool_open(const char *dir, struct addr_pool *ret, struct err *err)
{
    struct addr_pool p = {.dir = -1, .lock = -1, .first = ADDR_POOL_FIRST, .size = ADDR_POOL_SIZE};
    AUTO_FD int top = open_path(dir, err);
    if (top < 0) return top;
    p.lock = openat(top, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (p.lock < 0) return err_sys(err, ERR_IO, errno, "cannot open %s/lock", dir);
    p.dir = open_below(top, "ip", err);
    if (p.dir < 0) {
        file_close(&p.lock);
        return p.dir;
    }
    *ret = p;
    return 0;
}

void addr_pool_close(struct addr_pool *p)
{
    file_close(&p->dir);
    file_close(&p->lock);
}

static bool parse(const char *name, struct in_addr *ret)
{
    return inet_pton(AF_INET, name, ret) == 1;
}

static void name_of(const struct addr_pool *p, uint32_t at, char ret[INET_ADDRSTRLEN],
                    struct in_addr *ret_addr)
{
    ret_addr->s_addr = htonl(p->first + at % p->size);
    inet_ntop(AF_INET, ret_addr, ret, INET_ADDRSTRLEN);
}

/* What a link says; false: there is none. */
static bool owner_of(const struct addr_pool *p, const char *name, char ret[OWNER_MAX])
{
    ssize_t n = readlinkat(p->dir, name, ret, OWNER_MAX - 1);
    if (n < 0) return false;
    ret[n] = '\0';
    return true;
}

static void each(const struct addr_pool *p, bool (*f)(void *arg, const char *name), void *arg)
{
    int own = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own >= 0 ? fdopendir(own) : NULL;
    struct in_addr a;
    if (!d) {
        file_close(&own);
        return;
    }
    const struct dirent *e;
    while ((e = readdir(d)) != NULL)
        if (parse(e->d_name, &a) && !f(arg, e->d_name)) break;
    closedir(d);
}

/* ---- collecting ---- */

static bool collect_one(void *arg, const char *name)
{
    const struct addr_pool *p = arg;
    char owner[OWNER_MAX];
    struct stat st;
    /* Only a path that is surely not there: an unreadable one keeps its address. */
    bool gone = owner_of(p, name, owner) && stat(owner, &st) < 0 &&
                (errno == ENOENT || errno == ENOTDIR);
    if (gone) unlinkat(p->dir, name, 0);
    return true;
}

static void collect(struct addr_pool *p) { each(p, collect_one, p); }

static int lock(struct addr_pool *p, struct err *err)
{
    int rc;
    do {
        rc = flock(p->lock, LOCK_EX);
    } while (rc < 0 && errno == EINTR);
    return rc < 0 ? err_sys(err, ERR_IO, errno, "cannot lock the addresses") : 0;
}

void addr_pool_collect(struct addr_pool *p)
{
    if (lock(p, NULL) < 0) return;
    collect(p);
    flock(p->lock, LOCK_UN);
}

static bool count_one(void *arg, const char *name)
{
    (void)name;
    ++*(uint32_t *)arg;
    return true;
}

uint32_t addr_pool_taken(const struct addr_pool *p)
{
    uint32_t n = 0;
    each(p, count_one, &n);
    return n;
}

/* ---- taking ---- */

static int take(struct addr_pool *p, const char *owner, struct in_addr *ret, struct err *err)
{
    char name[INET_ADDRSTRLEN];
    struct in_addr a;
    for (uint32_t i = 0; i < p->size; i++) {
        name_of(p, p->next + i, name, &a);
        if (symlinkat(owner, p->dir, name) == 0) {
            p->next = (p->next + i + 1) % p->size;
            *ret = a;
            return 0;
        }
        if (errno != EEXIST) return err_sys(err, ERR_IO, errno, "cannot claim address %s", name);
    }
    return err_set(err, ERR_UNAVAILABLE, "all %u addresses of containers are taken", p->size);
}

int addr_pool_take(struct addr_pool *p, const char *owner, struct in_addr *ret, struct err *err)
{
    if (owner[0] != '/' || strlen(owner) >= OWNER_MAX)
        return err_set(err, ERR_INVALID, "'%.100s' is no directory of a container", owner);
    int rc = lock(p, err);
    if (rc < 0) return rc;
    rc = take(p, owner, ret, err);
    if (rc == ERR_UNAVAILABLE) {
        collect(p);
        rc = take(p, owner, ret, err);
    }
    flock(p->lock, LOCK_UN);
    return rc;
}

void addr_pool_give(struct addr_pool *p, const char *owner, struct in_addr addr)
{
    char name[INET_ADDRSTRLEN], have[OWNER_MAX];
    if (!inet_ntop(AF_INET, &addr, name, sizeof(name)) || lock(p, NULL) < 0) return;
    if (owner_of(p, name, have) && strcmp(have, owner) == 0) unlinkat(p->dir, name, 0);
    flock(p->lock, LOCK_UN);
}
