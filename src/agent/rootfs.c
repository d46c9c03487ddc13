/* agent/rootfs.c - what a container sees as its file system.  docs/spec/node.md */
#include "agent/rootfs.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/str.h"
#include "host/file.h"

#define BINDS_MAX 32
#define COVERS_MAX 256
#define PASSWD_MAX (256 * 1024)
#define ROOTFS_HOSTS_MAX (160 * 1024)

/* ---- learning the host ---- */

/* Directories of the system itself, shown as they are. */
static bool is_shown(const char *top)
{
    static const char *const shown[] = {"usr", "bin", "sbin", "opt", "etc", "proc", "sys", "dev"};
    for (size_t i = 0; i < ARRAY_LEN(shown); i++)
        if (strcmp(top, shown[i]) == 0) return true;
    return strncmp(top, "lib", 3) == 0;
}

/* Directories that programs expect, empty. */
static const struct rootfs_cover fresh[] = {
    {"tmp", true, 01777},     {"run", true, 0755},  {"var", true, 0755},
    {"var/tmp", true, 01777}, {"var/lib", true, 0755}, {"var/cache", true, 0755},
    {"var/log", true, 0755},  {"root", true, 0700}, {"home", true, 0755},
    {"srv", true, 0755},      {"mnt", true, 0755},  {"media", true, 0755},
};

static const struct rootfs_cover secrets[] = {
    {"etc/shadow", false, 0},      {"etc/shadow-", false, 0},    {"etc/gshadow", false, 0},
    {"etc/gshadow-", false, 0},    {"etc/sudoers", false, 0},    {"etc/sudoers.d", false, 0},
    {"etc/ssh", false, 0},         {"etc/ssl/private", false, 0}, {"etc/munge", false, 0},
    {"etc/krb5.keytab", false, 0}, {"etc/rota", false, 0},       {"etc/security/opasswd", false, 0},
};

static bool is_fresh(const char *top)
{
    for (size_t i = 0; i < ARRAY_LEN(fresh); i++)
        if (strcmp(top, fresh[i].path) == 0) return true;
    return false;
}

static int find_covers(struct rootfs_host *h, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(fresh); i++) VEC_PUSH(&h->covers, fresh[i]);
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
        char path[ROOTFS_PATH + 1];
        text_fmt(path, sizeof(path), "/%s", secrets[i].path);
        if (file_exists(AT_FDCWD, path)) VEC_PUSH(&h->covers, secrets[i]);
    }
    DIR *d = opendir("/");
    if (!d) return err_sys(err, ERR_IO, errno, "cannot read the root directory");
    const struct dirent *e;
    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (is_shown(e->d_name) || is_fresh(e->d_name)) continue;
        if (h->covers.n == COVERS_MAX) break;
        struct rootfs_cover *c = VEC_ADD(&h->covers);
        TEXT_CLIP(c->path, str_of(e->d_name));
    }
    bool more = e != NULL;
    closedir(d);
    if (more)
        return err_set(err, ERR_LIMIT, "more than %d entries in the root directory", COVERS_MAX);
    return 0;
}

/* Below an overlay the mounts of the host are missing: those worth showing are
 * bound again, one by one. */
static bool is_bound(struct str path)
{
    return str_starts(path, STR("/usr/")) || str_starts(path, STR("/opt/")) ||
           str_eq(path, STR("/opt")) || str_eq(path, STR("/usr")) ||
           str_starts(path, STR("/etc/")) || str_starts(path, STR("/lib"));
}

static int find_binds(struct rootfs_host *h, struct err *err)
{
    size_t cap = 1024 * 1024, n = 0;
    AUTO_FREE char *buf = mem_alloc(cap);
    int rc = file_read(AT_FDCWD, "/proc/self/mountinfo", buf, cap, &n, err);
    if (rc < 0) return rc;
    struct str rest = str_n(buf, n), line, field = {0};
    while (str_cut(&rest, '\n', &line)) {
        for (int i = 0; i < 5; i++) str_cut(&line, ' ', &field);
        /* Octal escapes stand for odd characters: such a mount is left out. */
        if (!is_bound(field) || memchr(field.p, '\\', field.n) || h->binds.n == BINDS_MAX) continue;
        struct rootfs_bind b;
        if (TEXT_SET(b.path, field)) VEC_PUSH(&h->binds, b);
    }
    return 0;
}

