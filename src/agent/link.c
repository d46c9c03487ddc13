/* agent/link.c - see link.h.
 *
 * Invariants: at most SLOTS calls are under way, each knows its seq; `turn` never
 * falls within one incarnation; `dirty` says that something happened here since
 * the last request was made.  Either a call is under way or a timer is armed.
 * `list` is the last list that was told, `list_no` its number; the manager holds the
 * one numbered `held_no`. */
#include "agent/link.h"
#include <time.h>
#include "agent/meters.h"
#include "base/check.h"
#include "base/rng.h"
#include "host/proc.h"
#include "net/http_client.h"
#include "net/log.h"

#define SLOTS 2
#define SLACK_MS 8000
#define RETRY_MS 200
#define BACKOFF_MAX_MS 5000
#define GATHER_MS 2            /* changes closer together than this share a request */
#define ROWS_A_MS 32           /* a list this long counts for one more: lists are full */
#define GATHER_MAX_MS 1000
#define QUIET_MS 100           /* after an answer that came at once and said nothing */
#define REQUEST_MAX ((size_t)32 << 20)
#define INCARNATION_TRIES 3    /* answers in a row before a new store is believed */

struct slot {
    struct link *link;
    struct http_call *call; /* NULL: free */
    uint64_t seq;
    int64_t sent_ms;
    int64_t sent_boot_ms; /* not after it was sent */
};

struct link {
    struct net_loop *loop;
    struct http_client *client;
    struct net_timer *timer;
    struct slot slots[SLOTS];
    struct link_opts o;
    struct sync_request rq; /* members and need are filled for each request */
    struct strbuf body;
    struct rng rng;
    struct strbuf list, next_list;
    uint64_t list_no, held_no;
    uint64_t wants_no; /* of the wishes that are acted on; 0: send them */
    uint64_t turn, seq;
    bool dirty, connected;
    int64_t last_sent_ms, backoff_ms;
    uint32_t last_members;
    char other[33]; /* incarnation seen instead of ours, and how often in a row */
    uint32_t other_seen;
    uint64_t answers, failures;
};

static void send_now(struct link *s);

static uint32_t under_way(const struct link *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < SLOTS; i++) n += s->slots[i].call != NULL;
    return n;
}

/* Sends after `ms`, or sooner if that is planned already. */
static void send_in(struct link *s, int64_t ms)
{
    if (net_timer_armed(s->timer)) return;
    net_timer_set(s->timer, ms, 0);
}

/* Until the next request may leave: what is said in a second is bounded, however
 * much happens on a node that holds thousands. */
static int64_t gather_ms(const struct link *s)
{
    int64_t gap = GATHER_MS + s->last_members / ROWS_A_MS;
    if (gap > GATHER_MAX_MS) gap = GATHER_MAX_MS;
    int64_t since = net_loop_now_ms(s->loop) - s->last_sent_ms;
    return since >= gap ? 0 : gap - since;
}

static void on_timer(void *arg) { send_now(arg); }

void link_changed(struct link *s)
{
    act_run(s->o.act);
    s->dirty = true;
    if (under_way(s) == SLOTS) return; /* the next answer sends it */
    if (!s->connected && under_way(s) == 0) return; /* backing off: the timer is armed */
    send_in(s, gather_ms(s));
}

void link_set_info(struct link *s, const struct sync_info *info)
{
    if (wire_equal(&wire_sync_info, &s->rq.info, info)) return;
    s->rq.info = *info;
    link_changed(s);
}

/* ---- answers ---- */

/* A store that was restored has a new incarnation.  It is believed after some
 * answers in a row, and costs nothing that runs: what an older one made becomes
 * an orphan, which nobody touches. */
