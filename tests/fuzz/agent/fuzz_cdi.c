/* A CDI file from anybody, YAML when it begins with '-': what is taken grants devices below
 * /dev and mounts without "..", and prints as a file that is taken again. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "agent/gpu/cdi.h"
#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_grant(const struct grant *g)
{
    VEC_EACH(d, &g->nodes) {
        CHECK(strncmp(d->path, "/dev/", 5) == 0);
        CHECK(grant_path_sane(d->path));
        CHECK(strspn(d->access, "rwm") == strlen(d->access));
    }
    VEC_EACH(m, &g->mounts) {
        CHECK(grant_path_sane(m->from));
        CHECK(grant_path_sane(m->to));
    }
    CHECK(g->hooks.n == 0);
    VEC_EACH(gid, &g->gids) CHECK(*gid != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    bool yaml = n > 0 && data[0] == '-';
    struct cdi_rules rules = {.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct err err = {0};
    struct cdi_spec s, again;
    int rc = cdi_parse(yaml ? "f.yaml" : "f.json", str_n((const char *)data, n), &s, &err);
    if (rc < 0) CHECK(err.text[0] != 0);
    if (rc == 0) {
        AUTO_STRBUF struct strbuf out;
        strbuf_init(&out, (size_t)16 << 20);
        for (uint32_t i = 0; i < s.devices.n; i++) {
            struct grant g = {0};
            (void)cdi_apply(&s.devices.v[i].edits, &rules, &g, &err);
            check_grant(&g);
            grant_done(&g);
        }
        wire_print(&cdi_spec_table, &s, &out);
        if (!out.full && out.n <= CDI_FILE_MAX) {
            CHECK(cdi_parse("g.json", strbuf_str(&out), &again, &err) == 0);
            CHECK(wire_equal(&cdi_spec_table, &s, &again));
            cdi_spec_done(&again);
        }
        cdi_spec_done(&s);
    }
    close(rules.root);
    return 0;
}