/* Resolvers that listen on the host's own loopback do not exist in there. */
static void take_resolv(struct rootfs_host *h, const char *path)
{
    char buf[8192];
    size_t n = 0;
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t r = fd >= 0 ? read(fd, buf, sizeof(buf)) : -1;
    if (r > 0) n = (size_t)r;
    struct str rest = str_n(buf, n), line;
    bool servers = false;
    strbuf_reset(&h->resolv);
    while (str_cut(&rest, '\n', &line)) {
        struct str word = line, name;
        bool server = str_cut(&word, ' ', &name) && str_eq(name, STR("nameserver"));
        word = str_trim(word);
        if (server && (str_starts(word, STR("127.")) || str_eq(word, STR("::1")))) continue;
        servers = servers || server;
        strbuf_put(&h->resolv, line);
        strbuf_putc(&h->resolv, '\n');
    }
    if (!servers) strbuf_reset(&h->resolv);
}

/* For those in the host's network: there its own resolver is. */
static void take_resolv_own(struct rootfs_host *h)
{
    char buf[8192];
    AUTO_FD int fd = open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, buf, sizeof(buf)) : -1;
    if (n > 0) strbuf_put(&h->resolv_own, str_n(buf, (size_t)n));
}

int rootfs_host_open(struct rootfs_host *ret, struct err *err)
{
    struct rootfs_host h = {0};
    strbuf_init(&h.resolv, 16384);
    strbuf_init(&h.resolv_own, 16384);
    int rc = find_covers(&h, err);
    if (rc == 0) rc = find_binds(&h, err);
    if (rc < 0) {
        rootfs_host_done(&h);
        return rc;
    }
    take_resolv(&h, "/etc/resolv.conf");
    take_resolv_own(&h);
    if (h.resolv.n == 0) take_resolv(&h, "/run/systemd/resolve/resolv.conf");
    *ret = h;
    return 0;
}

void rootfs_host_done(struct rootfs_host *h)
{
    VEC_DONE(&h->covers);
    VEC_DONE(&h->binds);
    strbuf_done(&h->resolv);
    strbuf_done(&h->resolv_own);
}

/* ---- one container ---- */

static bool is_hidden(const struct rootfs_host *h, const char *path)
{
    for (uint32_t i = 0; i < h->covers.n; i++)
        if (strcmp(path, h->covers.v[i].path) == 0) return true;
    return false;
}

