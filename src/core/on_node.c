/* core/on_node.c - nodes come, are heard, and go; groups change.
 *
 * Unreachable is not dead: a silent node keeps all it holds.  Joining again,
 * with whatever boot id or devices, takes nothing from anybody: only a report
 * proves that a container is gone. */
#include "base/check.h"
#include "core/events.h"
#include "base/labels.h"
#include "core/model/pool.h"
#include "core/model/silence.h"
#include "core/model/timers.h"
#include "core/model/usage.h"
#include "core/sched/vacate.h"
#include "core/transition.h"

void on_start(struct draft *d)
{
    struct world *w = d->w;
    CHECK(!w->started);
    for (uint32_t i = 0; i < w->nodes.n; i++) {
        struct node *n = &w->nodes.v[i];
        if (n->name[0] == '\0') continue;
        n->heard_ms = w->now_ms;
        on_drain_arm(d, n, w->now_ms + NODE_UNREACHABLE_MS);
    }
    VEC_EACH(s, &w->sessions) if (s->id != 0 && s->state == SESSION_RESERVED) vacate_add(w, s);
    w->started = true;
}

void on_node_heard(struct draft *d, struct node *n)
{
    struct world *w = d->w;
    bool back = n->unreachable, fresh = !n->heard;
    n->heard = true;
    n->unreachable = false;
    n->heard_ms = w->now_ms;
    n->fence_asked = n->fence_confirmed = false;
    if (!back && !fresh) return; /* its timer moves on by itself */
    if (back) (void)draft_node_history(d, HISTORY_NODE_BACK, n);
    if (n->silence_accepted) {
        n->silence_accepted = false;
        draft_node(d, n);
    }
    on_drain_arm(d, n, w->now_ms + NODE_UNREACHABLE_MS);
    node_refresh(w, n);
    pool_freed(w, n);
}

/* ---- join */

static bool terminated(const char *text, size_t cap) { return memchr(text, '\0', cap) != NULL; }

static bool texts_sane(const struct node *n)
{
    for (uint32_t i = 0; i < n->n_devices; i++) {
        const struct device *dev = &n->devices[i];
        if (!terminated(dev->uuid, sizeof(dev->uuid))) return false;
        if (!terminated(dev->model, sizeof(dev->model)) || dev->mem_bytes < 0) return false;
        if (dev->numa > NODE_NUMA_MAX) return false;
        if (!terminated(dev->pci, sizeof(dev->pci)) || dev->since_ms < 0) return false;
        if (!terminated(dev->why, sizeof(dev->why)) || dev->health >= DEVICE_HEALTHS) return false;
    }
    return terminated(n->boot_id, sizeof(n->boot_id)) &&
           terminated(n->data_addr, sizeof(n->data_addr)) &&
           terminated(n->net_addr, sizeof(n->net_addr)) &&
           terminated(n->version, sizeof(n->version)) &&
           terminated(n->unhealthy, sizeof(n->unhealthy)) && terminated(n->facts, sizeof(n->facts));
}

/* What constraints are judged by. */
static bool words_sane(const struct node *n)
{
    char labels[sizeof(n->labels)];
    if (!terminated(n->labels, sizeof(n->labels)) || !terminated(n->arch, sizeof(n->arch))) {
        return false;
    }
    memcpy(labels, n->labels, sizeof(labels));
    return labels_sort(labels) &&
           (n->arch[0] == '\0' || str_is_name(str_of(n->arch), sizeof(n->arch) - 1));
}

