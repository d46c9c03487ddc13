/* Which devices of a node: every free mask times every count, on the maps of real machines
 * and on random ones, against a reference that tries all sets and adds up everything anew. */
#include "harness.h"

#include "base/bitset.h"
#include "base/rng.h"
#include "core/sched/devmap.h"

/* ---- maps */

static void all_to(char map[LINK_TEXT], uint32_t n, enum link_path path)
{
    linkmap_clear(map, n);
    for (uint32_t b = 1; b < n; b++) {
        for (uint32_t a = 0; a < b; a++) linkmap_set(map, a, b, path);
    }
}

static enum link_path nv(int links) { return (enum link_path)(LINK_DIRECT1 + links - 1); }

/* DGX with switches: all alike. */
static void full_mesh(char map[LINK_TEXT]) { all_to(map, 8, nv(18)); }

/* Two boards of four. */
static void two_quads(char map[LINK_TEXT])
{
    all_to(map, 8, LINK_SYSTEM);
    for (uint32_t b = 1; b < 8; b++) {
        for (uint32_t a = 0; a < b; a++) {
            if (a / 4 == b / 4) linkmap_set(map, a, b, nv(4));
        }
    }
}

/* DGX-1 with V100: a cube mesh of one and two links. */
static void hypercube(char map[LINK_TEXT])
{
    static const uint8_t links[][3] = {
        {0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
        {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
    all_to(map, 8, LINK_SYSTEM);
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        linkmap_set(map, links[i][0], links[i][1], nv(links[i][2]));
    }
}

/* Workstation boards joined by bridges, two to a socket. */
static void pairs(char map[LINK_TEXT])
{
    all_to(map, 8, LINK_SYSTEM);
    for (uint32_t b = 1; b < 8; b++) {
        for (uint32_t a = 0; a < b; a++) {
            if (a / 4 == b / 4) linkmap_set(map, a, b, LINK_NODE);
            if (a / 2 == b / 2) linkmap_set(map, a, b, nv(4));
        }
    }
}

static void pcie(char map[LINK_TEXT])
{
    all_to(map, 8, LINK_SYSTEM);
    for (uint32_t b = 1; b < 8; b++) {
        for (uint32_t a = 0; a < b; a++) {
            if (a / 4 == b / 4) linkmap_set(map, a, b, LINK_HOST);
            if (a / 2 == b / 2) linkmap_set(map, a, b, LINK_SWITCH);
        }
    }
}

/* ---- the reference */

struct worth { uint32_t worst, inside, left; };

static uint32_t sum_of(const char *map, uint32_t mask, uint32_t *ret_worst)
{
    uint32_t sum = 0, worst = UINT32_MAX;
    for (uint32_t b = 1; b < LINK_DEVICES; b++) {
        for (uint32_t a = 0; a < b; a++) {
            if ((mask >> a & 1) == 0 || (mask >> b & 1) == 0) continue;
            uint32_t w = devmap_weight(linkmap_get(map, a, b));
            sum += w;
            if (w < worst) worst = w;
        }
    }
    *ret_worst = worst;
    return sum;
}

/* Lower indexes first: of two sets that with the lowest device in which they differ. */
static bool lower(uint32_t a, uint32_t b) { return (a & (1u << bits_low(a ^ b))) != 0; }

static uint32_t reference(const char *map, uint32_t free, uint32_t count)
{
    uint32_t best = 0, unused;
    struct worth top = {0};
    for (uint32_t set = free;; set = (set - 1) & free) {
        if (bits_count(set) == count) {
            struct worth is = {0};
            is.inside = sum_of(map, set, &is.worst);
            is.left = sum_of(map, free & ~set, &unused);
            bool more = is.worst > top.worst;
            if (is.worst == top.worst) more = is.inside > top.inside;
            if (is.worst == top.worst && is.inside == top.inside) {
                more = is.left > top.left || (is.left == top.left && best && lower(set, best));
            }
            if (best == 0 || more) {
                best = set;
                top = is;
            }
        }
        if (set == 0) return best;
    }
}

static void compare(const char *map, uint32_t devices)
{
    for (uint32_t free = 0; free < 1u << devices; free++) {
        for (uint32_t count = 0; count <= bits_count(free); count++) {
            uint32_t got = devmap_pick(map, free, count), want = reference(map, free, count);
            if (got != want) {
                fail_msg("%s: %u of %#x: %#x instead of %#x", map, count, free, got, want);
            }
        }
    }
}

static void real_maps_every_mask_every_count(void **state)
{
    static void (*const maps[])(char[LINK_TEXT]) = {full_mesh, two_quads, hypercube, pairs, pcie};
    char map[LINK_TEXT];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
        maps[i](map);
        compare(map, 8);
    }
    compare("", 8);
}

static void random_maps_every_mask_every_count(void **state)
{
    struct rng rng = {.state = 7};
    char map[LINK_TEXT];
    (void)state;
    for (int i = 0; i < 60; i++) {
        uint32_t n = 2 + (uint32_t)rng_below(&rng, 7), kinds = 2 + (uint32_t)rng_below(&rng, 21);
        linkmap_clear(map, n);
        for (uint32_t b = 1; b < n; b++) {
            for (uint32_t a = 0; a < b; a++) {
                linkmap_set(map, a, b, (enum link_path)rng_below(&rng, kinds));
            }
        }
        compare(map, n);
    }
}

/* Sixteen: some masks, the worst count among them. */
static void sixteen_devices(void **state)
{
    struct rng rng = {.state = 16};
    char map[LINK_TEXT];
    (void)state;
    for (int i = 0; i < 6; i++) {
        uint32_t free = i == 0 ? 0xffff : (uint32_t)rng_below(&rng, 0x10000);
        linkmap_clear(map, 16);
        for (uint32_t b = 1; b < 16; b++) {
            for (uint32_t a = 0; a < b; a++) {
                linkmap_set(map, a, b, (enum link_path)(1 + rng_below(&rng, 6)));
            }
        }
        uint32_t count = bits_count(free) / 2;
        assert_int_equal(devmap_pick(map, free, count), reference(map, free, count));
    }
}

/* ---- what it is for, one by one */

static void what_people_expect(void **state)
{
    static const struct {
        void (*map)(char[LINK_TEXT]);
        uint32_t free, count, want;
        const char *why;
    } cases[] = {
        {two_quads, 0xff, 4, 0x0f, "four are one board"},
        {two_quads, 0xfe, 4, 0xf0, "... the other one, when the first is broken"},
        {two_quads, 0xfc, 2, 0x0c, "a pair from the broken board, not from the whole one"},
        {two_quads, 0xf8, 1, 0x08, "... and a single one too"},
        {two_quads, 0xff, 1, 0x01, "all alike: the lowest"},
        {pairs, 0xff, 2, 0x03, "a bridge"},
        {pairs, 0xfe, 2, 0x0c, "... not across one that is half taken"},
        {pairs, 0xfe, 1, 0x02, "the one whose partner is gone"},
        {pairs, 0xff, 4, 0x0f, "two bridges of one socket"},
        {pcie, 0xf5, 3, 0x70, "below one host bridge before any two"},
        {hypercube, 0xff, 2, 0x09, "two links before one"},
        {hypercube, 0xff, 4, 0x0f, "a fully linked side of the cube"},
        {full_mesh, 0xf6, 3, 0x16, "all alike: the lowest"},
    };
    char map[LINK_TEXT];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cases[i].map(map);
        uint32_t got = devmap_pick(map, cases[i].free, cases[i].count);
        if (got != cases[i].want) {
            fail_msg("%s: %#x instead of %#x", cases[i].why, got, cases[i].want);
        }
    }
}

