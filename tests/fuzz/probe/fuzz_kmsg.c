/* A line of the kernel's log, which holds what anybody's program has provoked: what is taken for
 * an Xid reads back from what was understood of it. */
#include <stdint.h>

#include "base/check.h"
#include "probe/kmsg.h"
#include "probe/nvidia_impl.h"
#include "probe/survey.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str s = str_n((const char *)data, n);
    struct probe_event e, again;
    char pci[20], version[32] = "";
    if (kmsg_parse(s, &e)) {
        char line[256];
        CHECK(e.xid > 0 && e.pci[0] && !e.uuid[0]);
        CHECK(survey_pci(str_of(e.pci), pci) && strcmp(pci, e.pci) == 0);
        text_fmt(line, sizeof(line), "NVRM: Xid (PCI:%s): %u, %s", e.pci, e.xid, e.text);
        bool same = kmsg_parse(str_of(line), &again);
        CHECK(same && again.xid == e.xid && strcmp(again.pci, e.pci) == 0);
    }
    if (n > 0 && n < 4096) {
        AUTO_FREE char *text = mem_strndup((const char *)data, n);
        if (nvidia_version_in(text, version, sizeof(version)))
            CHECK(nvidia_same_version(version, version));
        CHECK(nvidia_stride(data, n, data[0], data[n - 1]) <= 64);
    }
    return 0;
}
