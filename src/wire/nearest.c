/* wire/nearest.c - edit distance with swaps (optimal string alignment).
 *
 * Words longer than NEAREST_MAX are not compared: nobody mistypes those. */
#include "wire/nearest.h"

#include "base/check.h"

#define NEAREST_MAX 40u

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

static uint32_t distance(struct str a, struct str b)
{
    CHECK(a.n <= NEAREST_MAX);
    CHECK(b.n <= NEAREST_MAX);
    uint32_t rows[3][NEAREST_MAX + 1]; /* of the last three characters of a */
    for (uint32_t j = 0; j <= b.n; j++) rows[0][j] = j;
    for (uint32_t i = 1; i <= a.n; i++) {
        uint32_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = i;
        for (uint32_t j = 1; j <= b.n; j++) {
            uint32_t change = a.p[i - 1] == b.p[j - 1] ? 0 : 1;
            now[j] = least(least(last[j] + 1, now[j - 1] + 1), last[j - 1] + change);
            bool swapped = i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1];
            if (swapped) now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return rows[a.n % 3][b.n];
}

void nearest_offer(struct nearest *n, const char *candidate)
{
    struct str c = str_of(candidate);
    if (c.n == 0 || c.n > NEAREST_MAX || n->word.n == 0 || n->word.n > NEAREST_MAX) return;
    uint32_t d = distance(n->word, c);
    if (n->best && d >= n->distance) return;
    n->best = candidate;
    n->distance = d;
}

const char *nearest_best(const struct nearest *n)
{
    if (!n->best) return NULL;
    size_t allowed = n->word.n < 3 ? 1 : n->word.n < 8 ? 2 : 3;
    return n->distance <= allowed && n->distance < n->word.n ? n->best : NULL;
}
