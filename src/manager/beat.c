/* manager/beat.c - requests held for a node, answered as of a turn.
 *
 * Invariants: what is held has its parsed body and its on_close set, and the
 * peer's timer is armed; only the newest may still wait for something to hear,
 * older ones wait for their turn to be closed.  `changed` is the newest closed
 * turn in which the node's wishes changed; a node that acted on a lower turn is
 * answered without waiting. */
#include "manager/beat.h"
#include <sys/random.h>
#include "base/check.h"
#include "base/labels.h"
#include "core/step.h"
#include "manager/api.h"
#include "manager/body.h"
#include "manager/orphan.h"
#include "manager/use.h"
#include "net/addr.h"
#include "wire/objects.h"
#include "wire/sync.h"

/* A request as it came; shared by whoever still needs it. */
struct said {
    uint32_t refs;
    struct sync_request rq;
};

struct held {
    struct peer *peer;
    struct http_req *req;
    struct said *said;
    struct said *list; /* with the full list: the same one, or an earlier one */
    struct held *older;
};

struct peer {
    struct manager *m;
    char name[NODE_NAME_MAX + 1];
    uint32_t node;            /* id; 0: not in the world yet */
    uint64_t epoch, seq;      /* of its newest request */
    uint64_t changed;
    struct held *held;        /* newest first; NULL: none */
    bool at_close;            /* answer them when the open turn is closed */
    int64_t quiet_until_ms;   /* what changes before is told together then */
    struct net_timer *timer;
    struct said *list;        /* its last full list, of version 2; or NULL */
    uint64_t wants_no;        /* of what it was last told */
    VEC(struct member_want) wants;
    struct use_node use;
};

/* ---- answering ---- */

static struct said *said_keep(struct said *s)
{
    s->refs++;
    return s;
}

static void said_drop(struct said *s)
{
    if (!s || --s->refs > 0) return;
    wire_free(&wire_sync_request, &s->rq);
    mem_free(s);
}

/* Takes it out of its peer; the request is the caller's to answer. */
static struct http_req *let_go(struct held *h)
{
    struct peer *p = h->peer;
    struct http_req *req = h->req;
    struct held **link = &p->held;
    while (*link != h) {
        CHECK(*link != NULL);
        link = &(*link)->older;
    }
    *link = h->older;
    if (!p->held) {
        p->at_close = false;
        net_timer_stop(p->timer);
    }
    said_drop(h->said);
    said_drop(h->list);
    mem_free(h);
    http_req_on_close(req, NULL, NULL);
    return req;
}

static void answer_init(const struct manager *m, const struct peer *p,
                        const struct sync_request *rq, uint64_t turn, struct sync_answer *a)
{
    wire_init(&wire_sync_answer, a);
    a->protocol = rq->protocol;
    if (rq->protocol > SYNC_PROTOCOL_MIN && p->list) a->list_no = p->list->rq.list_no;
    TEXT_CLIP(a->cluster, str_of(m->cluster));
    TEXT_CLIP(a->incarnation, str_of(m->incarnation));
    a->turn = turn;
    a->node_id = p->node;
}

/* Numbers begin anywhere: another manager's number never names our list. */
static uint64_t first_number(void)
{
    uint64_t v = 0;
    ssize_t n = getrandom(&v, sizeof(v), 0);
    CHECK(n == (ssize_t)sizeof(v));
    return (v >> 2) + 1;
}

/* Wishes that the node acts on already are named, not sent. */
static void number_wants(struct peer *p, uint64_t has_no, struct sync_answer *a)
{
    if (p->wants_no == 0 || !member_wants_same(p->wants.v, p->wants.n, a->wants.v, a->wants.n)) {
        p->wants_no = p->wants_no ? p->wants_no + 1 : first_number();
        VEC_CLEAR(&p->wants);
        VEC_EACH(w, &a->wants) VEC_PUSH(&p->wants, *w);
    }
    a->wants_no = p->wants_no;
    a->same = has_no == p->wants_no;
    if (a->same) VEC_DONE(&a->wants);
}

