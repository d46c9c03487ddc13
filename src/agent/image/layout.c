/* agent/image/layout.c - an OCI layout on this machine, read as the
 * session's user would: a name given by a person opens no file that the person
 * could not open.  docs/spec/node.md, "Images" */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/image/source.h"
#include "base/mem.h"
#include "host/file.h"

/* Root's powers over files go with its user number, and come back with it. */
static int become(uint32_t uid, uint32_t gid, struct err *err)
{
    setfsgid(gid);
    setfsuid(uid);
    if ((uint32_t)setfsuid((uid_t)-1) == uid && (uint32_t)setfsgid((gid_t)-1) == gid) return 0;
    return err_sys(err, ERR_IO, errno, "cannot look with the eyes of user %u", uid);
}

static int open_beneath(int dir, const char *path, uint64_t flags)
{
    struct open_how how = {.flags = flags | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                      RESOLVE_NO_MAGICLINKS};
    return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

static int open_as(const struct source *s, const char *path, bool dir, struct err *err)
{
    const struct fetch_opts *o = s->o;
    struct stat st;
    int rc = become(o->uid, o->gid, err);
    int fd = -1;
    if (rc == 0)
        fd = dir ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                 : open_beneath(s->layout, path, O_RDONLY);
    int code = errno;
    struct err back = {0};
    if (become(0, 0, &back) < 0) _exit(70); /* never go on as somebody else */
    if (rc < 0) return rc;
    if (fd >= 0 && (dir || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))) return fd;
    if (fd >= 0) close(fd);
    else if (code == EACCES || code == EPERM)
        return err_set(err, ERR_DENIED, "image %.150s: the session's user may not read it",
                       o->image);
    if (dir) return err_set(err, ERR_NOT_FOUND, "image %.150s: there is no such directory on this "
                            "node", o->image);
    return err_set(err, ERR_NOT_FOUND, "image %.100s: its layout has no %.80s", o->image, path);
}

int layout_open(struct source *s, struct err *err)
{
    s->layout = open_as(s, s->ref.name, true, err);
    return s->layout < 0 ? s->layout : 0;
}

static int read_whole(int fd, struct strbuf *ret, struct err *err)
{
    char buf[16384];
    for (;;) {
        ssize_t n = read(fd, buf, sizeof(buf));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return err_sys(err, ERR_IO, errno, "cannot read the image's layout");
        if (n == 0) break;
        strbuf_put(ret, str_n(buf, (size_t)n));
    }
    if (ret->full) return err_set(err, ERR_LIMIT, "a document of the image is larger than 1 MiB");
    return 0;
}

int layout_index(const struct source *s, struct strbuf *ret, struct err *err)
{
    AUTO_FD int fd = open_as(s, "index.json", false, err);
    return fd < 0 ? fd : read_whole(fd, ret, err);
}

int layout_blob(const struct source *s, const char *digest, struct err *err)
{
    char path[DIGEST_HEX + 16], hex[DIGEST_HEX];
    digest_hex(digest, hex);
    text_fmt(path, sizeof(path), "blobs/sha256/%s", hex);
    return open_as(s, path, false, err);
}

int layout_read(const struct source *s, const char *digest, struct strbuf *ret, struct err *err)
{
    AUTO_FD int fd = layout_blob(s, digest, err);
    return fd < 0 ? fd : read_whole(fd, ret, err);
}
