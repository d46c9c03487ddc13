/* fakes/nvml/fake.h - the world that the fake management library shows.
 *
 * A scenario is a file of lines (docs/development.md has the list), named by
 * ROTA_FAKE_NVML.  It is read again when it is another file or has another time or
 * length, so that a test changes the world under a living process: write it anew
 * beside and rename it.  A scenario that is wrong says why on standard error; the
 * world stays as it was, or when it is the first, no device is found and every call
 * fails. */
#ifndef FAKE_NVML_FAKE_H
#define FAKE_NVML_FAKE_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

enum {
    FAKE_GPUS = 32, FAKE_PROCESSES = 512, FAKE_RULES = 64, FAKE_XIDS = 128, FAKE_LINKS = 36,
    FAKE_WORD = 64,
};

struct fake_process { uint32_t pid, gpu; uint64_t mem; };
struct fake_rule { char call[FAKE_WORD]; int32_t gpu, code; }; /* gpu -1: all */
struct fake_xid { uint32_t gpu, xid; };
struct fake_gpu {
    char uuid[FAKE_WORD], model[FAKE_WORD], pci[24];
    uint64_t mem;
    uint32_t sm, mem_use, power_mw, temperature, numa, minor;
    int32_t peer[FAKE_LINKS]; /* gpu, or FAKE_SWITCH */
    uint32_t n_links;
    bool mig, lost, gone, retired, remap, remap_failed, has_fabric, has_numa, has_ecc;
    uint64_t ecc;
    uint32_t recovery, clique;
};
enum { FAKE_SWITCH = -2 };

struct fake {
    uint32_t n_gpus;
    struct fake_gpu gpu[FAKE_GPUS];
    struct fake_process process[FAKE_PROCESSES];
    uint32_t n_processes;
    struct fake_rule hang[FAKE_RULES], fail[FAKE_RULES];
    uint32_t n_hang, n_fail;
    char missing[FAKE_RULES][FAKE_WORD];
    uint32_t n_missing;
    struct fake_xid xid[FAKE_XIDS]; /* that are due */
    uint32_t n_xids;
    uint32_t stride;                /* of a process entry; 0: that of the function */
    uint8_t ancestor[FAKE_GPUS][FAKE_GPUS]; /* 0: computed from NUMA nodes */
    char driver[FAKE_WORD];
    bool mismatch;
};

/* The world at `now_ms` after the process began.  ERR_INVALID: "line 3: ...". */
int fake_parse(struct str text, int64_t now_ms, struct fake *ret, struct err *err);

#endif
