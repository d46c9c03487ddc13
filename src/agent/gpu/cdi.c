/* agent/gpu/cdi.c - the form of a specification.
 *
 * Strict: what this file does not know might be what makes a device safe, so a file
 * with an unknown field is not taken. */
#include "agent/gpu/cdi.h"
#include <string.h>
#include "base/str.h"

#define NEED .flags = WIRE_REQUIRED

static const struct wire_field node_fields[] = {
    WIRE_F_TEXT(struct cdi_node, path, "path", NEED, .min = 1),
    WIRE_F_TEXT(struct cdi_node, host, "hostPath"),
    WIRE_F_TEXT(struct cdi_node, type, "type"),
    WIRE_F_I64(struct cdi_node, major, "major", .min = -1, .max = INT32_MAX, .def = -1),
    WIRE_F_I64(struct cdi_node, minor, "minor", .min = -1, .max = INT32_MAX, .def = -1),
    WIRE_F_I64(struct cdi_node, mode, "fileMode", .min = -1, .max = 4095, .def = -1),
    WIRE_F_TEXT(struct cdi_node, access, "permissions"),
    WIRE_F_I64(struct cdi_node, uid, "uid", .min = -1, .max = INT32_MAX, .def = -1),
    WIRE_F_I64(struct cdi_node, gid, "gid", .min = -1, .max = INT32_MAX, .def = -1),
};
static const struct wire_table node_table = WIRE_TABLE("device node", struct cdi_node, node_fields);

static const struct wire_field mount_fields[] = {
    WIRE_F_TEXT(struct cdi_mount, from, "hostPath", NEED, .min = 1),
    WIRE_F_TEXT(struct cdi_mount, to, "containerPath", NEED, .min = 1),
    WIRE_F_TEXTS(struct cdi_mount, options, "options", 16, 512),
    WIRE_F_TEXT(struct cdi_mount, type, "type"),
};
static const struct wire_table mount_table = WIRE_TABLE("mount", struct cdi_mount, mount_fields);

static const struct wire_field hook_fields[] = {
    WIRE_F_TEXT(struct cdi_hook, stage, "hookName", NEED, .min = 1),
    WIRE_F_TEXT(struct cdi_hook, path, "path", NEED, .min = 1),
    WIRE_F_TEXTS(struct cdi_hook, args, "args", 256, 32768),
    WIRE_F_TEXTS(struct cdi_hook, env, "env", 64, 8192),
    WIRE_F_I32(struct cdi_hook, timeout_s, "timeout", .min = 0, .max = 600),
};
static const struct wire_table hook_table = WIRE_TABLE("hook", struct cdi_hook, hook_fields);

static const struct wire_field rdt_fields[] = {
    WIRE_F_TEXT(struct cdi_rdt, clos, "closID"),
    WIRE_F_TEXT(struct cdi_rdt, l3, "l3CacheSchema"),
    WIRE_F_TEXT(struct cdi_rdt, mem_bw, "memBwSchema"),
    WIRE_F_BOOL(struct cdi_rdt, cmt, "enableCMT"),
    WIRE_F_BOOL(struct cdi_rdt, mbm, "enableMBM"),
};
static const struct wire_table rdt_table = WIRE_TABLE("intelRdt", struct cdi_rdt, rdt_fields);

static const struct wire_field edits_fields[] = {
    WIRE_F_TEXTS(struct cdi_edits, env, "env", 128, 32768),
    WIRE_F_LIST(struct cdi_edits, nodes, "deviceNodes", &node_table, GRANT_NODES_MAX),
    WIRE_F_LIST(struct cdi_edits, mounts, "mounts", &mount_table, GRANT_MOUNTS_MAX),
    WIRE_F_LIST(struct cdi_edits, hooks, "hooks", &hook_table, GRANT_HOOKS_MAX),
    WIRE_F_OBJECT(struct cdi_edits, rdt, "intelRdt", &rdt_table),
    WIRE_F_TEXTS(struct cdi_edits, gids, "additionalGids", GRANT_GIDS_MAX, 1024,
                 .flags = WIRE_DIGITS),
};
static const struct wire_table edits_table =
    WIRE_TABLE("containerEdits", struct cdi_edits, edits_fields);

static const struct wire_field item_fields[] = {
    WIRE_F_TEXT(struct cdi_item, name, "name", NEED, .min = 1),
    WIRE_F_MAP(struct cdi_item, annotations, "annotations", 64, 16384),
    WIRE_F_OBJECT(struct cdi_item, edits, "containerEdits", &edits_table, NEED),
};
static const struct wire_table item_table = WIRE_TABLE("device", struct cdi_item, item_fields);

static const struct wire_field spec_fields[] = {
    WIRE_F_TEXT(struct cdi_spec, version, "cdiVersion", NEED, .min = 1),
    WIRE_F_TEXT(struct cdi_spec, kind, "kind", NEED, .min = 3),
    WIRE_F_MAP(struct cdi_spec, annotations, "annotations", 64, 16384),
    WIRE_F_LIST(struct cdi_spec, devices, "devices", &item_table, CDI_DEVICES_MAX, NEED),
    WIRE_F_OBJECT(struct cdi_spec, edits, "containerEdits", &edits_table),
};
const struct wire_table cdi_spec_table =
    WIRE_TABLE("CDI specification", struct cdi_spec, spec_fields, .max_bytes = CDI_FILE_MAX);

