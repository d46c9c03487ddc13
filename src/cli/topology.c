/* cli/topology.c - the matrix of `rota node show --topology`, in the words of
 * `nvidia-smi topo -m`, which people know. */
#include "cli/topology.h"

#include "base/str.h"
#include "cli/term.h"
#include "wire/objects.h"

static const struct { const char *word, *means; } legend[] = {
    {"NV#", "# direct links (NVLink, xGMI)"}, {"PIX", "PCIe switches alone"},
    {"PHB", "one PCIe host bridge"},          {"NODE", "one NUMA node"},
    {"SYS", "across NUMA nodes"},             {"?", "not known"},
};

static void put_row(const struct node_view *v, uint32_t i, struct strbuf *b)
{
    const struct device_view *d = &v->devices[i];
    char name[16];
    text_fmt(name, sizeof(name), "GPU%u", d->index);
    strbuf_fmt(b, "%-6s", name);
    for (uint32_t k = 0; k < d->links.n; k++) {
        text_clip(name, sizeof(name), str_of(d->links.v[k]));
        strbuf_fmt(b, "%-6s", name);
    }
    strbuf_fmt(b, "%s\n", d->numa[0] ? d->numa : "?");
}

void topology_show(const void *object, struct strbuf *b)
{
    const struct node_view *v = object;
    char head[16];
    bool known = v->n_devices > 0 && v->devices[0].links.n == v->n_devices;
    if (!known) {
        strbuf_fmt(b, "%s: how its %u devices reach each other is not known\n", v->name,
                   v->n_devices);
        return;
    }
    strbuf_fmt(b, "%-6s", "");
    for (uint32_t i = 0; i < v->n_devices; i++) {
        text_fmt(head, sizeof(head), "GPU%u", v->devices[i].index);
        strbuf_fmt(b, "%-6s", head);
    }
    strbuf_puts(b, "NUMA\n");
    for (uint32_t i = 0; i < v->n_devices; i++) put_row(v, i, b);
    strbuf_putc(b, '\n');
    for (size_t i = 0; i < ARRAY_LEN(legend); i++)
        strbuf_fmt(b, "%-6s%s\n", legend[i].word, legend[i].means);
}
