/* programs/dev_files.c - what `rotad dev` keeps in DIR/run. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "programs/dev.h"
#include "wire/table.h"

static const struct wire_field fields[] = {
    WIRE_F_TEXT(struct dev_options, dir, "dir", .flags = WIRE_REQUIRED, .min = 1),
    WIRE_F_U32(struct dev_options, port, "port", .flags = WIRE_REQUIRED, .min = 1, .max = 65532),
    WIRE_F_U32(struct dev_options, simulated_gpus, "simulated_gpus", .max = 16),
    WIRE_F_TEXT(struct dev_options, simulated_model, "simulated_model"),
    WIRE_F_TEXT(struct dev_options, labels, "labels"),
    WIRE_F_TEXT(struct dev_options, cpus, "cpus"),
    WIRE_F_TEXT(struct dev_options, mem, "mem"),
    WIRE_F_TEXT(struct dev_options, driver, "driver"),
    WIRE_F_TEXT(struct dev_options, name, "name"),
};
static const struct wire_table table = WIRE_TABLE("dev", struct dev_options, fields);

void dev_path(const struct dev_options *o, const char *file, char ret[DEV_PATH_MAX + 64])
{
    text_fmt(ret, DEV_PATH_MAX + 64, "%s/%s", o->dir, file);
}

void dev_url(const struct dev_options *o, uint32_t offset, const char *scheme, char ret[64])
{
    text_fmt(ret, 64, "%s127.0.0.1:%u", scheme, o->port + offset);
}

static int make_dirs(const struct dev_options *o, struct err *err)
{
    char path[DEV_PATH_MAX + 64];
    dev_path(o, "run", path);
    for (char *p = strchr(path + 1, '/');; p = strchr(p + 1, '/')) {
        if (p) *p = '\0';
        if (mkdir(path, p ? 0755 : 0700) < 0 && errno != EEXIST)
            return err_sys(err, ERR_IO, errno, "cannot make the folder %s", path);
        if (!p) return 0;
        *p = '/';
    }
}

/* A record lock of the process: children do not inherit it, and F_GETLK names the holder. */
int dev_lock(const struct dev_options *o, int *ret_fd, int64_t *ret_pid, struct err *err)
{
    int rc = make_dirs(o, err);
    if (rc < 0) return rc;
    char path[DEV_PATH_MAX + 64];
    dev_path(o, "run/dev.lock", path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot open %s", path);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_SETLK, &lock) == 0) {
        *ret_fd = fd;
        return 0;
    }
    int problem = errno;
    if ((problem == EACCES || problem == EAGAIN) && fcntl(fd, F_GETLK, &lock) == 0) {
        close(fd);
        *ret_pid = lock.l_type == F_UNLCK ? 0 : lock.l_pid;
        return err_set(err, ERR_CONFLICT, "rotad dev runs already in %.80s (process %lld); "
                       "`rotad dev stop` with the same --dir ends it", o->dir,
                       (long long)*ret_pid);
    }
    close(fd);
    return err_sys(err, ERR_IO, problem, "cannot lock %s", path);
}

int dev_save(const struct dev_options *o, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 4096);
    wire_print(&table, o, &b);
    strbuf_putc(&b, '\n');
    char path[DEV_PATH_MAX + 64], tmp[DEV_PATH_MAX + 64];
    dev_path(o, "run/dev.json", path);
    dev_path(o, "run/dev.json.tmp", tmp);
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot write %s", tmp);
    ssize_t n = write(fd, b.p, b.n);
    close(fd);
    if (n != (ssize_t)b.n || rename(tmp, path) < 0)
        return err_sys(err, ERR_IO, errno, "cannot write %s", path);
    return 0;
}

int dev_load(const char *dir, struct dev_options *ret, struct err *err)
{
    struct dev_options o = {0};
    char path[DEV_PATH_MAX + 64], buf[4096];
    TEXT_CLIP(o.dir, str_of(dir));
    dev_path(&o, "run/dev.json", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int code = errno == ENOENT ? ERR_NOT_FOUND : ERR_IO;
    if (fd < 0) return err_sys(err, code, errno, "cannot read %s", path);
    ssize_t n = read(fd, buf, sizeof(buf));
    close(fd);
    int rc = n < 0 ? ERR_IO : wire_parse(&table, str_n(buf, (size_t)n), &o, err);
    if (rc < 0) return err_prefix(err, "%s", path);
    if (strcmp(o.dir, dir) != 0)
        return err_set(err, ERR_CORRUPT, "%s was made for %s, not for %s", path, o.dir, dir);
    *ret = o;
    return 0;
}
