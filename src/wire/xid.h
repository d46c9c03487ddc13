/* wire/xid.h - what is done about an Xid: a table of data, built in from share/xid.yaml.
 *
 * docs/spec/node.md, "Devices" */
#ifndef WIRE_XID_H
#define WIRE_XID_H
#include "core/nodeplan/health.h"
#include "wire/table.h"

#define XID_RULES_MAX 256

struct xid_rule { uint32_t xid; enum xid_act act; char what[64]; };
struct xid_rules { VEC(struct xid_rule) rules; }; /* sorted by number, each once */

extern const struct wire_table wire_xid_rules;
extern const struct wire_name names_xid_act[];

int xid_parse(struct str yaml, const char *file, struct xid_rules *ret, struct err *err);
/* Of this program. */
void xid_builtin(struct xid_rules *ret);
extern const char xid_builtin_text[];
/* NULL: there is no rule. */
const struct xid_rule *xid_find(const struct xid_rules *t, uint32_t xid);
void xid_free(struct xid_rules *t);

#endif
