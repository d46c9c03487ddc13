/* shim/archive.h - the container's end of `rota cp`, on standard input and output. */
#ifndef SHIM_ARCHIVE_H
#define SHIM_ARCHIVE_H

int archive_pack_main(const char *path);
int archive_unpack_main(const char *path, const char *name);

#endif