static bool join_sane(struct draft *d, const struct node *n)
{
    if (!terminated(n->name, sizeof(n->name)) || !str_is_name(str_of(n->name), NODE_NAME_MAX)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "node", "node: expected a name of at most %d letters",
                     NODE_NAME_MAX);
    } else if (n->n_devices > NODE_DEVICES_MAX) {
        draft_refuse(d, VERDICT_BAD_VALUE, "devices", "devices: expected at most %d, got %u",
                     NODE_DEVICES_MAX, n->n_devices);
    } else if (n->capacity.v[SLOT_CPU] < 0 || n->capacity.v[SLOT_CPU] > SLOT_MAX) {
        draft_refuse(d, VERDICT_BAD_VALUE, "cpu_milli", "cpu_milli: %lld is out of range",
                     (long long)n->capacity.v[SLOT_CPU]);
    } else if (n->capacity.v[SLOT_MEM] < 0 || n->capacity.v[SLOT_MEM] > SLOT_MAX) {
        draft_refuse(d, VERDICT_BAD_VALUE, "mem_bytes", "mem_bytes: %lld is out of range",
                     (long long)n->capacity.v[SLOT_MEM]);
    } else if (!texts_sane(n)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "devices", "devices: a text is too long");
    } else if (!terminated(n->links, sizeof(n->links)) || !linkmap_sane(n->links, n->n_devices)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "links",
                     "links: expected a letter of 0-4, a-r for each pair of devices");
    } else if (!words_sane(n)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "labels",
                     "labels: expected key=value pairs separated by ',', each key once");
    } else if (!world_group(d->w, n->group)) {
        draft_refuse(d, VERDICT_NOT_FOUND, "group", "there is no such group");
    } else {
        return true;
    }
    return false;
}

static void copy_text(char *dst, size_t cap, const char *src) { text_clip(dst, cap, str_of(src)); }

/* What the agent says about its node; cordon and ids are the manager's own. */
static void describe(struct node *n, const struct node *in)
{
    n->group = in->group;
    n->capacity = in->capacity;
    n->capacity.v[SLOT_GPU] = in->n_devices;
    n->n_devices = in->n_devices;
    memset(n->devices, 0, sizeof(n->devices));
    for (uint32_t i = 0; i < in->n_devices; i++) {
        struct device *to = &n->devices[i];
        const struct device *from = &in->devices[i];
        *to = (struct device){.mem_bytes = from->mem_bytes,
                              .since_ms = from->since_ms,
                              .health = from->health,
                              .simulated = from->simulated,
                              .numa = from->numa,
                              .xid_no = from->xid_no};
        copy_text(to->uuid, sizeof(to->uuid), from->uuid);
        copy_text(to->model, sizeof(to->model), from->model);
        copy_text(to->pci, sizeof(to->pci), from->pci);
        copy_text(to->why, sizeof(to->why), from->why);
    }
    copy_text(n->links, sizeof(n->links), in->links);
    copy_text(n->boot_id, sizeof(n->boot_id), in->boot_id);
    copy_text(n->data_addr, sizeof(n->data_addr), in->data_addr);
    copy_text(n->net_addr, sizeof(n->net_addr), in->net_addr);
    copy_text(n->version, sizeof(n->version), in->version);
    copy_text(n->facts, sizeof(n->facts), in->facts);
    copy_text(n->unhealthy, sizeof(n->unhealthy), in->unhealthy);
    copy_text(n->labels, sizeof(n->labels), in->labels);
    copy_text(n->arch, sizeof(n->arch), in->arch);
    bool sane = labels_sort(n->labels);
    CHECK(sane);
}

static bool same_node(const struct node *a, const struct node *b)
{
    return a->group == b->group && a->epoch == b->epoch && a->n_orders == b->n_orders &&
           memcmp(&a->capacity, &b->capacity, sizeof(a->capacity)) == 0 &&
           node_same_devices(a, b) &&
           strcmp(a->boot_id, b->boot_id) == 0 && strcmp(a->data_addr, b->data_addr) == 0 &&
           strcmp(a->net_addr, b->net_addr) == 0 && strcmp(a->unhealthy, b->unhealthy) == 0 &&
           strcmp(a->version, b->version) == 0 && strcmp(a->facts, b->facts) == 0 &&
           strcmp(a->labels, b->labels) == 0 && strcmp(a->arch, b->arch) == 0;
}