static void add_orders(const struct node *n, struct sync_answer *a)
{
    a->n_orders = n->n_orders;
    for (uint32_t i = 0; i < n->n_orders; i++) {
        const struct node_order *o = &n->orders[i];
        a->orders[i] = (struct sync_device_order){.no = o->no, .order = o->order};
        TEXT_CLIP(a->orders[i].uuid, str_of(o->uuid));
        TEXT_CLIP(a->orders[i].why, str_of(o->why));
    }
}

/* The answer is as of `turn`, which the world is at. */
static void answer_one(struct held *h, uint64_t turn)
{
    struct peer *p = h->peer;
    struct manager *m = p->m;
    const struct world *w = turns_world(m->turns);
    CHECK(w != NULL);
    struct sync_answer sa;
    struct sync_request *rq = &h->said->rq;
    answer_init(m, p, rq, turn, &sa);
    const struct node *n = world_node(w, p->node);
    if (n) {
        uint32_t count = 0;
        step_wants(w, n, &sa.wants.v, &count);
        sa.wants.n = sa.wants.cap = count;
        body_add(m, rq, &h->list->rq, &sa);
        add_orders(n, &sa);
    }
    orphan_answer(m, p->name, p->list ? &p->list->rq : NULL, &sa);
    /* Without a node there is nothing to say, and nothing that it should act on. */
    if (n && rq->protocol > SYNC_PROTOCOL_MIN) number_wants(p, rq->wants_no, &sa);
    int64_t gap_ms = (int64_t)(sa.wants.n + rq->members.n) / BEAT_ROWS_A_MS;
    p->quiet_until_ms = net_now_ms() + (gap_ms < BEAT_GAP_MAX_MS ? gap_ms : BEAT_GAP_MAX_MS);
    struct answer *a = answer_new(m, let_go(h), 200);
    strbuf_done(&a->body);
    strbuf_init(&a->body, BEAT_ANSWER_MAX);
    wire_print(&wire_sync_answer, &sa, &a->body);
    wire_free(&wire_sync_answer, &sa);
    answer_send(a);
}

static void answer_all(struct peer *p, uint64_t turn)
{
    while (p->held) answer_one(p->held, turn);
}

/* As soon as an answer can be as of a whole turn. */
static void answer_soon(struct peer *p)
{
    if (turns_is_open(p->m->turns)) p->at_close = true;
    else answer_all(p, turns_newest(p->m->turns));
}

/* Its wishes have changed: what it holds is answered now, or when it may be. */
static void answer_change(struct peer *p)
{
    int64_t wait_ms = p->quiet_until_ms - net_now_ms();
    if (wait_ms <= 0) answer_soon(p);
    else net_timer_set(p->timer, wait_ms, 0);
}

/* A newer request has come: this one hears of a turn below the one that its node
 * has acted on, which the node ignores.  The full list would cost both sides more
 * than it says.  A node that never had an answer must get a real one. */
static void answer_superseded(struct held *h)
{
    struct manager *m = h->peer->m;
    const struct sync_request *rq = &h->said->rq;
    if (rq->turn == 0) {
        answer_soon(h->peer);
        return;
    }
    struct sync_answer sa;
    answer_init(m, h->peer, rq, rq->turn - 1, &sa);
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 4096);
    wire_print(&wire_sync_answer, &sa, &b);
    wire_free(&wire_sync_answer, &sa);
    m->http.by_class[2]++;
    http_reply_json(let_go(h), 200, strbuf_str(&b));
}

static void on_poll_over(void *arg)
{
    struct peer *p = arg;
    if (p->held && turns_world(p->m->turns)) answer_soon(p);
}

static void on_left(struct http_req *req, void *arg)
{
    struct held *h = arg;
    CHECK(h->req == req);
    let_go(h);
}

