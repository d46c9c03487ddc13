/* What every test of the agent includes: cmocka, and a directory of its own. */
#ifndef AGENT_TEST_H
#define AGENT_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

static inline void test_dir_new(char ret[64])
{
    text_fmt(ret, 64, "/tmp/test-agent-XXXXXX");
    assert_non_null(mkdtemp(ret));
}

static inline int test_dir_drop_one(const char *path, const struct stat *st, int flag,
                                    struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static inline void test_dir_free(const char *dir)
{
    nftw(dir, test_dir_drop_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* dir/name with this content; makes the directories on the way. */
static inline void test_file(const char *dir, const char *name, const char *text)
{
    char path[512];
    text_fmt(path, sizeof(path), "%s/%s", dir, name);
    for (char *p = path + strlen(dir) + 1; *p != '\0'; p++) {
        if (*p != '/') continue;
        *p = '\0';
        mkdir(path, 0700);
        *p = '/';
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static inline void test_append(const char *dir, const char *name, const char *text)
{
    char path[512];
    text_fmt(path, sizeof(path), "%s/%s", dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

#endif
