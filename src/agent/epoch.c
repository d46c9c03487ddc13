/* agent/epoch.c - see epoch.h. */
#include "agent/epoch.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/str.h"
#include "host/file.h"

#define LOCK_WAIT_MS 1000

static int lock_dir(int dir, const char *path, int *ret, struct err *err)
{
    int fd = openat(dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "open %s/lock", path);
    /* A child of an agent that was just killed may hold it until it becomes another
     * program: that takes no time, a living agent keeps it. */
    int rc = flock(fd, LOCK_EX | LOCK_NB);
    for (int waited = 0; rc != 0 && errno == EWOULDBLOCK && waited < LOCK_WAIT_MS; waited += 20) {
        poll(NULL, 0, 20);
        rc = flock(fd, LOCK_EX | LOCK_NB);
    }
    if (rc != 0) {
        int saved = errno;
        close(fd);
        if (saved == EWOULDBLOCK) {
            return err_set(err, ERR_CONFLICT, "another agent is running in %s", path);
        }
        return err_sys(err, ERR_IO, saved, "lock %s/lock", path);
    }
    *ret = fd;
    return 0;
}

/* To one above what is stored, and above `last`. */
static int raise_epoch(int dir, uint64_t last, uint64_t *ret, struct err *err)
{
    char text[32];
    size_t n = 0;
    uint64_t epoch = 0;
    int rc = file_read(dir, "epoch", text, sizeof(text), &n, err);
    if (rc != 0 && rc != ERR_NOT_FOUND) return rc;
    if (rc == 0) {
        struct str s = str_n(text, n);
        while (s.n > 0 && s.p[s.n - 1] == '\n') s.n--;
        if (!str_to_u64(s, &epoch) || epoch > INT64_MAX - 1) {
            return err_set(err, ERR_CORRUPT, "the file epoch holds no number");
        }
    }
    if (epoch < last) epoch = last;
    if (epoch > INT64_MAX - 1) return err_set(err, ERR_LIMIT, "this node has started too often");
    n = (size_t)text_fmt(text, sizeof(text), "%llu\n", (unsigned long long)epoch + 1);
    rc = file_write(dir, "epoch", text, n, FILE_DURABLE, err);
    if (rc == 0) *ret = epoch + 1;
    return rc;
}

int epoch_begin(const char *dir, uint64_t *ret_epoch, int *ret_lock, struct err *err)
{
    int lock = -1;
    AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "open %s", dir);
    int rc = lock_dir(fd, dir, &lock, err);
    if (rc != 0) return rc;
    rc = raise_epoch(fd, 0, ret_epoch, err);
    if (rc != 0) {
        close(lock);
        return rc;
    }
    *ret_lock = lock;
    return 0;
}

int epoch_after(const char *dir, uint64_t last, uint64_t *epoch, struct err *err)
{
    if (*epoch > last) return 0;
    AUTO_FD int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "open %s", dir);
    return raise_epoch(fd, last, epoch, err);
}