/* ---- what the form alone does not tell */

static bool version_known(const char *v)
{
    static const char *const known[] = {"0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0", "0.8.0"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcmp(v, known[i]) == 0) return true;
    return false;
}

static bool letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters and digits, between them also those of `more`. */
static bool word_sane(struct str s, const char *more)
{
    if (s.n == 0 || !letter(s.p[0]) || !letter(s.p[s.n - 1])) return false;
    for (size_t i = 0; i < s.n; i++)
        if (!letter(s.p[i]) && !strchr(more, s.p[i])) return false;
    return true;
}

static bool kind_sane(const char *kind)
{
    struct str rest = str_of(kind), vendor;
    return str_cut(&rest, '/', &vendor) && word_sane(vendor, "-_.") && word_sane(rest, "-_.");
}

static int node_check(const struct cdi_node *n, struct err *err)
{
    static const char *const types[] = {"", "c", "u", "b"};
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) known = known || strcmp(n->type, types[i]) == 0;
    if (!known)
        return err_set(err, ERR_INVALID, "%.80s: a device of type \"%s\" cannot be given", n->path,
                       n->type);
    const char *host = n->host[0] ? n->host : n->path;
    struct grant_node probe = {.access = "r"};
    struct grant scratch = {0};
    if (n->access[0] && !text_set(probe.access, sizeof(probe.access), str_of(n->access)))
        return err_set(err, ERR_INVALID, "%.80s: expected permissions of r, w, m", n->path);
    TEXT_SET(probe.path, str_of(n->path));
    TEXT_SET(probe.host, str_of(host));
    int rc = grant_add_node(&scratch, &probe, err);
    grant_done(&scratch);
    return rc;
}

static int mount_check(const struct cdi_mount *m, struct err *err)
{
    struct grant_mount probe = {0};
    struct grant scratch = {0};
    if (m->type[0] && strcmp(m->type, "bind") != 0 && strcmp(m->type, "none") != 0)
        return err_set(err, ERR_INVALID, "%.80s: a mount of type \"%s\" cannot be given", m->to,
                       m->type);
    TEXT_SET(probe.from, str_of(m->from));
    TEXT_SET(probe.to, str_of(m->to));
    int rc = grant_add_mount(&scratch, &probe, err);
    grant_done(&scratch);
    return rc;
}

static int edits_check(const struct cdi_edits *e, struct err *err)
{
    struct grant scratch = {0};
    int rc = 0;
    for (uint32_t i = 0; i < e->env.n && rc == 0; i++)
        rc = grant_add_env(&scratch, e->env.v[i], err);
    grant_done(&scratch);
    for (uint32_t i = 0; i < e->nodes.n && rc == 0; i++) rc = node_check(&e->nodes.v[i], err);
    for (uint32_t i = 0; i < e->mounts.n && rc == 0; i++) rc = mount_check(&e->mounts.v[i], err);
    for (uint32_t i = 0; i < e->hooks.n && rc == 0; i++)
        if (!grant_path_sane(e->hooks.v[i].path))
            rc = err_set(err, ERR_INVALID, "hook \"%.80s\": expected an absolute path",
                         e->hooks.v[i].path);
    return rc;
}

static int spec_check(const struct cdi_spec *s, struct err *err)
{
    if (!version_known(s->version))
        return err_set(err, ERR_UNSUPPORTED, "cdiVersion \"%s\": expected 0.3.0 to 0.8.0",
                       s->version);
    if (!kind_sane(s->kind))
        return err_set(err, ERR_INVALID, "kind \"%.80s\": expected vendor.com/class", s->kind);
    if (s->devices.n == 0) return err_set(err, ERR_INVALID, "it names no device");
    int rc = edits_check(&s->edits, err);
    for (uint32_t i = 0; i < s->devices.n && rc == 0; i++) {
        const struct cdi_item *d = &s->devices.v[i];
        if (!word_sane(str_of(d->name), "-_.:"))
            return err_set(err, ERR_INVALID, "\"%.80s\" is no name of a device", d->name);
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(s->devices.v[k].name, d->name) == 0)
                return err_set(err, ERR_CONFLICT, "it names the device \"%.80s\" twice", d->name);
        rc = edits_check(&d->edits, err);
        if (rc < 0) err_prefix(err, "%s", d->name);
    }
    return rc;
}

int cdi_parse(const char *file, struct str text, struct cdi_spec *ret, struct err *err)
{
    struct cdi_spec s;
    if (text.n > CDI_FILE_MAX)
        return err_set(err, ERR_LIMIT, "%s is larger than %d KiB", file, CDI_FILE_MAX / 1024);
    bool json = str_ends(str_of(file), STR(".json"));
    int rc = json ? wire_parse(&cdi_spec_table, text, &s, err)
                  : wire_parse_yaml(&cdi_spec_table, text, file, &s, err);
    if (rc < 0) {
        if (json) err_prefix(err, "%s", file);
        return rc;
    }
    rc = spec_check(&s, err);
    if (rc < 0) {
        err_prefix(err, "%s", file);
        wire_free(&cdi_spec_table, &s);
        return rc;
    }
    *ret = s;
    return 0;
}

void cdi_spec_done(struct cdi_spec *s) { wire_free(&cdi_spec_table, s); }