/* ---- peers ---- */

static struct peer *peer_of(struct manager *m, const char *name)
{
    struct beats *b = &m->beats;
    uint32_t at = map_str_get(&b->by_name, str_of(name));
    if (at != MAP_NONE) return b->peers.v[at];
    struct peer *p = mem_alloc(sizeof(*p));
    p->m = m;
    bool fits = TEXT_SET(p->name, str_of(name));
    CHECK(fits);
    p->changed = turns_durable(m->turns);
    p->timer = net_timer_new(m->loop, on_poll_over, p);
    map_str_put(&b->by_name, str_of(name), b->peers.n);
    VEC_PUSH(&b->peers, p);
    return p;
}

void beat_closing(struct manager *m, const struct turn_batch *b)
{
    struct beats *all = &m->beats;
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        const struct node *n = world_node(turns_world(m->turns), b->nodes.v[i]);
        uint32_t at = n ? map_str_get(&all->by_name, str_of(n->name)) : MAP_NONE;
        if (at == MAP_NONE) continue;
        struct peer *p = all->peers.v[at];
        p->changed = b->turn.no;
        if (p->held && !p->at_close) answer_change(p);
    }
    VEC_EACH(p, &all->peers)
        if ((*p)->at_close) answer_all(*p, b->turn.no);
}

void beat_done(struct manager *m)
{
    VEC_EACH(p, &m->beats.peers) {
        CHECK((*p)->held == NULL); /* answered, or gone with their connections */
        net_timer_free((*p)->timer);
        said_drop((*p)->list);
        VEC_DONE(&(*p)->wants);
        use_done(&(*p)->use);
        mem_free(*p);
    }
    VEC_DONE(&m->beats.peers);
    map_str_done(&m->beats.by_name);
}

void beat_lost(struct manager *m)
{
    VEC_EACH(p, &m->beats.peers)
        while ((*p)->held) answer_lost(m, let_go((*p)->held));
    beat_done(m);
}

uint64_t beat_epoch(const struct manager *m, struct str node)
{
    const struct node *n = world_node_named(turns_world(m->turns), node);
    uint32_t at = map_str_get(&m->beats.by_name, node);
    uint64_t stored = n ? n->epoch : 0, heard = at == MAP_NONE ? 0 : m->beats.peers.v[at]->epoch;
    return stored > heard ? stored : heard;
}

const struct use_node *beat_use(const struct manager *m, struct str node)
{
    uint32_t at = map_str_get(&m->beats.by_name, node);
    return at == MAP_NONE ? NULL : &m->beats.peers.v[at]->use;
}

const struct member_report *beat_member(const struct manager *m, struct str node,
                                        struct member_ref ref)
{
    uint32_t at = map_str_get(&m->beats.by_name, node);
    const struct said *list = at == MAP_NONE ? NULL : m->beats.peers.v[at]->list;
    uint32_t low = 0, high = list ? list->rq.members.n : 0;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = member_ref_cmp(list->rq.members.v[mid].ref, ref);
        if (order == 0) return &list->rq.members.v[mid];
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    return NULL;
}

const struct sync_request *beat_list(const struct manager *m, uint32_t at)
{
    const struct said *list = m->beats.peers.v[at]->list;
    return list ? &list->rq : NULL;
}

void beat_tell(struct manager *m, struct str node)
{
    uint32_t at = map_str_get(&m->beats.by_name, node);
    if (at != MAP_NONE && m->beats.peers.v[at]->held) answer_soon(m->beats.peers.v[at]);
}

uint32_t beat_held(const struct manager *m)
{
    uint32_t n = 0;
    VEC_EACH(p, &m->beats.peers) n += (*p)->held != NULL;
    return n;
}

/* ---- what a node says about itself ---- */

