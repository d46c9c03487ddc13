/* probe/nvidia_processes.c - who uses a device.
 *
 * An entry of the list has 16, 24 or 32 bytes, and one release wrote the longer
 * ones under a function's name that promised the shorter.  So the buffer is larger
 * than any of them needs and full of one byte; how far the library wrote tells the
 * entries' size.  A list that makes no sense is no list. */
#include <string.h>

#include "base/mem.h"
#include "probe/nvidia_impl.h"
#include "probe/survey.h"

enum { ENTRY_MAX = 64, ENTRIES = PROBE_PROCESSES_MAX, POISON = 0xa5 };

uint32_t nvidia_stride(const uint8_t *buf, size_t n, uint32_t count, uint8_t poison)
{
    while (n > 0 && buf[n - 1] == poison) n--;
    if (count == 0 || n % count) return 0;
    size_t stride = n / count;
    if (stride < 16 || stride > ENTRY_MAX || stride % 8) return 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pid;
        memcpy(&pid, buf + i * stride, sizeof(pid));
        if (pid == 0 || pid > INT32_MAX) return 0;
    }
    return (uint32_t)stride;
}

static void add(struct probe_device *d, uint32_t pid, uint64_t mem)
{
    struct probe_process one = {.pid = pid, .mem_bytes = PROBE_UNKNOWN};
    survey_put(&one.mem_bytes, mem, (uint64_t)1 << 50); /* all ones: not known */
    VEC_EACH (p, &d->processes) {
        if (p->pid != pid) continue;
        /* Computing and drawing: listed in both, with the same memory. */
        if (one.mem_bytes > p->mem_bytes) p->mem_bytes = one.mem_bytes;
        return;
    }
    if (d->processes.n == PROBE_PROCESSES_MAX) d->processes_known = false;
    else VEC_PUSH(&d->processes, one);
}

static void take(struct probe_device *d, const uint8_t *buf, uint32_t count)
{
    uint32_t stride = nvidia_stride(buf, (size_t)ENTRIES * ENTRY_MAX, count, POISON);
    if (stride == 0) {
        d->processes_known = false;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t pid;
        uint64_t mem;
        memcpy(&pid, buf + (size_t)i * stride, sizeof(pid));
        memcpy(&mem, buf + (size_t)i * stride + 8, sizeof(mem));
        add(d, pid, mem);
    }
}

/* One kind of process through the newest of three functions that is there. */
#define KIND(lib, h, d, buf, name) \
    do { \
        uint32_t count_ = ENTRIES; \
        memset((buf), POISON, (size_t)ENTRIES * ENTRY_MAX); \
        int code_ = NVML_CALL(lib, name##3, h, &count_, buf); \
        if (code_ == NVML_MISSING) code_ = NVML_CALL(lib, name##2, h, &count_, buf); \
        if (code_ == NVML_MISSING) code_ = NVML_CALL(lib, name##1, h, &count_, buf); \
        take_kind((d), code_, (buf), count_); \
    } while (0)

static void take_kind(struct probe_device *d, int code, const uint8_t *buf, uint32_t count)
{
    if (code == NVML_MISSING || code == NVML_UNSUPPORTED) return; /* no such kind here */
    if (code != NVML_OK || count > ENTRIES) d->processes_known = false;
    else if (count > 0) take(d, buf, count);
    (void)nvidia_judge(d, code);
}

void nvidia_processes(const struct nvml *lib, nvml_device h, struct probe_device *d)
{
    AUTO_FREE uint8_t *buf = mem_alloc((size_t)ENTRIES * ENTRY_MAX);
    /* Where nothing can list those that compute, an empty list says nothing. */
    d->processes_known = lib->compute3 || lib->compute2 || lib->compute1;
    KIND(lib, h, d, buf, compute);
    KIND(lib, h, d, buf, graphics);
    KIND(lib, h, d, buf, mps);
}
