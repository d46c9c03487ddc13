/* core/model/node.c - what a node has left, always derived from the facts.
 *
 * A capacity that shrank below what is used leaves nothing free; it never goes
 * negative, and nothing is taken from those who hold it. */
#include "core/model/node.h"

#include "base/bitset.h"
#include "base/check.h"
#include "core/model/world.h"

uint32_t node_all_devices(uint32_t n_devices)
{
    CHECK(n_devices <= NODE_DEVICES_MAX);
    return (UINT32_C(1) << n_devices) - 1;
}

uint32_t node_healthy_devices(const struct node *n)
{
    uint32_t healthy = 0;
    CHECK(n->n_devices <= NODE_DEVICES_MAX);
    for (uint32_t i = 0; i < n->n_devices; i++) {
        if (n->devices[i].health == DEVICE_HEALTHY) healthy |= UINT32_C(1) << i;
    }
    return healthy;
}

uint32_t node_givable_devices(const struct node *n)
{
    return node_healthy_devices(n) & ~n->kept_devices;
}

uint32_t node_free_devices(const struct node *n)
{
    return node_givable_devices(n) & ~n->used_devices;
}

static bool same_device(const struct device *a, const struct device *b)
{
    return a->mem_bytes == b->mem_bytes && a->health == b->health && a->since_ms == b->since_ms &&
           a->xid_no == b->xid_no &&
           a->simulated == b->simulated && a->numa == b->numa && strcmp(a->uuid, b->uuid) == 0 &&
           strcmp(a->model, b->model) == 0 && strcmp(a->pci, b->pci) == 0 &&
           strcmp(a->why, b->why) == 0;
}

bool node_same_devices(const struct node *a, const struct node *b)
{
    if (a->n_devices != b->n_devices) return false;
    for (uint32_t i = 0; i < a->n_devices; i++) {
        if (!same_device(&a->devices[i], &b->devices[i])) return false;
    }
    return strcmp(a->links, b->links) == 0;
}

bool node_usable(const struct node *n)
{
    return n->name[0] != '\0' && n->heard && !n->unreachable && !n->cordoned &&
           !n->quarantined && n->unhealthy[0] == '\0';
}

static struct slots left_over(const struct slots *capacity, const struct slots *used,
                              const struct slots *kept)
{
    struct slots left;
    for (int k = 0; k < SLOT_KINDS; k++) {
        int64_t taken = used->v[k] + (kept->v[k] > 0 ? kept->v[k] : 0);
        left.v[k] = capacity->v[k] > taken ? capacity->v[k] - taken : 0;
    }
    return left;
}

static struct room room_of(const struct node *n, const struct slots *used, uint32_t devices,
                           const struct slots *kept)
{
    struct room room = {
        .capacity = n->capacity,
        .free = left_over(&n->capacity, used, kept),
        .devices = devices,
        .group = n->name[0] != '\0' ? n->group : 0,
        .usable = node_usable(n),
    };
    room.free.v[SLOT_GPU] = bits_count(devices);
    CHECK(slots_fit(&room.free, &room.capacity));
    return room;
}

/* Of all that a search reads, from what the node says now. */
static void refresh_room(struct world *w, const struct node *n)
{
    struct slots kept; /* beyond what those hold who are leaving: it comes with their end */
    for (int k = 0; k < SLOT_KINDS; k++) kept.v[k] = n->kept.v[k] - n->leaving.v[k];
    struct room *room = &w->rooms.v[n->id - 1];
    uint32_t group = room->group;
    *room = room_of(n, &n->used, node_free_devices(n), &kept);
    w->regroupings += room->group != group;
    VEC_PUSH(&w->changed, n->id - 1);
}

void node_room_without(const struct node *n, const struct slots *gone, uint32_t gone_devices,
                       struct room *ret)
{
    struct slots used;
    bool sane = slots_sub(&n->used, gone, &used);
    CHECK(sane); /* they hold it */
    uint32_t used_devices = n->used_devices & ~gone_devices;
    *ret = room_of(n, &used, node_givable_devices(n) & ~used_devices, &n->kept);
}

static void add_row(struct node *n, const struct alloc *a)
{
    bool sane = slots_add(&n->used, &a->slots, &n->used);
    CHECK(sane);
    CHECK((n->used_devices & a->devices) == 0);
    n->used_devices |= a->devices;
}

void node_refresh(struct world *w, struct node *n)
{
    CHECK(n->id > 0);
    CHECK(n->id <= w->rooms.n);
    n->used = (struct slots){{0}};
    n->used_devices = 0;
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        add_row(n, a);
    }
    n->kind_stamp++;
    refresh_room(w, n);
}

void node_take(struct world *w, struct node *n, const struct alloc *a)
{
    CHECK(a->live);
    CHECK(a->node == n->id);
    add_row(n, a);
    refresh_room(w, n);
}

void node_give(struct world *w, struct node *n, const struct alloc *a)
{
    CHECK(a->live);
    CHECK(a->node == n->id);
    CHECK((n->used_devices & a->devices) == a->devices);
    bool sane = slots_sub(&n->used, &a->slots, &n->used);
    CHECK(sane);
    n->used_devices &= ~a->devices;
    CHECK(n->first_alloc != MAP_NONE || (slots_zero(&n->used) && n->used_devices == 0));
    refresh_room(w, n);
}