/* ---- maps as text */

static void letters_and_places(void **state)
{
    char map[LINK_TEXT], word[8];
    enum link_path path;
    (void)state;
    for (int p = LINK_UNKNOWN; p < LINK_PATHS; p++) {
        assert_true(linkmap_parse(linkmap_letter((enum link_path)p), &path));
        assert_int_equal(path, p);
    }
    for (int c = 0; c < 256; c++) {
        bool known = (c >= '0' && c <= '4') || (c >= 'a' && c <= 'r');
        assert_int_equal(linkmap_parse((char)c, &path), known);
    }
    linkmap_clear(map, 16);
    assert_int_equal(strlen(map), LINK_PAIRS);
    for (uint32_t b = 1; b < 16; b++) {
        for (uint32_t a = 0; a < b; a++) {
            enum link_path one = (enum link_path)((a * 7 + b) % LINK_PATHS);
            linkmap_set(map, b, a, one);
            assert_int_equal(linkmap_get(map, a, b), one);
        }
    }
    linkmap_word(nv(4), word);
    assert_string_equal(word, "NV4");
    linkmap_word(LINK_SWITCH, word);
    assert_string_equal(word, "PIX");
}

static void what_no_map_is(void **state)
{
    char map[LINK_TEXT];
    (void)state;
    for (uint32_t n = 0; n <= 16; n++) {
        linkmap_clear(map, n);
        assert_true(linkmap_sane(map, n));
        assert_true(linkmap_sane("", n));
        if (n < 2) continue;
        assert_false(linkmap_sane(map, n - 1));
        map[0] = '5';
        assert_false(linkmap_sane(map, n));
    }
    memset(map, '1', sizeof(map)); /* not terminated */
    assert_false(linkmap_sane(map, 16));
    assert_false(linkmap_sane("1", 17));
}

