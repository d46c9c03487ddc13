/* net/pki_file.c - certificates and keys as files, fingerprints as text; see pki.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/pki.h"

void pki_fingerprint_format(const uint8_t sha256[32], char dst[PKI_FINGERPRINT_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        dst[2 * i] = digits[sha256[i] >> 4];
        dst[2 * i + 1] = digits[sha256[i] & 15];
    }
    dst[64] = '\0';
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

bool pki_fingerprint_parse(struct str text, uint8_t ret[32])
{
    uint8_t out[32];
    if (text.n != 64) return false;
    for (size_t i = 0; i < 32; i++) {
        int high = hex(text.p[2 * i]), low = hex(text.p[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        out[i] = (uint8_t)(high * 16 + low);
    }
    memcpy(ret, out, sizeof(out));
    return true;
}

static int write_all(int fd, struct str text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return -1;
        text = str_n(text.p + n, text.n - (size_t)n);
    }
    return 0;
}

/* A rename lasts only when the directory is on disk. */
static int sync_dir_of(const char *path)
{
    char dir[4096];
    const char *slash = strrchr(path, '/');
    struct str d = STR(".");
    if (slash != NULL) d = str_n(path, slash == path ? 1 : (size_t)(slash - path));
    if (!TEXT_SET(dir, d)) return -1;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    int rc = fsync(fd);
    close(fd);
    return rc;
}

int pki_file_write(const char *path, struct str text, uint32_t mode, struct err *err)
{
    char temp[4096];
    int n = snprintf(temp, sizeof(temp), "%s.new-XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof(temp)) return err_set(err, ERR_LIMIT, "the path is too long");
    int fd = mkostemp(temp, O_CLOEXEC); /* made with mode 0600 */
    if (fd < 0) return err_sys(err, ERR_IO, errno, "write %.150s", path);
    bool ok = write_all(fd, text) == 0 && fchmod(fd, mode) == 0 && fsync(fd) == 0;
    int code = errno;
    close(fd);
    if (ok && rename(temp, path) != 0) {
        ok = false;
        code = errno;
    }
    if (!ok) {
        (void)unlink(temp);
        return err_sys(err, ERR_IO, code, "write %.150s", path);
    }
    if (sync_dir_of(path) != 0) return err_sys(err, ERR_UNKNOWN, errno, "sync %.150s", path);
    return 0;
}

int pki_file_read(const char *path, char **ret, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "read %.150s", path);
    char *text = mem_array(PKI_PEM_MAX + 2, 1);
    size_t n = 0;
    ssize_t got;
    do {
        got = read(fd, text + n, PKI_PEM_MAX + 1 - n);
        if (got > 0) n += (size_t)got;
    } while ((got > 0 && n <= PKI_PEM_MAX) || (got < 0 && errno == EINTR));
    int code = errno;
    close(fd);
    int rc = 0;
    if (got < 0) rc = err_sys(err, ERR_IO, code, "read %.150s", path);
    else if (n > PKI_PEM_MAX) rc = err_set(err, ERR_LIMIT, "%.150s is too large", path);
    else if (strlen(text) != n) rc = err_set(err, ERR_INVALID, "%.150s is no text", path);
    if (rc != 0) {
        mem_zero_secret(text, n);
        mem_free(text);
        return rc;
    }
    *ret = text;
    return 0;
}

int pki_pair_write(const struct pki_pair *p, const char *cert_path, const char *key_path,
                   struct err *err)
{
    int rc = pki_file_write(key_path, str_of(p->key), 0600, err);
    return rc != 0 ? rc : pki_file_write(cert_path, str_of(p->cert), 0644, err);
}

int pki_pair_read(const char *cert_path, const char *key_path, struct pki_pair *ret,
                  struct err *err)
{
    struct pki_pair p = {0};
    int rc = pki_file_read(cert_path, &p.cert, err);
    if (rc == 0) rc = pki_file_read(key_path, &p.key, err);
    if (rc == 0) rc = pki_pair_check(&p, err);
    if (rc != 0) {
        pki_pair_done(&p);
        return rc;
    }
    *ret = p;
    return 0;
}
