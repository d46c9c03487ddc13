/* wire/xid.c - see xid.h. */
#include "wire/xid.h"

#include "base/check.h"

const struct wire_name names_xid_act[] = { /* "unknown" is what is not in the table */
    {XID_APPLICATION, "application"}, {XID_RESET, "reset"},       {XID_KILL, "kill"},
    {XID_QUARANTINE, "quarantine"},   {XID_RECOVERY, "recovery"}, {0, NULL},
};

static const struct wire_field rule_fields[] = {
    WIRE_F_U32(struct xid_rule, xid, "xid", .flags = WIRE_REQUIRED, .min = 1, .max = 100000,
               .doc = "The driver's number."),
    WIRE_F_ENUM(struct xid_rule, act, "act", names_xid_act, .flags = WIRE_REQUIRED,
                .def = XID_QUARANTINE, .doc = "What is done."),
    WIRE_F_TEXT(struct xid_rule, what, "what", .flags = WIRE_OMIT, .doc = "For people."),
};
static const struct wire_table rule_table =
    WIRE_TABLE("Xid rule", struct xid_rule, rule_fields);

static int finish_rules(void *obj, struct err *err)
{
    const struct xid_rules *t = obj;
    for (uint32_t i = 1; i < t->rules.n; i++) {
        if (t->rules.v[i - 1].xid < t->rules.v[i].xid) continue;
        err_set(err, ERR_INVALID, "%u is not above the number before it", t->rules.v[i].xid);
        err_field(err, "xids");
        return ERR_INVALID;
    }
    return 0;
}

static const struct wire_field rules_fields[] = {
    WIRE_F_LIST(struct xid_rules, rules, "xids", &rule_table, XID_RULES_MAX,
                .flags = WIRE_REQUIRED, .doc = "Rules, by number."),
};
const struct wire_table wire_xid_rules = WIRE_TABLE("Xid rules", struct xid_rules, rules_fields,
                                                    .finish = finish_rules);

int xid_parse(struct str yaml, const char *file, struct xid_rules *ret, struct err *err)
{
    return wire_parse_yaml(&wire_xid_rules, yaml, file, ret, err);
}

void xid_builtin(struct xid_rules *ret)
{
    struct err err = {0};
    int rc = xid_parse(str_of(xid_builtin_text), "xid.yaml", ret, &err);
    CHECK(rc == 0); /* a test reads the same file */
}

const struct xid_rule *xid_find(const struct xid_rules *t, uint32_t xid)
{
    VEC_EACH(r, &t->rules) {
        if (r->xid == xid) return r;
    }
    return NULL;
}

void xid_free(struct xid_rules *t) { wire_free(&wire_xid_rules, t); }
