/* probe/nvml.c - the library is opened, its functions are found, its answers get words. */
#include "probe/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

const char *_Atomic nvml_calling;

static const struct { const char *name, *symbol; size_t offset; } functions[] = {
#define ENTRY(name, symbol, args) {#name, #symbol, offsetof(struct nvml, name)},
    NVML_FUNCTIONS(ENTRY)
#undef ENTRY
};

int nvml_open(const char *path, struct nvml *ret, struct err *err)
{
    struct nvml n = {0};
    (void)dlerror();
    n.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!n.library) {
        const char *why = dlerror();
        return err_set(err, ERR_NOT_FOUND, "%s", why ? why : path);
    }
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        void *p = dlsym(n.library, functions[i].symbol);
        memcpy((char *)&n + functions[i].offset, &p, sizeof(p));
    }
    if (!n.init || !n.count || !n.by_index) {
        nvml_close(&n);
        return err_set(err, ERR_INVALID, "%s has not the functions of libnvidia-ml.so.1", path);
    }
    *ret = n;
    return 0;
}

void nvml_close(struct nvml *n)
{
    if (n->library) (void)dlclose(n->library);
    *n = (struct nvml){0};
}

const char *nvml_symbol(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (strcmp(functions[i].name, name) == 0) return functions[i].symbol;
    return name;
}

const char *nvml_text(int code)
{
    static const struct { int code; const char *text; } words[] = {
        {NVML_OK, "success"},
        {NVML_UNINITIALIZED, "not initialised"},
        {NVML_INVALID, "invalid argument"},
        {NVML_UNSUPPORTED, "not supported"},
        {NVML_NO_PERMISSION, "no permission"},
        {NVML_NOT_FOUND, "not found"},
        {NVML_SMALL, "too little room for the answer"},
        {NVML_NO_POWER, "its power cables are not connected"},
        {NVML_NO_DRIVER, "the driver is not loaded"},
        {NVML_TIMEOUT, "timeout"},
        {NVML_IRQ, "the kernel found a fault of its interrupts"},
        {NVML_NO_LIBRARY, "a library was not found"},
        {NVML_MISSING, "the function is missing"},
        {NVML_INFOROM, "its infoROM is corrupted"},
        {NVML_LOST, "the GPU is lost"},
        {NVML_RESET, "the GPU needs a reset"},
        {NVML_BLOCKED, "the operating system denies it"},
        {NVML_MISMATCH, "driver and library are of different versions"},
        {NVML_UNKNOWN, "unknown error"},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words[i].code == code) return words[i].text;
    return "an error that is not known here";
}

void nvml_file(const struct nvml *n, char *ret, size_t cap)
{
    Dl_info info;
    void *p;
    ret[0] = '\0';
    memcpy(&p, &n->init, sizeof(p));
    if (!p || !dladdr(p, &info) || !info.dli_fname) return;
    char real[PATH_MAX];
    if (realpath(info.dli_fname, real)) text_clip(ret, cap, str_of(real));
}
