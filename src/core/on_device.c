/* core/on_device.c - devices go bad, go missing and come back; operators decide.
 *
 * A device concerns those who hold it and nobody else: its node goes on, and so do the
 * sessions on the others.  Who holds one that is gone has lost what it worked with and
 * ends; who holds one that went bad is told, and goes on unless it, or the kind of the
 * error, says otherwise.  docs/spec/node.md, "Devices" */
#include "base/check.h"
#include "core/events.h"
#include "core/transition.h"

enum blow { BLOW_NONE = 0, BLOW_CHARGED, BLOW_BAD, BLOW_KILL, BLOW_GONE };

struct change_of { /* of one index, since its node spoke last */
    enum blow blow;
    char text[96];
};

static bool same_one(const struct device *a, const struct device *b)
{
    return a->uuid[0] != '\0' && strcmp(a->uuid, b->uuid) == 0;
}

static bool out(enum device_health h)
{
    return h == DEVICE_SUSPECT || h == DEVICE_QUARANTINED || h == DEVICE_RECOVERING;
}

/* What became of it: the worse counts.  Not being readable is nothing that happened to it. */
static void compare(const struct device *was, const struct device *is, const struct device_error *e,
                    struct change_of *ret)
{
    *ret = (struct change_of){0};
    if (was->uuid[0] == '\0') return;
    if (!same_one(was, is) || (is->health == DEVICE_GONE && was->health != DEVICE_GONE)) {
        ret->blow = BLOW_GONE;
        TEXT_CLIP(ret->text, STR("is gone"));
    } else if (is->xid_no != was->xid_no && e->kill) {
        ret->blow = BLOW_KILL;
        text_fmt(ret->text, sizeof(ret->text), "had Xid %u", e->xid);
    } else if (out(is->health) && is->health != was->health) {
        ret->blow = BLOW_BAD;
        text_fmt(ret->text, sizeof(ret->text), "is %s: %s", device_health_name(is->health),
                 is->why);
    } else if (is->xid_no != was->xid_no) {
        ret->blow = BLOW_CHARGED;
        text_fmt(ret->text, sizeof(ret->text), "had Xid %u", e->xid);
    }
}

static void send_back(struct draft *d, struct session *s, const char *text)
{
    if (s->state == SESSION_RUNNING) {
        s->requeue = true;
        transition_finish(d, s, OUTCOME_PREEMPTED, text);
    } else {
        transition_revoke(d, s, text);
    }
}

/* A session that holds the device, or held it when the error came. */
static void hit(struct draft *d, const struct node *n, uint32_t index, const struct change_of *c,
                struct session *s)
{
    char text[160];
    text_fmt(text, sizeof(text), "GPU %u of %s %s", index, n->name, c->text);
    struct history *h = draft_session_history(d, HISTORY_DEVICE, s);
    TEXT_CLIP(h->text, str_of(text));
    bool leaves = s->state == SESSION_STOPPING || c->blow == BLOW_CHARGED;
    if (leaves) return;
    if (s->on_device_fault == DEVICE_FAULT_REQUEUE) send_back(d, s, text);
    else if (c->blow != BLOW_BAD) transition_finish(d, s, OUTCOME_FAILED, text);
}

static void hit_holders(struct draft *d, struct node *n, uint32_t index, const struct change_of *c)
{
    struct world *w = d->w;
    uint64_t only = c->blow == BLOW_KILL || c->blow == BLOW_CHARGED
                        ? d->ev->u.join.errors[index].session : 0;
    for (struct alloc *a = world_allocs_of_node(w, n); a; a = world_next_of_node(w, a)) {
        struct session *s = world_session(w, a->ref.session);
        if (a->revoked || !(a->devices >> index & 1) || alloc_ended(a)) continue;
        if (s && session_live(s) && (only == 0 || only == s->id)) hit(d, n, index, c, s);
    }
}

static void tell_node(struct draft *d, struct node *n, uint32_t index, const char *text)
{
    struct history *h = draft_node_history(d, HISTORY_DEVICE, n);
    text_fmt(h->text, sizeof(h->text), "GPU %u of %s %s", index, n->name, text);
}

void on_devices(struct draft *d, struct node *n, const struct node *was)
{
    /* What is not listed at all was not looked for: an agent lists what is gone. */
    for (uint32_t i = 0; i < was->n_devices && i < n->n_devices; i++) {
        const struct device *before = &was->devices[i], *now = &n->devices[i];
        struct change_of c;
        compare(before, now, &d->ev->u.join.errors[i], &c);
        if (c.blow != BLOW_NONE) {
            tell_node(d, n, i, c.text);
            hit_holders(d, n, i, &c);
        } else if (same_one(before, now) && now->health == DEVICE_HEALTHY &&
                   (out(before->health) || before->health == DEVICE_GONE)) {
            tell_node(d, n, i, "is healthy again");
        }
    }
}

/* ---- operators */

void on_device_order_done(struct node *n, uint32_t done)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->n_orders; i++) {
        if (n->orders[i].no > done) n->orders[kept++] = n->orders[i];
    }
    for (uint32_t i = kept; i < n->n_orders; i++) n->orders[i] = (struct node_order){0};
    n->n_orders = kept;
    if (done > n->order_no) n->order_no = done; /* of another life of ours: count on from it */
}

static struct node *find(struct draft *d)
{
    const struct event_device *e = &d->ev->u.device;
    struct node *n = world_node(d->w, e->node);
    if (!n) {
        draft_refuse(d, VERDICT_NOT_FOUND, "node", "there is no such node");
    } else if (e->index >= n->n_devices || n->devices[e->index].uuid[0] == '\0') {
        draft_refuse(d, VERDICT_NOT_FOUND, "device", "%s has no such device", n->name);
    } else if (n->n_orders == NODE_ORDERS_MAX) {
        draft_refuse(d, VERDICT_FULL, "", "%s has not carried out the last %u wishes yet", n->name,
                     n->n_orders);
    } else {
        return n;
    }
    return NULL;
}

void on_device_order(struct draft *d)
{
    const struct event_device *e = &d->ev->u.device;
    bool known = e->order == DEVICE_ORDER_RETURN || e->order == DEVICE_ORDER_QUARANTINE;
    if (!known || memchr(e->why, '\0', sizeof(e->why)) == NULL) {
        draft_refuse(d, VERDICT_BAD_VALUE, "order", "order: expected return or quarantine");
        return;
    }
    struct node *n = find(d);
    if (!n) return;
    struct node_order *o = &n->orders[n->n_orders++];
    *o = (struct node_order){.no = ++n->order_no, .order = e->order};
    TEXT_CLIP(o->uuid, str_of(n->devices[e->index].uuid));
    TEXT_CLIP(o->why, str_of(e->why));
    d->out->node = n->id;
    draft_node(d, n);
    draft_wants(d, n->id);
    struct history *h = draft_node_history(d, HISTORY_DEVICE, n);
    text_fmt(h->text, sizeof(h->text), "GPU %u of %s: %s%s%s", e->index, n->name,
             device_order_name(e->order), e->why[0] ? ", " : "", e->why);
}