/* Booked before the next is placed: at any moment no device is held twice, whatever the map. */
static void frc10_each_its_own(void **state)
{
    (void)state;
    for (int linked = 0; linked < 2; linked++) {
        struct lab *l = lab_new(BLOCKED_SKIP);
        struct event ev = {.kind = EVENT_NODE_JOIN, .now_ms = l->now_ms};
        struct session one = lab_request(1, 1, 1, 1);
        uint32_t held = 0, n = 0;
        lab_join(l, "n1", 16, 64, 4);
        ev.u.join.node = *world_node_named(l->w, STR("n1"));
        linkmap_clear(ev.u.join.node.links, 4);
        linkmap_set(ev.u.join.node.links, 1, 3, LINK_DIRECT1);
        if (linked) assert_int_equal(lab_step(l, &ev), VERDICT_OK);
        for (int i = 0; i < 5; i++) (void)lab_run(l, &one); /* one more than there is room for */
        struct node *node = world_node_named(l->w, STR("n1"));
        assert_int_equal(node->links[0] != 0, linked);
        for (struct alloc *a = world_allocs_of_node(l->w, node); a;
             a = world_next_of_node(l->w, a)) {
            assert_int_equal(bits_count(a->devices), 1);
            assert_int_equal(held & a->devices, 0);
            held |= a->devices;
            n++;
        }
        assert_int_equal(n, 4);
        assert_int_equal(held, 15);
        lab_free(l);
    }
}

/* A pair is promised and placed as one: the map of the node counts, also after a restart. */
static void a_session_gets_the_pair(void **state)
{
    (void)state;
    struct lab *l = lab_new(BLOCKED_SKIP);
    struct event ev = {.kind = EVENT_NODE_JOIN, .now_ms = l->now_ms};
    struct session two = lab_request(1, 1, 1, 2);
    lab_join(l, "n1", 16, 64, 4);
    ev.u.join.node = *world_node_named(l->w, STR("n1"));
    linkmap_clear(ev.u.join.node.links, 4);
    linkmap_set(ev.u.join.node.links, 1, 3, LINK_DIRECT1);
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    lab_restart(l);
    uint32_t at = world_node_named(l->w, STR("n1"))->id;
    l->nodes[0].epoch = 0;
    ev.now_ms = l->now_ms;
    assert_int_equal(lab_step(l, &ev), VERDICT_OK);
    (void)lab_run(l, &two);
    const struct alloc *a = world_allocs_of_node(l->w, world_node(l->w, at));
    assert_non_null(a);
    assert_int_equal(a->devices, 10);
    lab_free(l);
    /* A map that is no map of the node is refused. */
    l = lab_new(BLOCKED_SKIP);
    ev.now_ms = l->now_ms;
    ev.u.join.node.links[0] = 'z';
    assert_int_equal(lab_step(l, &ev), VERDICT_BAD_VALUE);
    lab_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_maps_every_mask_every_count),
        cmocka_unit_test(random_maps_every_mask_every_count),
        cmocka_unit_test(sixteen_devices),
        cmocka_unit_test(what_people_expect),
        cmocka_unit_test(letters_and_places),
        cmocka_unit_test(what_no_map_is),
        cmocka_unit_test(frc10_each_its_own),
        cmocka_unit_test(a_session_gets_the_pair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