/* A directory of the upper layer with the owner and mode of the one it covers. */
static int mirror_dir(const char *upper, const char *path, struct err *err)
{
    char up[2 * ROOTFS_PATH + 64], low[ROOTFS_PATH + 8];
    struct stat st;
    text_fmt(up, sizeof(up), "%s/%s", upper, path);
    text_fmt(low, sizeof(low), "/%s", path);
    if (lstat(low, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set(err, ERR_INVALID, "%s is not a directory", low);
    if (mkdir(up, st.st_mode & 07777) < 0) {
        if (errno == EEXIST) return 0;
        return err_sys(err, ERR_IO, errno, "cannot make %s", up);
    }
    if (chmod(up, st.st_mode & 07777) < 0 || chown(up, st.st_uid, st.st_gid) < 0)
        return err_sys(err, ERR_IO, errno, "cannot set the owner of %s", up);
    return 0;
}

/* Every directory above `path` that the host has too. */
static int mirror_parents(const char *upper, const char *path, struct err *err)
{
    char part[ROOTFS_PATH];
    int rc = 0;
    for (const char *cut = strchr(path, '/'); cut && rc == 0; cut = strchr(cut + 1, '/')) {
        TEXT_CLIP(part, str_n(path, (size_t)(cut - path)));
        rc = mirror_dir(upper, part, err);
    }
    return rc;
}

static int put_cover(const char *upper, const struct rootfs_cover *c, struct err *err)
{
    char up[2 * ROOTFS_PATH + 64];
    text_fmt(up, sizeof(up), "%s/%s", upper, c->path);
    if (!c->dir) { /* a device 0:0 in the upper layer is the mark for "nothing here" */
        int rc = mirror_parents(upper, c->path, err);
        if (rc < 0) return rc;
        if (mknod(up, S_IFCHR, makedev(0, 0)) == 0 || errno == EEXIST) return 0;
        return err_sys(err, ERR_IO, errno, "cannot cover /%s", c->path);
    }
    if (mkdir(up, c->mode) < 0 && errno != EEXIST)
        return err_sys(err, ERR_IO, errno, "cannot make %s", up);
    if (chmod(up, c->mode) < 0 || /* whatever the umask is */
        (!strchr(c->path, '/') && setxattr(up, "trusted.overlay.opaque", "y", 1, 0) < 0))
        return err_sys(err, ERR_IO, errno, "cannot cover /%s", c->path);
    return 0;
}

static int put_file(const char *upper, const char *path, struct str text, struct err *err)
{
    char up[2 * ROOTFS_PATH + 64];
    text_fmt(up, sizeof(up), "%s/%s", upper, path);
    AUTO_FD int fd = open(up, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || fchmod(fd, 0644) < 0) return err_sys(err, ERR_IO, errno, "cannot create %s", up);
    ssize_t w = write(fd, text.p, text.n);
    if (w != (ssize_t)text.n)
        return err_sys(err, ERR_IO, w < 0 ? errno : ENOSPC, "cannot write %s", up);
    return 0;
}

/* Whether the third field of any line of passwd or group is this number. */
static bool has_id(struct str text, uint32_t id)
{
    struct str line;
    while (str_cut(&text, '\n', &line)) {
        struct str field = {0};
        uint64_t v;
        for (int i = 0; i < 3; i++) str_cut(&line, ':', &field);
        if (str_to_u64(field, &v) && v == id) return true;
    }
    return false;
}

/* What is known already and a line for the container's own user, unless it is there. */
static int put_names(const char *upper, const char *path, struct str known, const char *line,
                     struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, PASSWD_MAX + 1024);
    strbuf_put(&b, known);
    if (b.n && b.p[b.n - 1] != '\n') strbuf_putc(&b, '\n');
    strbuf_fmt(&b, "%s\n", line);
    return put_file(upper, path, strbuf_str(&b), err);
}

/* A member of a gang has its name there, at an address that the others reach too. */
static int put_hosts(const char *upper, const struct rootfs_user *u, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, ROOTFS_HOSTS_MAX);
    strbuf_puts(&b, "127.0.0.1 localhost\n::1 localhost\n");
    if (u->hosts) strbuf_puts(&b, u->hosts);
    else strbuf_fmt(&b, "127.0.1.1 %s\n", u->hostname);
    int rc = put_file(upper, "etc/hosts", strbuf_str(&b), err);
    if (rc < 0 || !u->hostfile) return rc;
    char up[2 * ROOTFS_PATH + 64];
    text_fmt(up, sizeof(up), "%s/run", upper); /* in an image it may be missing */
    if (mkdir(up, 0755) < 0 && errno != EEXIST)
        return err_sys(err, ERR_IO, errno, "cannot make %s", up);
    text_fmt(up, sizeof(up), "%s/run/rota", upper);
    if (mkdir(up, 0755) < 0 || chmod(up, 0755) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make %s", up);
    return put_file(upper, "run/rota/hostfile", str_of(u->hostfile), err);
}

static char *read_host(const char *path)
{
    size_t n = 0;
    char *buf = mem_alloc(PASSWD_MAX);
    if (file_read(AT_FDCWD, path, buf, PASSWD_MAX, &n, NULL) < 0) n = 0;
    buf[n] = '\0';
    return buf;
}

int rootfs_put_names(const char *upper, const struct rootfs_user *u,
                     const struct rootfs_names *names, struct err *err)
{
    int rc = 0;
    char text[512];
    const char *home = u->home && strlen(u->home) < 200 && !strpbrk(u->home, ":\n") ? u->home
                                                                                    : "/tmp";
    text_fmt(text, sizeof(text), "user%u:x:%u:%u::%s:/bin/sh", u->uid, u->uid, u->gid, home);
    if (!has_id(names->passwd, u->uid))
        rc = put_names(upper, "etc/passwd", names->passwd, text, err);
    text_fmt(text, sizeof(text), "user%u:x:%u:", u->gid, u->gid);
    if (rc == 0 && !has_id(names->group, u->gid))
        rc = put_names(upper, "etc/group", names->group, text, err);
    int n = text_fmt(text, sizeof(text), "%s\n", u->hostname);
    if (rc == 0) rc = put_file(upper, "etc/hostname", str_n(text, (size_t)n), err);
    if (rc == 0) rc = put_hosts(upper, u, err);
    if (rc == 0 && names->resolv.n) rc = put_file(upper, "etc/resolv.conf", names->resolv, err);
    return rc;
}

/* One step of a path: 1 to go on below, 2 when it was made now, 0 when the host's
 * own is used from here. */
static int put_step(const char *upper, const char *part, bool hidden, bool last, struct err *err)
{
    char up[2 * ROOTFS_PATH + 64], low[ROOTFS_PATH + 8];
    struct stat st;
    text_fmt(up, sizeof(up), "%s/%s", upper, part);
    text_fmt(low, sizeof(low), "/%s", part);
    bool there = lstat(up, &st) == 0;
    if (there && S_ISDIR(st.st_mode)) return 1;
    if (!hidden && lstat(low, &st) == 0) {
        if (last || !S_ISDIR(st.st_mode)) return 0; /* also a link: as it is */
        int rc = mirror_dir(upper, part, err);
        return rc < 0 ? rc : 1;
    }
    if (there) unlink(up); /* the mark for "nothing here" */
    if (mkdir(up, 0755) < 0 || chmod(up, 0755) < 0 ||
        setxattr(up, "trusted.overlay.opaque", "y", 1, 0) < 0)
        return err_sys(err, ERR_IO, errno, "cannot make %s", up);
    return 2;
}

bool rootfs_own_path(const char *path)
{
    static const char *const taken[] = {"usr", "bin", "sbin", "etc", "dev", "proc", "sys", "run"};
    struct str rest = str_of(path), name, top = {0};
    if (path[0] != '/' || rest.n + 2 > ROOTFS_PATH) return false;
    for (bool more = true; more;) {
        more = str_cut(&rest, '/', &name);
        if (str_eq(name, STR("..")) || str_eq(name, STR("."))) return false;
        if (top.n == 0) top = name;
    }
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (str_eq(top, str_of(taken[i]))) return false;
    return top.n > 0 && !str_starts(top, STR("lib"));
}

/* Makes a directory of the user's own where the container has none: only under
 * what is covered or does not exist, never over what the host shows. */
static int put_own_dir(const struct rootfs_host *h, const char *upper, const char *path,
                       const struct rootfs_user *u, struct err *err)
{
    char part[ROOTFS_PATH] = "", up[2 * ROOTFS_PATH + 64];
    struct str rest = str_of(path + 1), name;
    size_t n = 0;
    bool hidden = false, more = true;
    int rc = 0;
    while (more) {
        more = str_cut(&rest, '/', &name);
        if (name.n == 0) continue;
        if (name.n + n + 2 > sizeof(part) || str_eq(name, STR("..")) || str_eq(name, STR(".")))
            return err_set(err, ERR_INVALID, "'%.100s' is not a plain absolute path", path);
        n += (size_t)text_fmt(part + n, sizeof(part) - n, "%s%.*s", n ? "/" : "", (int)name.n,
                              name.p);
        hidden = hidden || is_hidden(h, part);
        rc = put_step(upper, part, hidden, !more, err);
        if (rc <= 0) return rc;
    }
    text_fmt(up, sizeof(up), "%s/%s", upper, part);
    if (rc == 2 && lchown(up, u->uid, u->gid) < 0)
        return err_sys(err, ERR_IO, errno, "cannot set the owner of %s", up);
    return 0;
}

int rootfs_fill(const struct rootfs_host *h, const char *upper, const struct rootfs_user *u,
                struct err *err)
{
    int rc = mirror_dir(upper, "etc", err);
    for (uint32_t i = 0; i < h->covers.n && rc == 0; i++)
        rc = put_cover(upper, &h->covers.v[i], err);
    AUTO_FREE char *passwd = read_host("/etc/passwd");
    AUTO_FREE char *group = read_host("/etc/group");
    const struct strbuf *resolv = u->host_network ? &h->resolv_own : &h->resolv;
    const struct rootfs_names names = {str_of(passwd), str_of(group), strbuf_str(resolv)};
    if (rc == 0) rc = rootfs_put_names(upper, u, &names, err);
    if (rc == 0 && u->workdir) rc = put_own_dir(h, upper, u->workdir, u, err);
    if (rc == 0 && u->home && u->home[0] == '/') rc = put_own_dir(h, upper, u->home, u, err);
    return rc;
}
