/* programs/sim_read.c - whole files of recorded work, packed or not.
 *
 * zlib reads what is not gzip as it stands.  A packed file that was cut off is an
 * error, not a short file.  Declared in programs/sim.h. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include "programs/sim.h"

#define CHUNK 65536u

static int read_all(gzFile file, const char *path, struct strbuf *ret, struct err *err)
{
    char chunk[CHUNK];
    for (;;) {
        int n = gzread(file, chunk, CHUNK);
        int problem = Z_OK;
        const char *text = gzerror(file, &problem);
        if (n < 0 && problem == Z_ERRNO) return err_sys(err, ERR_IO, errno, "cannot read %s", path);
        if (n < 0) return err_set(err, ERR_CORRUPT, "cannot unpack %s: %s", path, text);
        if (n == 0 && problem == Z_BUF_ERROR) {
            return err_set(err, ERR_CORRUPT, "%s is cut off", path);
        }
        if (n == 0) return 0;
        strbuf_put(ret, str_n(chunk, (size_t)n));
        if (ret->full) {
            return err_set(err, ERR_LIMIT, "%s is longer than %zu bytes", path, ret->max);
        }
    }
}

int sim_read(const char *path, struct strbuf *ret, struct err *err)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? fcntl(0, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return err_set(err, ERR_NOT_FOUND, "there is no %s", path);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot open %s", path);
    gzFile file = gzdopen(fd, "rb");
    if (file == NULL) {
        (void)close(fd);
        return err_set(err, ERR_IO, "cannot read %s: no memory", path);
    }
    int rc = read_all(file, path, ret, err);
    (void)gzclose(file); /* read to its end: nothing is left to fail */
    return rc;
}
