/* agent/gpu/cpulist.c - see cpulist.h. */
#include "agent/gpu/cpulist.h"
#include <sched.h>
#include <string.h>
#include "base/str.h"

static bool has(const struct cpulist *l, uint32_t i)
{
    return (l->word[i / 64] >> (i % 64) & 1) != 0;
}

static bool range_parse(struct str part, struct cpulist *l)
{
    struct str first;
    uint64_t from, to;
    bool range = str_cut(&part, '-', &first);
    if (!str_to_u64(first, &from) || from >= CPULIST_MAX) return false;
    to = from;
    if (range && (!str_to_u64(part, &to) || to >= CPULIST_MAX || to < from)) return false;
    for (uint64_t i = from; i <= to; i++) l->word[i / 64] |= UINT64_C(1) << (i % 64);
    return true;
}

bool cpulist_parse(const char *text, struct cpulist *ret)
{
    struct cpulist l = {{0}};
    struct str rest = str_of(text), part;
    if (rest.n > 0 && rest.p[rest.n - 1] == '\n') rest.n--;
    for (bool more = rest.n > 0; more;) {
        more = str_cut(&rest, ',', &part);
        if (!range_parse(part, &l)) return false;
    }
    *ret = l;
    return true;
}

bool cpulist_format(const struct cpulist *l, char *ret, size_t cap)
{
    size_t n = 0;
    ret[0] = 0;
    for (uint32_t i = 0; i < CPULIST_MAX; i++) {
        if (!has(l, i)) continue;
        uint32_t from = i;
        char part[24];
        while (i + 1 < CPULIST_MAX && has(l, i + 1)) i++;
        if (i > from) text_fmt(part, sizeof(part), "%s%u-%u", n ? "," : "", from, i);
        else text_fmt(part, sizeof(part), "%s%u", n ? "," : "", from);
        if (n + strlen(part) + 1 > cap) {
            ret[0] = 0;
            return false;
        }
        n += (size_t)text_fmt(ret + n, cap - n, "%s", part);
    }
    return true;
}

void cpulist_add(struct cpulist *l, const struct cpulist *more)
{
    for (size_t i = 0; i < CPULIST_MAX / 64; i++) l->word[i] |= more->word[i];
}

void cpulist_keep(struct cpulist *l, const struct cpulist *only)
{
    for (size_t i = 0; i < CPULIST_MAX / 64; i++) l->word[i] &= only->word[i];
}

uint32_t cpulist_count(const struct cpulist *l)
{
    uint32_t n = 0;
    for (size_t i = 0; i < CPULIST_MAX / 64; i++) n += (uint32_t)__builtin_popcountll(l->word[i]);
    return n;
}

void cpulist_own(struct cpulist *ret)
{
    unsigned long mask[CPULIST_MAX / (8 * sizeof(unsigned long))] = {0};
    *ret = (struct cpulist){{0}};
    if (sched_getaffinity(0, sizeof(mask), (cpu_set_t *)(void *)mask) < 0) return;
    memcpy(ret->word, mask, sizeof(mask));
}
