/* agent/docker/tar.c - the heads of a ustar archive. */
#include "agent/docker/tar.h"
#include <string.h>
#include "base/check.h"
#include "base/str.h"

void tar_head(const struct tar_entry *e, char ret[TAR_BLOCK])
{
    unsigned sum = 0;
    size_t n = strlen(e->name);
    CHECK(n > 0 && n <= TAR_NAME_MAX);
    CHECK(e->bytes >= 0 && e->bytes <= TAR_BYTES_MAX);
    memset(ret, 0, TAR_BLOCK);
    text_fmt(ret, 100, "%s", e->name);
    text_fmt(ret + 100, 8, "%07o", e->mode & 07777);
    text_fmt(ret + 108, 8, "%07o", e->uid & 07777777);
    text_fmt(ret + 116, 8, "%07o", e->gid & 07777777);
    text_fmt(ret + 124, 12, "%011llo", (unsigned long long)e->bytes);
    memcpy(ret + 136, "00000000000", 12);
    memset(ret + 148, ' ', 8);
    ret[156] = e->name[n - 1] == '/' ? '5' : '0';
    memcpy(ret + 257, "ustar\00000", 8);
    for (int i = 0; i < TAR_BLOCK; i++) sum += (unsigned char)ret[i];
    text_fmt(ret + 148, 8, "%06o", sum);
}
