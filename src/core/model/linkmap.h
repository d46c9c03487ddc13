/* core/model/linkmap.h - how the devices of a node reach each other.
 *
 * A map is a text with one letter for each pair: '0' unknown, '1' across sockets, '2'
 * within a NUMA node, '3' below one host bridge, '4' below PCIe switches, 'a' to 'r' one
 * to eighteen direct links (NVLink, xGMI).  The pair (a, b), a < b, stands at
 * b (b - 1) / 2 + a, whatever else there is.  An empty map knows nothing.
 * docs/spec/node.md, "Topology" */
#ifndef CORE_MODEL_LINKMAP_H
#define CORE_MODEL_LINKMAP_H
#include <stdbool.h>
#include <stdint.h>

#define LINK_DEVICES 16
#define LINK_PAIRS (LINK_DEVICES * (LINK_DEVICES - 1) / 2)
#define LINK_TEXT (LINK_PAIRS + 1)
#define LINK_DIRECT_MAX 18

enum link_path { /* the larger the better */
    LINK_UNKNOWN,
    LINK_SYSTEM,
    LINK_NODE,
    LINK_HOST,
    LINK_SWITCH,
    LINK_DIRECT1, /* LINK_DIRECT1 + n - 1: n direct links */
    LINK_PATHS = LINK_DIRECT1 + LINK_DIRECT_MAX
};

char linkmap_letter(enum link_path path);
bool linkmap_parse(char letter, enum link_path *ret);
/* How two of the devices reach each other: a != b, both below LINK_DEVICES. */
enum link_path linkmap_get(const char *map, uint32_t a, uint32_t b);
/* A map of that many devices that knows nothing yet. */
void linkmap_clear(char map[LINK_TEXT], uint32_t n_devices);
void linkmap_set(char map[LINK_TEXT], uint32_t a, uint32_t b, enum link_path path);
/* True for an empty map, and for one of exactly so many devices. */
bool linkmap_sane(const char *map, uint32_t n_devices);
/* What nvidia-smi's matrix calls it: "NV4", "PIX", "PHB", "NODE", "SYS", "?". */
void linkmap_word(enum link_path path, char ret[8]);

#endif