/* A proxy shall dial it, and a ticket shall carry it. */
static bool is_data_addr(const char *text, struct err *err)
{
    struct net_addr a;
    for (const char *p = text; *p; p++) {
        if (*p > ' ' && *p < 0x7f) continue;
        err_set(err, ERR_INVALID, "info.data_addr: expected HOST:PORT");
        return false;
    }
    if (net_addr_parse(str_of(text), 0, &a, err) != 0) {
        err_prefix(err, "info.data_addr");
        return false;
    }
    if (a.kind == NET_ADDR_IP || a.kind == NET_ADDR_NAME) return true;
    err_set(err, ERR_INVALID, "info.data_addr: expected HOST:PORT");
    return false;
}

/* Packets of other nodes shall be sent there. */
static bool is_net_addr(const char *text, struct err *err)
{
    struct net_addr a;
    if (!text[0]) return true;
    if (net_addr_parse(str_of(text), 1, &a, NULL) == 0 && a.kind == NET_ADDR_IP &&
        strcmp(a.host, text) == 0)
        return true;
    err_set(err, ERR_INVALID, "info.net_addr: expected an IPv4 address without a port");
    return false;
}

static bool info_to_node(const struct world *w, const struct sync_request *rq, struct node *n,
                         struct err *err)
{
    const struct sync_info *in = &rq->info;
    if (!is_data_addr(in->data_addr, err)) {
        err_field(err, "info.data_addr");
        return false;
    }
    if (!is_net_addr(in->net_addr, err)) {
        err_field(err, "info.net_addr");
        return false;
    }
    memset(n, 0, sizeof(*n));
    struct str group = in->group[0] ? str_of(in->group) : STR("default");
    const struct group *g = world_group_named(w, group);
    if (!g) {
        err_set(err, ERR_INVALID, "there is no group \"%.*s\"", (int)group.n, group.p);
        err_field(err, "info.group");
        return false;
    }
    n->group = g->id;
    bool fits = TEXT_SET(n->name, str_of(rq->node)) && TEXT_SET(n->boot_id, str_of(rq->boot_id)) &&
                TEXT_SET(n->data_addr, str_of(in->data_addr)) &&
                TEXT_SET(n->net_addr, str_of(in->net_addr)) &&
                TEXT_SET(n->version, str_of(in->version)) &&
                TEXT_SET(n->facts, str_of(in->facts)) &&
                TEXT_SET(n->unhealthy, str_of(in->unhealthy)) &&
                TEXT_SET(n->labels, str_of(in->labels)) && TEXT_SET(n->arch, str_of(in->arch));
    CHECK(fits);
    if (!labels_sort(n->labels)) {
        err_set(err, ERR_INVALID, "info.labels: expected key=value pairs, each key once");
        err_field(err, "info.labels");
        return false;
    }
    n->capacity.v[SLOT_CPU] = in->cpu_milli;
    n->capacity.v[SLOT_MEM] = in->mem_bytes;
    n->capacity.v[SLOT_GPU] = in->n_devices;
    n->epoch = rq->epoch;
    n->n_devices = in->n_devices;
    for (uint32_t i = 0; i < in->n_devices; i++) {
        const struct sync_device *d = &in->devices[i];
        struct device *to = &n->devices[i];
        if (d->index != i) {
            err_set(err, ERR_INVALID, "devices are numbered from 0 in order");
            err_field(err, "info.devices");
            return false;
        }
        fits = TEXT_SET(to->uuid, str_of(d->uuid)) && TEXT_SET(to->model, str_of(d->model)) &&
               TEXT_SET(to->pci, str_of(d->pci)) && TEXT_SET(to->why, str_of(d->why));
        CHECK(fits);
        to->mem_bytes = d->mem_bytes;
        to->since_ms = d->since_ms;
        to->health = d->health;
        to->simulated = d->simulated;
        to->numa = d->numa;
        to->xid_no = d->xid_no;
    }
    fits = TEXT_SET(n->links, str_of(in->links));
    CHECK(fits);
    return true;
}