static struct node *add_node(struct draft *d, const struct node *in)
{
    struct world *w = d->w;
    if (w->nodes.n >= WORLD_NODES_MAX) {
        draft_refuse(d, VERDICT_FULL, "", "there are %u nodes already", w->nodes.n);
        return NULL;
    }
    struct node *n = world_add_node(w);
    copy_text(n->name, sizeof(n->name), in->name);
    n->epoch = in->epoch;
    map_str_put(&w->node_by_name, str_of(n->name), n->id);
    return n;
}

void on_join(struct draft *d)
{
    struct world *w = d->w;
    const struct node *in = &d->ev->u.join.node;
    if (!join_sane(d, in)) return;
    struct node *n = world_node_named(w, str_of(in->name));
    if (n && in->epoch < n->epoch) {
        draft_refuse(d, VERDICT_STALE, "epoch", "%s started %llu times, this is from start %llu",
                     n->name, (unsigned long long)n->epoch, (unsigned long long)in->epoch);
        return;
    }
    bool added = !n, restarted = n && in->epoch > n->epoch;
    if (added) n = add_node(d, in);
    if (!n) return;
    struct node was = *n;
    describe(n, in);
    on_device_order_done(n, d->ev->u.join.orders_done);
    if (!added) on_devices(d, n, &was);
    if (restarted) {
        n->epoch = in->epoch;
        n->report_seq = n->report_turn = 0;
    }
    node_refresh(w, n);
    on_node_heard(d, n);
    d->out->node = n->id;
    draft_wants(d, n->id);
    if (!added && same_node(&was, n)) return;
    draft_node(d, n);
    if (!added && was.group != n->group) pool_due(w, was.group);
    pool_freed(w, n);
    bool rebooted = strcmp(was.boot_id, n->boot_id) != 0;
    if (!added && !restarted && !rebooted) return;
    struct history *h = draft_node_history(d, HISTORY_NODE_JOINED, n);
    text_fmt(h->text, sizeof(h->text), "%s%s", n->name,
             added ? "" : rebooted ? ", rebooted" : ", agent restarted");
}

/* ---- forget */

static struct node *find(struct draft *d, uint32_t id)
{
    struct node *n = world_node(d->w, id);
    if (!n) draft_refuse(d, VERDICT_NOT_FOUND, "node", "there is no such node");
    return n;
}

/* The session's container there will never be heard of again. */
static void lose_session(struct draft *d, struct session *s, const char *text)
{
    if (s->state == SESSION_STOPPING && s->requeue) { /* it needs no proof to run elsewhere */
        transition_try_end(d, s);
        return;
    }
    struct member_end end = *ends_of(d->w, s);
    TEXT_CLIP(end.detail, str_of(text));
    end.exit_code = -1;
    ends_put(d->w, s, &end);
    if (s->state == SESSION_STOPPING) {
        s->outcome = OUTCOME_LOST;
        draft_session(d, s);
        transition_try_end(d, s);
        return;
    }
    transition_finish(d, s, OUTCOME_LOST, text);
}

void on_node_lost(struct draft *d, struct node *n, const char *text)
{
    struct world *w = d->w;
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        struct session *s = world_session(w, a->ref.session);
        bool current = !a->revoked;
        if (current) {
            usage_give(w, a);
            a->revoked = true;
            a->revoked_turn = w->turn;
            draft_alloc(d, a);
            draft_wants(d, n->id);
        }
        if (!s || !session_live(s)) continue;
        if (s->unproved && !silence_unproved(w, s, n->id)) { /* nobody waits for this node */
            s->unproved = false;
            draft_session(d, s);
            pool_wake(w, s);
        }
        if (current || s->state == SESSION_STOPPING) lose_session(d, s, text);
    }
}

