/* wire/engine.h - engine profiles: how a served engine is asked whether it works.
 *
 * Data, not code: share/engines.yaml is built into the programs, and a file of the same form
 * adds engines or replaces profiles by name.  docs/engines.md */
#ifndef WIRE_ENGINE_H
#define WIRE_ENGINE_H
#include "core/rotate/metrics.h"
#include "wire/names.h"
#include "wire/table.h"

#define ENGINES_MAX 64
#define ENGINE_JSON_MAX ((size_t)1 << 20) /* bytes of a JSON answer */

struct engine_profile {
    char name[32];            /* what a pool names */
    char title[64];           /* what people call it */
    struct metrics_profile metrics;
    char path[128];           /* what is fetched; "" when the engine is not asked */
    uint32_t port;            /* where, if not on the port that serves; 0: there */
    char needs[128];          /* what the engine must be started with, or "" */
    struct wire_texts never;  /* paths that wake it or count as work */
    char *notes;              /* for people, or NULL */
};
struct engines { VEC(struct engine_profile) engines; };

extern const struct wire_table wire_engines;

/* Errors as wire_parse_yaml.  What is accepted can be read with: names are unique, a path that
 * is never asked is not asked, what must be there is not all optional. */
int engine_parse(struct str yaml, const char *file, struct engines *ret, struct err *err);
/* The profiles of share/engines.yaml as it was when this was built. */
void engine_builtin(struct engines *ret);
extern const char engine_builtin_text[];
/* Takes all of `more`: a name that is there already is replaced.  ERR_LIMIT: too many; nothing
 * has changed then, and `more` is still whole. */
int engine_merge(struct engines *to, struct engines *more, struct err *err);
void engine_free(struct engines *e);
const struct engine_profile *engine_find(const struct engines *e, struct str name); /* or NULL */

/* What an answer to GET path proves, in the profile's format; start_ms as in metrics_read.  An
 * engine that is not asked has no answer: whatever is given is not looked at. */
struct metrics engine_read(const struct engine_profile *e, struct str answer, int64_t start_ms);
/* METRICS_JSON alone; engine_read calls it. */
struct metrics engine_read_json(const struct metrics_profile *p, struct str answer,
                                int64_t start_ms);

extern const struct wire_name names_metrics_format[], names_metrics_identity[];

#endif