static bool same_node(const struct node *a, const struct node *b)
{
    return a->group == b->group && a->epoch == b->epoch &&
           memcmp(&a->capacity, &b->capacity, sizeof(a->capacity)) == 0 &&
           strcmp(a->boot_id, b->boot_id) == 0 && strcmp(a->data_addr, b->data_addr) == 0 &&
           strcmp(a->net_addr, b->net_addr) == 0 && strcmp(a->unhealthy, b->unhealthy) == 0 &&
           strcmp(a->version, b->version) == 0 && strcmp(a->facts, b->facts) == 0 &&
           strcmp(a->labels, b->labels) == 0 && strcmp(a->arch, b->arch) == 0 &&
           node_same_devices(a, b);
}

/* It has carried out a wish for a device that is still kept for it. */
static bool orders_moved(const struct node *n, const struct sync_request *rq)
{
    return n->n_orders > 0 && rq->info.orders_done >= n->orders[0].no;
}

/* The node is in the world and is as it says; false: refused, and answered. */
static bool introduce(struct api_call *c, struct peer *p, const struct sync_request *rq)
{
    const struct world *w = turns_world(c->m->turns);
    struct event ev = {.kind = EVENT_NODE_JOIN};
    struct err err = {0};
    if (!info_to_node(w, rq, &ev.u.join.node, &err)) {
        answer_err(c->m, c->req, &err);
        return false;
    }
    const struct node *have = world_node_named(w, str_of(rq->node));
    p->node = have ? have->id : 0;
    ev.u.join.orders_done = rq->info.orders_done;
    for (uint32_t i = 0; i < rq->info.n_devices; i++) {
        const struct sync_device *d = &rq->info.devices[i];
        ev.u.join.errors[i] = (struct device_error){d->xid, d->xid_session, d->xid_kill};
    }
    if (have && same_node(have, &ev.u.join.node) && !orders_moved(have, rq)) return true;
    const struct effects *e = turns_step(c->m->turns, &ev);
    if (e->verdict != VERDICT_OK) {
        answer_verdict(c->m, c->req, e);
        return false;
    }
    p->node = e->node;
    return true;
}

static void report(struct manager *m, const struct peer *p, const struct sync_request *rq,
                   const struct sync_request *list)
{
    struct event ev = {.kind = EVENT_NODE_REPORT};
    ev.u.report = (struct event_report){.node = p->node,
                                        .epoch = rq->epoch,
                                        .seq = rq->seq,
                                        .turn = rq->turn,
                                        .members = list->members.v,
                                        .n_members = list->members.n};
    turns_step(m->turns, &ev);
}

/* ---- the request ---- */

static bool refuse(struct api_call *c, int status, const char *code, const char *field,
                   const char *text)
{
    answer_now(c->m, c->req, status, code, field, text);
    return false;
}

/* Is it of this cluster, and from who it says?  False: answered. */
static bool admit(struct api_call *c, const struct sync_request *rq)
{
    char cn[NODE_NAME_MAX + 16];
    text_fmt(cn, sizeof(cn), "agent:%s", rq->node);
    if (!str_eq(c->req->tls_cn, str_of(cn)))
        return refuse(c, 403, "denied", "node", "the certificate is of another node");
    if (rq->protocol < SYNC_PROTOCOL_MIN || rq->protocol > SYNC_PROTOCOL)
        return refuse(c, 400, "unsupported", "protocol", "this manager speaks protocols 1 and 2");
    if (strcmp(rq->cluster, c->m->cluster) != 0)
        return refuse(c, 409, "conflict", "cluster", "this is another cluster");
    if (!rq->full && (rq->protocol < SYNC_PROTOCOL || rq->list_no == 0))
        return refuse(c, 400, "invalid", "full", "a list that is not sent has a number");
    return true;
}