static void other_incarnation(struct link *s, const struct sync_answer *a)
{
    if (strcmp(s->other, a->incarnation) != 0) {
        TEXT_CLIP(s->other, str_of(a->incarnation));
        s->other_seen = 0;
    }
    if (++s->other_seen < INCARNATION_TRIES) return;
    log_event(LOG_WARN, "sync.incarnation", LOG_S("old", s->o.identity.incarnation),
              LOG_S("new", a->incarnation));
    TEXT_CLIP(s->o.identity.incarnation, str_of(a->incarnation));
    TEXT_CLIP(s->rq.incarnation, str_of(a->incarnation));
    s->turn = 0;
    s->wants_no = s->held_no = 0;
    s->other_seen = 0;
    act_set_incarnation(s->o.act, a->incarnation);
    if (s->o.on_incarnation != NULL) s->o.on_incarnation(s->o.arg, &s->o.identity);
}

/* The wishes in full, or a word that they are those we have. */
static int take_wishes(struct link *s, struct sync_answer *a, struct err *err)
{
    if (a->same && (s->wants_no == 0 || a->wants_no != s->wants_no)) {
        s->wants_no = 0; /* the next answer has them in full */
        return err_set(err, ERR_CONFLICT, "an answer names wishes that we do not have");
    }
    s->turn = a->turn;
    s->wants_no = a->wants_no;
    if (a->same) act_apply_same(s->o.act, a);
    else act_apply(s->o.act, a);
    return 0;
}

/* An answer of our manager, news or not, says that it heard us. */
static int take_answer(struct link *s, const struct slot *slot, struct str body, bool *ret_news,
                       struct err *err)
{
    struct sync_answer a;
    uint32_t n_needs;
    int rc = wire_parse(&wire_sync_answer, body, &a, err);
    if (rc != 0) return rc;
    if (a.protocol != SYNC_PROTOCOL) {
        rc = err_set(err, ERR_UNSUPPORTED, "the manager speaks protocol %u, we speak %d",
                     a.protocol, SYNC_PROTOCOL);
    } else if (strcmp(a.cluster, s->o.identity.cluster) != 0) {
        rc = err_set(err, ERR_DENIED, "an answer of another cluster (%s)", a.cluster);
    } else if (strcmp(a.incarnation, s->o.identity.incarnation) != 0) {
        other_incarnation(s, &a);
        rc = err_set(err, ERR_CONFLICT, "an answer of another incarnation of the store");
    } else if (a.again) { /* it was restarted: all has to be said again */
        s->held_no = 0;
        s->dirty = true;
        if (s->o.meters != NULL) meters_again(s->o.meters);
    } else {
        act_answered(s->o.act, slot->sent_boot_ms); /* it has been heard */
    }
    if (rc == 0 && !a.again && a.turn >= s->turn) {
        *ret_news = a.turn > s->turn || a.bodies.n > 0;
        s->other_seen = 0;
        s->held_no = a.list_no;
        log_event(LOG_DEBUG, "wants", LOG_U("turn", a.turn), LOG_U("wants", a.wants.n),
                  LOG_U("bodies", a.bodies.n));
        rc = take_wishes(s, &a, err);
        if (a.n_orders > 0 && s->o.on_orders) s->o.on_orders(s->o.arg, a.orders, a.n_orders);
        act_end_orphans(s->o.act, a.orphans_end.v, a.orphans_end.n);
        act_needs(s->o.act, &n_needs);
        if (n_needs > 0) s->dirty = true; /* ask at once */
    }
    wire_free(&wire_sync_answer, &a);
    return rc;
}

static void failed(struct link *s, const struct err *why)
{
    s->failures++;
    if (s->connected || s->failures == 1 || s->failures % 64 == 0) {
        log_event(LOG_WARN, "sync.failed", LOG_S("manager", s->o.manager), LOG_ERR(why));
    }
    s->connected = false;
    s->dirty = true; /* what the lost call said has to be said again */
    int64_t wait = s->backoff_ms;
    s->backoff_ms = wait * 2 < BACKOFF_MAX_MS ? wait * 2 : BACKOFF_MAX_MS;
    net_timer_set(s->timer, wait / 2 + (int64_t)rng_below(&s->rng, (uint64_t)wait / 2 + 1), 0);
}