void on_forget(struct draft *d)
{
    struct world *w = d->w;
    struct node *n = find(d, d->ev->u.forget.node);
    if (!n) return;
    bool alive = n->heard && !n->unreachable && n->first_alloc != MAP_NONE;
    if (alive && !d->ev->u.forget.force) {
        draft_refuse(d, VERDICT_NOT_EMPTY, "",
                     "%s is heard and holds sessions: stop them, or its agent, or force it",
                     n->name);
        return;
    }
    char text[128];
    text_fmt(text, sizeof(text), "node %s was given up for lost", n->name);
    d->out->node = n->id;
    on_node_lost(d, n, text);
    while (n->first_alloc != MAP_NONE) draft_release(d, world_allocs_of_node(w, n));
    (void)draft_node_history(d, HISTORY_NODE_FORGOTTEN, n);
    struct change *c = VEC_ADD(&d->out->changes);
    c->kind = CHANGE_NODE_GONE;
    c->u.node = *n;
    pool_due(w, n->group); /* whom its capacity held back may be tried */
    bool known = map_str_del(&w->node_by_name, str_of(n->name));
    CHECK(known);
    *n = (struct node){.id = n->id, .first_alloc = MAP_NONE, .timer_stamp = n->timer_stamp,
                       .kind_stamp = n->kind_stamp};
    node_refresh(w, n);
}

/* ---- groups */

static bool projects_fine(struct draft *d, const struct group *g)
{
    for (uint32_t i = 0; i < g->n_projects; i++) {
        bool twice = false;
        for (uint32_t k = 0; k < i; k++) twice = twice || g->projects[k] == g->projects[i];
        const struct project *p = world_project(d->w, g->projects[i]);
        if (p && !twice) continue;
        if (p) {
            draft_refuse(d, VERDICT_BAD_VALUE, "projects", "projects: %s is named twice", p->name);
        } else {
            draft_refuse(d, VERDICT_NOT_FOUND, "projects", "projects: there is no such project");
        }
        return false;
    }
    return true;
}

void on_group_put(struct draft *d)
{
    struct world *w = d->w;
    const struct group *in = &d->ev->u.group;
    if (!terminated(in->name, sizeof(in->name)) ||
        !str_is_name(str_of(in->name), sizeof(in->name) - 1)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "name", "name: expected a name of at most %zu letters",
                     sizeof(in->name) - 1);
        return;
    }
    if (in->on_blocked < BLOCKED_STOP || in->on_blocked >= BLOCKED_KINDS) {
        draft_refuse(d, VERDICT_BAD_VALUE, "on_blocked",
                     "on_blocked: expected stop, skip or backfill");
        return;
    }
    for (int k = KIND_BATCH; k < SESSION_KINDS; k++) {
        if (in->time_limit_ms[k] >= 0 && in->time_limit_ms[k] <= EVENT_TIME_MAX_MS) continue;
        draft_refuse(d, VERDICT_BAD_VALUE, "time_limit_ms",
                     "time_limit_ms: expected 0 to %lld, got %lld", (long long)EVENT_TIME_MAX_MS,
                     (long long)in->time_limit_ms[k]);
        return;
    }
    if (!group_sane(in)) {
        draft_refuse(d, VERDICT_BAD_VALUE, "", "a value of the group is out of its range");
        return;
    }
    if (!projects_fine(d, in)) return;
    struct group *g = world_group_named(w, str_of(in->name));
    if (in->id != 0 && (!g || g->id != in->id)) {
        draft_refuse(d, VERDICT_NOT_FOUND, "name", "there is no such group");
        return;
    }
    if (!g && w->groups.n >= WORLD_GROUPS_MAX) {
        draft_refuse(d, VERDICT_FULL, "", "there are %u groups already", w->groups.n);
        return;
    }
    bool added = !g;
    if (added) {
        g = world_add_group(w);
        g->id = w->groups.n;
    }
    struct group next = *in; /* its number stays, its name is the one it was found by */
    next.id = g->id;
    next.round_robin_node = g->round_robin_node;
    *g = next;
    draft_group(d, g);
    struct history *h = draft_history(d, HISTORY_GROUP);
    text_fmt(h->text, sizeof(h->text), "%s %s: %s", g->name, added ? "added" : "changed",
             on_blocked_name(g->on_blocked));
    VEC_EACH(s, &w->sessions) { /* when it may be made to go is the policy's to say */
        if (s->state == SESSION_RUNNING && s->group == g->id) timers_arm_session(w, s);
    }
    pool_resort(w, g->id);
}