static void hold(struct peer *p, struct http_req *req, struct said *said, struct said *list)
{
    int64_t poll_ms = said->rq.poll_ms;
    if (poll_ms < BEAT_POLL_MIN_MS) poll_ms = BEAT_POLL_MIN_MS;
    if (poll_ms > BEAT_POLL_MAX_MS) poll_ms = BEAT_POLL_MAX_MS;
    struct held *h = mem_alloc(sizeof(*h));
    *h = (struct held){.peer = p, .req = req, .said = said_keep(said), .list = said_keep(list),
                       .older = p->held};
    p->held = h;
    http_req_on_close(req, on_left, h);
    net_timer_set(p->timer, poll_ms, 0);
}

static bool is_newer(const struct peer *p, const struct sync_request *rq)
{
    return rq->epoch > p->epoch || (rq->epoch == p->epoch && rq->seq > p->seq);
}

/* The node names a list that we do not have: we, or it, began anew. */
static void answer_again(struct api_call *c, struct peer *p, const struct sync_request *rq)
{
    struct sync_answer sa;
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 4096);
    answer_init(c->m, p, rq, 0, &sa);
    sa.list_no = 0;
    sa.again = true;
    wire_print(&wire_sync_answer, &sa, &b);
    wire_free(&wire_sync_answer, &sa);
    c->m->http.by_class[2]++;
    http_reply_json(c->req, 200, strbuf_str(&b));
}

/* With the full list that the request means: its own, or the one that it names. */
static struct said *list_of(struct peer *p, struct said *said)
{
    const struct sync_request *rq = &said->rq, *kept = p->list ? &p->list->rq : NULL;
    if (rq->full) return said;
    if (!kept || kept->epoch != rq->epoch || kept->list_no != rq->list_no) return NULL;
    return strcmp(kept->incarnation, rq->incarnation) == 0 ? p->list : NULL;
}

static void keep_list(struct peer *p, struct said *list)
{
    if (p->list == list) return;
    said_drop(p->list);
    p->list = list->rq.protocol > SYNC_PROTOCOL_MIN ? said_keep(list) : NULL;
}

static void take(struct api_call *c, struct said *said)
{
    const struct sync_request *rq = &said->rq;
    if (!admit(c, rq)) return;
    struct peer *p = peer_of(c->m, rq->node);
    if (!is_newer(p, rq)) {
        refuse(c, 409, "conflict", "seq", "a newer request of this node was seen");
        return;
    }
    struct said *list = list_of(p, said);
    if (!list) {
        answer_again(c, p, rq);
        return;
    }
    if (p->held) answer_superseded(p->held);
    if (p->held && p->held->older) {
        refuse(c, 503, "unavailable", "", "the first answers are on their way");
        return;
    }
    bool same_store = strcmp(rq->incarnation, c->m->incarnation) == 0;
    if (same_store) {
        if (!introduce(c, p, &list->rq)) return;
        report(c->m, p, rq, &list->rq);
        const struct sync_request *all = &list->rq;
        if (rq->used_ms > 0)
            use_take(&p->use, rq, all->members.v, all->members.n, net_now_ms());
    }
    keep_list(p, list);
    p->epoch = rq->epoch;
    p->seq = rq->seq;
    hold(p, c->req, said, list);
    /* What it knows of another incarnation means nothing here, but it has to hear of ours. */
    if (!same_store || rq->need.n > 0 || rq->turn == 0) answer_soon(p);
    else if (rq->turn < p->changed) answer_change(p);
}

void api_agent_sync(struct api_call *c)
{
    struct err err = {0};
    struct said *said = mem_alloc(sizeof(*said));
    if (wire_parse(&wire_sync_request, c->req->body, &said->rq, &err) != 0) {
        answer_err(c->m, c->req, &err);
        mem_free(said);
        return;
    }
    said->refs = 1;
    take(c, said);
    said_drop(said);
}