static void on_answer(void *arg, const struct http_answer *a)
{
    struct slot *slot = arg;
    struct link *s = slot->link;
    struct err err = {0};
    bool news = false;
    slot->call = NULL;
    int rc = a->status == 0 ? err_set(&err, a->err->code, "%s", a->err->text)
                            : http_answer_err(a, &err);
    if (rc == 0) rc = take_answer(s, slot, a->body, &news, &err);
    if (rc != 0) {
        if (s->o.meters != NULL) meters_again(s->o.meters); /* the last summary may be lost */
        /* Of the older of two it does not matter: the newer one says more.  But what
         * happened since has waited for a free slot, and here is one. */
        bool older = slot->seq < s->seq && under_way(s) > 0;
        if (!older) failed(s, &err);
        else if (s->dirty) send_in(s, gather_ms(s));
        return;
    }
    s->answers++;
    s->backoff_ms = s->o.retry_ms;
    if (!s->connected) {
        s->connected = true;
        net_timer_stop(s->timer); /* a pause after another call's failure is over */
        log_event(LOG_INFO, "sync.connected", LOG_S("manager", s->o.manager),
                  LOG_U("turn", s->turn));
    }
    /* An answer that came at once and told nothing must not make a busy loop. */
    bool quick = net_loop_now_ms(s->loop) - slot->sent_ms < QUIET_MS / 2;
    if (s->dirty) send_in(s, gather_ms(s));
    else if (under_way(s) == 0) send_in(s, quick && !news ? QUIET_MS : 0);
}

/* ---- requests ---- */

/* Numbers the list in s->rq, and decides whether it has to travel: it does until the
 * manager has said that it holds it. */
static void number_list(struct link *s)
{
    struct sync_request only = s->rq;
    only.turn = only.seq = only.list_no = only.wants_no = 0;
    only.full = true;
    memset(&only.need, 0, sizeof(only.need));
    strbuf_reset(&s->next_list);
    wire_print(&wire_sync_request, &only, &s->next_list);
    if (!str_eq(strbuf_str(&s->next_list), strbuf_str(&s->list))) {
        struct strbuf swap = s->list;
        s->list = s->next_list;
        s->next_list = swap;
        s->list_no++;
    }
    s->rq.list_no = s->list_no;
    s->rq.wants_no = s->wants_no;
    s->rq.full = s->turn == 0 || s->held_no != s->list_no;
}

static void print_request(struct link *s)
{
    struct sync_request rq = s->rq;
    if (s->o.meters != NULL) meters_fill(s->o.meters, &rq);
    if (!rq.full) {
        memset(&rq.members, 0, sizeof(rq.members));
        wire_init(&wire_sync_info, &rq.info);
        rq.boot_id[0] = '\0';
    }
    strbuf_reset(&s->body);
    wire_print(&wire_sync_request, &rq, &s->body);
    CHECK(!s->body.full);
}

static void make_request(struct link *s)
{
    struct member_report *list = NULL;
    uint32_t n_needs;
    s->rq.turn = s->turn;
    s->rq.seq = ++s->seq;
    uint32_t n = act_list(s->o.act, &list);
    const struct sync_need *needs = act_needs(s->o.act, &n_needs);
    s->last_members = n;
    CHECK(n <= SYNC_MEMBERS_MAX); /* act refuses to hold more */
    s->rq.members.v = list;
    s->rq.members.n = s->rq.members.cap = n;
    for (uint32_t i = 0; i < n; i++) {
        log_event(LOG_DEBUG, "report", LOG_U("seq", s->seq), LOG_U("session", list[i].ref.session),
                  LOG_U("attempt", list[i].ref.attempt), LOG_U("member", list[i].ref.member),
                  LOG_S("phase", member_phase_name(list[i].phase)));
    }
    s->rq.need.v = (struct sync_need *)(uintptr_t)needs;
    s->rq.need.n = n_needs;
    number_list(s);
    print_request(s);
    mem_free(list);
    memset(&s->rq.members, 0, sizeof(s->rq.members));
    memset(&s->rq.need, 0, sizeof(s->rq.need));
}

