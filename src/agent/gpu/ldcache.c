/* agent/gpu/ldcache.c - see ldcache.h.
 *
 * The format is glibc's "ld.so-1.7.0" followed by, or since 2.32 only, "glibc-ld.so.cache1.1":
 * a head of 48 bytes, entries of 24, texts; offsets count from that head. */
#include "agent/gpu/ldcache.h"
#include <string.h>
#include "base/mem.h"
#include "host/file.h"

#define MAGIC "glibc-ld.so.cache1.1"
#define HEAD 48
#define ENTRY 24
#if defined(__x86_64__)
#define OWN_KIND 0x0300
#elif defined(__aarch64__)
#define OWN_KIND 0x0a00
#else
#define OWN_KIND 0xff00 /* none: nothing is found */
#endif

static uint32_t word_at(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static bool text_at(const char *head, size_t n, uint32_t at, struct str *ret)
{
    if (at >= n) return false;
    const char *end = memchr(head + at, 0, n - at);
    if (!end) return false;
    *ret = str_n(head + at, (size_t)(end - head) - at);
    return true;
}

static bool of_driver(struct str name)
{
    static const char *const begins[] = {"libcuda.so", "libcudadebugger.so", "libnvidia-",
                                         "libnvcuvid.so", "libnvoptix.so"};
    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (str_starts(name, str_of(begins[i]))) return true;
    return false;
}

static void take(struct ldcache *c, struct str name, struct str path)
{
    struct ldcache_lib lib;
    if (!of_driver(name) || memchr(name.p, '/', name.n) || path.n == 0 || path.p[0] != '/') return;
    if (!TEXT_SET(lib.name, name) || !TEXT_SET(lib.path, path)) return;
    VEC_EACH(have, &c->libs)
        if (strcmp(have->name, lib.name) == 0) return; /* the first is what the loader takes */
    if (c->libs.n < LDCACHE_LIBS) VEC_PUSH(&c->libs, lib);
}

int ldcache_parse(const void *data, size_t n, struct ldcache *ret, struct err *err)
{
    const char *head = memmem(data, n, MAGIC, strlen(MAGIC));
    struct ldcache c = {0};
    size_t left = head ? n - (size_t)(head - (const char *)data) : 0;
    if (left < HEAD) return err_set(err, ERR_UNSUPPORTED, "ld.so.cache: not of glibc");
    uint32_t count = word_at(head + 20);
    if (count > (left - HEAD) / ENTRY) return err_set(err, ERR_CORRUPT, "ld.so.cache: cut off");
    for (uint32_t i = 0; i < count; i++) {
        const char *e = head + HEAD + (size_t)i * ENTRY;
        struct str name, path;
        if ((word_at(e) & 0xff00) != OWN_KIND) continue;
        if (!text_at(head, left, word_at(e + 4), &name)) continue;
        if (!text_at(head, left, word_at(e + 8), &path)) continue;
        take(&c, name, path);
    }
    *ret = c;
    return 0;
}

int ldcache_load(int root, struct ldcache *ret, struct err *err)
{
    AUTO_FREE char *buf = mem_alloc(LDCACHE_MAX);
    size_t n = 0;
    int rc = file_read(root, "etc/ld.so.cache", buf, LDCACHE_MAX, &n, err);
    return rc < 0 ? rc : ldcache_parse(buf, n, ret, err);
}

void ldcache_done(struct ldcache *c) { VEC_DONE(&c->libs); }
