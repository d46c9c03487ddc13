/* probe/tree.h - small files of /proc, /sys and /dev below a directory of one's choice.
 *
 * Links are followed as if the directory were the root, so that a tree that a test
 * has made, or somebody else, leads nowhere else.  Nothing is looked at by name and
 * opened later. */
#ifndef PROBE_TREE_H
#define PROBE_TREE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

#define TREE_NAMES_MAX 512
#define TREE_NAME 64

struct tree { /* descriptors of directories */
    int proc, sys, dev;
};
/* ERR_NOT_FOUND and so on; nothing stays open then. */
int tree_open(struct tree *ret, const char *proc, const char *sys, const char *dev,
              struct err *err);
void tree_close(struct tree *t);

/* Terminated, blanks and newlines at the end cut off; longer files are cut at cap - 1.
 * The length, or ERR_NOT_FOUND, or ERR_IO where there is something that does not read. */
int tree_read(int root, const char *path, char *buf, size_t cap);
/* A decimal or 0x number that is all of the file; false when there is none. */
bool tree_number(int root, const char *path, int64_t *ret);
bool tree_exists(int root, const char *path);
/* A character device's number; false when there is none. */
bool tree_device(int root, const char *path, uint32_t *ret_major, uint32_t *ret_minor);
/* What a link points to, and its last part; false when it is none. */
bool tree_target(int root, const char *path, char *ret, size_t cap);
bool tree_link(int root, const char *path, char *ret, size_t cap);

struct tree_names { char v[TREE_NAMES_MAX][TREE_NAME]; uint32_t n; };
/* What is in a directory and begins so, in natural order ("card2" before "card10").
 * ERR_NOT_FOUND, ERR_IO, or ERR_LIMIT when there is too much. */
int tree_list(int root, const char *path, const char *prefix, struct tree_names *ret);

#endif