static void send_now(struct link *s)
{
    struct slot *slot = NULL;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (s->slots[i].call == NULL) slot = &s->slots[i];
    }
    net_timer_stop(s->timer);
    if (slot == NULL) return; /* the next answer sends */
    slot->sent_boot_ms = proc_boot_ms();
    make_request(s);
    s->dirty = false;
    s->last_sent_ms = net_loop_now_ms(s->loop);
    slot->seq = s->seq;
    slot->sent_ms = s->last_sent_ms;
    slot->call = http_call(s->client,
                           &(struct http_request){.method = "POST",
                                                  .target = STR("/agent/v1/sync"),
                                                  .content_type = "application/json",
                                                  .body = strbuf_str(&s->body),
                                                  .timeout_ms = s->rq.poll_ms + s->o.slack_ms},
                           on_answer, slot);
}

/* ---- life ---- */

static void request_init(struct link *s)
{
    struct sync_request *rq = &s->rq;
    rq->protocol = SYNC_PROTOCOL;
    TEXT_CLIP(rq->cluster, str_of(s->o.identity.cluster));
    TEXT_CLIP(rq->incarnation, str_of(s->o.identity.incarnation));
    TEXT_CLIP(rq->node, str_of(s->o.identity.name));
    TEXT_CLIP(rq->boot_id, str_of(s->o.boot_id));
    rq->epoch = s->o.epoch;
    rq->info = s->o.info;
    rq->poll_ms = s->o.poll_ms > 0 ? s->o.poll_ms : NODE_BEAT_MS;
}

struct link *link_new(struct net_loop *loop, const struct link_opts *o, struct err *err)
{
    struct http_client *client = http_client_new(
        loop, str_of(o->manager),
        &(struct http_client_opts){.tls = o->tls, .conns_max = SLOTS, .body_max = REQUEST_MAX},
        err);
    if (client == NULL) return NULL;
    struct link *s = mem_alloc(sizeof(*s));
    s->loop = loop;
    s->client = client;
    s->o = *o;
    if (s->o.slack_ms <= 0) s->o.slack_ms = SLACK_MS;
    s->o.manager = mem_strndup(o->manager, strlen(o->manager));
    s->timer = net_timer_new(loop, on_timer, s);
    s->rng.state = (uint64_t)time(NULL) ^ o->epoch << 20 ^ (uint64_t)(uintptr_t)s;
    if (s->o.retry_ms <= 0) s->o.retry_ms = RETRY_MS;
    s->backoff_ms = s->o.retry_ms;
    for (uint32_t i = 0; i < SLOTS; i++) s->slots[i].link = s;
    strbuf_init(&s->body, REQUEST_MAX);
    strbuf_init(&s->list, REQUEST_MAX);
    strbuf_init(&s->next_list, REQUEST_MAX);
    request_init(s);
    send_in(s, 0);
    return s;
}

void link_free(struct link *s)
{
    if (s == NULL) return;
    http_client_free(s->client); /* cancels what is under way */
    net_timer_free(s->timer);
    strbuf_done(&s->body);
    strbuf_done(&s->list);
    strbuf_done(&s->next_list);
    mem_free((char *)(uintptr_t)s->o.manager);
    mem_free(s);
}

void link_state_get(const struct link *s, struct link_state *ret)
{
    *ret = (struct link_state){.connected = s->connected, .turn = s->turn, .seq = s->seq,
                               .answers = s->answers, .failures = s->failures};
}
