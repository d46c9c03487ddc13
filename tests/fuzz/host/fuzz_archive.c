/* Unpacking any bytes whatsoever: nothing appears but the one name asked for. */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/check.h"
#include "base/str.h"
#include "host/archive_impl.h"
#include "host/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void note(void *arg, const char *text)
{
    (void)arg;
    CHECK(text[0]);
}

/* The folder has "in" and nothing else; "in" only "x", if anything. */
static void only(const char *folder, const char *name)
{
    DIR *d = opendir(folder);
    CHECK(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        CHECK(strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
              strcmp(e->d_name, name) == 0);
    closedir(d);
}

/* Few changed inputs would get past the sum of a header: it is made right, mostly. */
static void put(int fd, const uint8_t *data, size_t n)
{
    bool mend = n == 0 || data[n - 1] != 1;
    for (size_t at = 0; at < n; at += TAR_BLOCK) {
        struct tar_head h = {0};
        size_t part = n - at < TAR_BLOCK ? n - at : TAR_BLOCK;
        memcpy(&h, data + at, part);
        if (mend && memcmp(h.magic, "ustar", 5) == 0)
            text_fmt(h.sum, sizeof(h.sum), "%06o", tar_sum(&h));
        CHECK(write(fd, &h, part) == (ssize_t)part);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char root[] = "/tmp/rota-fuzz-XXXXXX", in[64];
    CHECK(mkdtemp(root));
    text_fmt(in, sizeof(in), "%s/in", root);
    CHECK(mkdir(in, 0700) == 0);
    int fd = memfd_create("stream", MFD_CLOEXEC);
    CHECK(fd >= 0);
    put(fd, data, n);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    struct archive a = {.fd = fd, .note = note};
    struct err err = {0};
    int r = archive_unpack(&a, in, "x", &err);
    CHECK(r == 0 || (r < 0 && err.text[0]));
    close(fd);
    only(root, "in");
    only(in, "x");
    CHECK(file_remove_tree(AT_FDCWD, root, NULL) == 0);
    return 0;
}
