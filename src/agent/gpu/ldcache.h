/* agent/gpu/ldcache.h - which libraries of this machine belong to NVIDIA's driver.
 *
 * Read from the loader's cache, /etc/ld.so.cache: there is a path for each name by which
 * programs ask (libcuda.so.1), and no directory has to be guessed.
 * docs/spec/node.md, "Devices in a container" */
#ifndef AGENT_GPU_LDCACHE_H
#define AGENT_GPU_LDCACHE_H
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#define LDCACHE_MAX (4 * 1024 * 1024)
#define LDCACHE_LIBS 128

struct ldcache_lib { char name[64], path[200]; };
struct ldcache { VEC(struct ldcache_lib) libs; };

/* The driver's libraries of this machine's own kind of program, each name once. */
int ldcache_parse(const void *data, size_t n, struct ldcache *ret, struct err *err);
/* `root` is the directory that holds etc/ld.so.cache. */
int ldcache_load(int root, struct ldcache *ret, struct err *err);
void ldcache_done(struct ldcache *c);

#endif
