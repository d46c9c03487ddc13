/* shim/archive.c - the container's end of `rota cp`: works in images that have no tar. */
#include "shim/archive.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "host/archive.h"

static void note(void *arg, const char *text)
{
    (void)arg;
    fprintf(stderr, "rota: in the session: %s\n", text);
}

static int ended(const struct archive *a, int r, const struct err *err)
{
    if (r < 0) note(NULL, err->text);
    return r < 0 || a->skipped > 0;
}

int archive_pack_main(const char *path)
{
    struct archive a = {.fd = STDOUT_FILENO, .note = note};
    struct err err = {0};
    signal(SIGPIPE, SIG_IGN);
    return ended(&a, archive_pack(&a, path, &err), &err);
}

int archive_unpack_main(const char *path, const char *name)
{
    struct archive a = {.fd = STDIN_FILENO, .note = note};
    struct err err = {0};
    return ended(&a, archive_unpack(&a, path, name, &err), &err);
}
