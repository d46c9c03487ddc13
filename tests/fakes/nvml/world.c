/* fakes/nvml/world.c - one scenario for the process, read again when its file changes. */
#include "world.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

enum { SCENARIO_MAX = 256 * 1024, TOLD_MAX = 1024, HANG_STEP_MS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool good, tried;
    struct timespec began;
    struct stat file;
    int64_t parsed_ms;
    char *text;
    size_t n;
    struct fake now;
    struct fake_xid told[TOLD_MAX];
    uint32_t n_told;
    char handles[FAKE_GPUS]; /* their addresses are the handles */
} w;

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (t.tv_sec - w.began.tv_sec) * 1000 + (t.tv_nsec - w.began.tv_nsec) / 1000000;
}

static void complain(const char *path, const char *what)
{
    (void)fprintf(stderr, "fake nvml: %s: %s\n", path, what);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool slurp(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size >= SCENARIO_MAX) {
        if (!w.tried) complain(path, fd < 0 ? strerror(errno) : "too long");
        if (fd >= 0) close(fd);
        return false;
    }
    if (w.tried && same_file(&st, &w.file)) {
        close(fd);
        return false;
    }
    char *text = mem_alloc(SCENARIO_MAX);
    ssize_t n = read(fd, text, SCENARIO_MAX - 1);
    close(fd);
    mem_free(w.text);
    w.text = text;
    w.n = n > 0 ? (size_t)n : 0;
    w.file = st;
    return true;
}

/* Called with the lock held. */
static void refresh(void)
{
    const char *path = getenv("ROTA_FAKE_NVML");
    if (!path) {
        if (!w.tried) complain("ROTA_FAKE_NVML", "is not set");
        w.tried = true;
        return;
    }
    bool changed = slurp(path);
    w.tried = true;
    int64_t at = now_ms();
    if (!w.text || (!changed && at == w.parsed_ms)) return;
    AUTO_FREE struct fake *next = mem_alloc(sizeof(*next));
    struct err err = {0};
    w.parsed_ms = at;
    if (fake_parse(str_n(w.text, w.n), at, next, &err) < 0) {
        if (changed) complain(path, err.text);
        return;
    }
    w.now = *next;
    w.good = true;
}

static const struct fake_rule *find_rule(const struct fake_rule *v, uint32_t n, const char *call,
                                         int gpu)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(v[i].call, call) != 0 && strcmp(v[i].call, "all") != 0) continue;
        if (v[i].gpu < 0 || v[i].gpu == gpu) return &v[i];
    }
    return NULL;
}

static void nap(uint32_t ms)
{
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

/* A driver that does not come back: no signal but SIGKILL gets through.  Ends when the
 * scenario no longer says so. */
static void hang(const char *call, int gpu)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    while (find_rule(w.now.hang, w.now.n_hang, call, gpu)) {
        (void)pthread_mutex_unlock(&lock);
        nap(HANG_STEP_MS);
        (void)pthread_mutex_lock(&lock);
        refresh();
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int world_enter(const char *call, int gpu, const struct fake **ret)
{
    (void)pthread_mutex_lock(&lock);
    refresh();
    int code = w.good ? 0 : 999;
    if (code == 0) {
        hang(call, gpu);
        const struct fake_rule *fail = find_rule(w.now.fail, w.now.n_fail, call, gpu);
        if (fail) code = fail->code;
    }
    /* The driver is asked by everything but the question for the library's own version. */
    if (code == 0 && w.now.mismatch && strcmp(call, "nvmlSystemGetNVMLVersion") != 0) code = 18;
    if (code == 0 && gpu >= 0 && (w.now.gpu[gpu].lost || w.now.gpu[gpu].gone)) code = 15;
    if (code) (void)pthread_mutex_unlock(&lock);
    else *ret = &w.now;
    return code;
}

void world_leave(void) { (void)pthread_mutex_unlock(&lock); }

int world_gpu(const void *handle)
{
    const char *p = handle;
    return p >= w.handles && p < w.handles + FAKE_GPUS ? (int)(p - w.handles) : -1;
}

void *world_handle(uint32_t gpu) { return &w.handles[gpu]; }

static uint32_t count(const struct fake_xid *v, uint32_t n, struct fake_xid x)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++) found += v[i].gpu == x.gpu && v[i].xid == x.xid;
    return found;
}

/* Each line of a scenario is told once, also when the file was written anew around it. */
static bool untold(uint32_t mask, struct fake_xid *ret)
{
    for (uint32_t i = 0; i < w.now.n_xids; i++) {
        struct fake_xid x = w.now.xid[i];
        if (!(mask >> x.gpu & 1) || w.n_told == TOLD_MAX) continue;
        if (count(w.told, w.n_told, x) >= count(w.now.xid, i + 1, x)) continue;
        w.told[w.n_told++] = x;
        *ret = x;
        return true;
    }
    return false;
}

bool world_next_xid(uint32_t mask, uint32_t timeout_ms, struct fake_xid *ret)
{
    int64_t until = now_ms() + timeout_ms;
    for (;;) {
        (void)pthread_mutex_lock(&lock);
        refresh();
        bool found = w.good && untold(mask, ret);
        (void)pthread_mutex_unlock(&lock);
        int64_t left = until - now_ms();
        if (found || left <= 0) return found;
        nap(left < 10 ? (uint32_t)left : 10);
    }
}

/* ---- symbols that an older library has not ---- */

/* A definition without an address is none to the linker: dlsym goes on and finds nothing. */
static void hide(const char *name)
{
    struct link_map *map;
    Dl_info info;
    const ElfW(Sym) *symbols = NULL;
    const ElfW(Word) *hash = NULL;
    const char *names = NULL;
    void *self;
    int (*one)(const char *, int, const struct fake **) = world_enter;
    memcpy(&self, &one, sizeof(self));
    if (!dladdr1(self, &info, (void **)&map, RTLD_DL_LINKMAP)) return;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        const void *p = (const void *)d->d_un.d_ptr;
        if (d->d_tag == DT_SYMTAB) symbols = p;
        else if (d->d_tag == DT_HASH) hash = p;
        else if (d->d_tag == DT_STRTAB) names = p;
    }
    for (uint32_t i = 0; symbols && hash && names && i < hash[1]; i++) {
        if (strcmp(names + symbols[i].st_name, name) != 0) continue;
        uintptr_t at = (uintptr_t)&symbols[i], page = (uintptr_t)sysconf(_SC_PAGESIZE);
        void *from = (void *)(at & ~(page - 1));
        size_t n = page + (at + sizeof(symbols[i]) - (uintptr_t)from > page ? page : 0);
        if (mprotect(from, n, PROT_READ | PROT_WRITE) == 0)
            *(ElfW(Addr) *)(at + offsetof(ElfW(Sym), st_value)) = 0;
        (void)mprotect(from, n, PROT_READ);
        return;
    }
    complain("missing", name);
}

__attribute__((constructor)) static void load(void)
{
    (void)clock_gettime(CLOCK_MONOTONIC, &w.began);
    w.parsed_ms = -1;
    (void)pthread_mutex_lock(&lock);
    refresh();
    for (uint32_t i = 0; i < w.now.n_missing; i++) hide(w.now.missing[i]);
    (void)pthread_mutex_unlock(&lock);
}
