/* core/model/linkmap.c - how the devices of a node reach each other. */
#include "core/model/linkmap.h"

#include "base/check.h"
#include "base/str.h"

char linkmap_letter(enum link_path path)
{
    CHECK(path >= LINK_UNKNOWN);
    CHECK(path < LINK_PATHS);
    return (char)(path < LINK_DIRECT1 ? '0' + (int)path : 'a' + (int)path - LINK_DIRECT1);
}

bool linkmap_parse(char letter, enum link_path *ret)
{
    if (letter >= '0' && letter <= '4') *ret = (enum link_path)(letter - '0');
    else if (letter >= 'a' && letter <= 'r') *ret = (enum link_path)(LINK_DIRECT1 + letter - 'a');
    else return false;
    return true;
}

static uint32_t pair_at(uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    CHECK(low < high);
    CHECK(high < LINK_DEVICES);
    return high * (high - 1) / 2 + low;
}

enum link_path linkmap_get(const char *map, uint32_t a, uint32_t b)
{
    uint32_t at = pair_at(a, b);
    enum link_path path = LINK_UNKNOWN;
    if (map[0] == '\0' || at >= strlen(map)) return path;
    bool known = linkmap_parse(map[at], &path);
    CHECK(known); /* linkmap_sane let it in */
    return path;
}

void linkmap_clear(char map[LINK_TEXT], uint32_t n_devices)
{
    CHECK(n_devices <= LINK_DEVICES);
    uint32_t pairs = n_devices > 0 ? n_devices * (n_devices - 1) / 2 : 0;
    memset(map, 0, LINK_TEXT);
    memset(map, '0', pairs);
}

void linkmap_set(char map[LINK_TEXT], uint32_t a, uint32_t b, enum link_path path)
{
    uint32_t at = pair_at(a, b);
    CHECK(at < strlen(map));
    map[at] = linkmap_letter(path);
}

bool linkmap_sane(const char *map, uint32_t n_devices)
{
    uint32_t pairs = n_devices > 0 ? n_devices * (n_devices - 1) / 2 : 0;
    enum link_path path;
    if (map[0] == '\0') return true;
    if (n_devices > LINK_DEVICES || strnlen(map, LINK_TEXT) != pairs) return false;
    for (uint32_t i = 0; i < pairs; i++) {
        if (!linkmap_parse(map[i], &path)) return false;
    }
    return true;
}

void linkmap_word(enum link_path path, char ret[8])
{
    static const char *const words[] = {"?", "SYS", "NODE", "PHB", "PIX"};
    if (path < LINK_DIRECT1) text_fmt(ret, 8, "%s", words[path]);
    else text_fmt(ret, 8, "NV%u", (unsigned)path - LINK_DIRECT1 + 1);
}
