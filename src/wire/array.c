/* wire/array.c - ranges of tasks.  docs/cli.md, "Arrays" */
#include "wire/array.h"

#include "core/model/session.h"

static bool number(struct str text, uint64_t least, uint32_t *ret)
{
    uint64_t n;
    if (!str_to_u64(text, &n) || n < least || n > INT32_MAX) return false;
    *ret = (uint32_t)n;
    return true;
}

/* What comes before `sep`; the rest stays in `text`, empty when there is no `sep`. */
static struct str before(struct str *text, char sep)
{
    struct str head;
    (void)str_cut(text, sep, &head);
    return head;
}

bool array_parse(struct str text, struct array_range *ret)
{
    struct array_range r = {.step = 1};
    bool has_limit = text.n > 0 && memchr(text.p, '%', text.n) != NULL;
    struct str range = before(&text, '%'), limit = text;
    bool has_step = range.n > 0 && memchr(range.p, ':', range.n) != NULL;
    struct str span = before(&range, ':'), step = range;
    struct str first = before(&span, '-');
    uint32_t last;
    if (!number(first, 0, &r.first) || !number(span, r.first, &last)) return false;
    if (has_step && !number(step, 1, &r.step)) return false;
    if (has_limit && !number(limit, 1, &r.limit)) return false;
    r.count = (last - r.first) / r.step + 1;
    if (r.count > SESSION_ARRAY_MAX) return false;
    *ret = r;
    return true;
}
