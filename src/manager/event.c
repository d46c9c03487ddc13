/* manager/event.c - followers of history.
 *
 * Invariant: a stream has been sent exactly the entries up to its cursor that it
 * wants.  `live` says that its cursor is at the last durable turn: the next turn
 * is sent from memory.  Otherwise it is read up from the store, one page a time,
 * whenever its queue is short. */
#include "manager/event.h"
#include "base/check.h"
#include "manager/api.h"
#include "manager/view.h"

#define PAGE 200

struct event_stream {
    struct manager *m;
    struct http_req *req;
    struct event_filter filter;
    struct event_cursor at;
    bool live;
};

bool event_cursor_parse(struct str text, struct event_cursor *ret)
{
    struct str turn;
    uint64_t no, index;
    if (!str_cut(&text, '.', &turn) || !str_to_u64(turn, &no) || !str_to_u64(text, &index))
        return false;
    if (index > UINT32_MAX || no > INT64_MAX) return false;
    *ret = (struct event_cursor){no, (uint32_t)index};
    return true;
}

static bool is_after(struct event_cursor a, struct event_cursor b)
{
    return a.turn > b.turn || (a.turn == b.turn && a.index > b.index);
}

/* ---- sending ---- */

/* False: the queue is long enough. */
static bool send_entry(struct event_stream *s, struct event_cursor at, const struct history *h,
                       const char *session_name)
{
    struct event_view v;
    view_event(s->m, at.turn, at.index, h, session_name, &v);
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 8192);
    wire_print(&wire_event_view, &v, &b);
    s->at = at;
    return http_sse_event(s->req, str_of(v.id), str_of(v.event), strbuf_str(&b));
}

/* Whose session an entry is about, and what it is called; owner 0: of none. */
struct about { uint32_t owner; char name[SESSION_NAME_MAX + 1]; };

static void about_of(struct manager *m, uint64_t id, struct about *ret)
{
    const struct world *w = turns_world(m->turns);
    const struct session *s = id && w ? world_session(w, id) : NULL;
    struct session_row stored;
    *ret = (struct about){.owner = 0};
    if (id && !s && store_read_session(m->reader, id, &stored, NULL) == 0) s = &stored.session;
    if (!s) return;
    ret->owner = s->user;
    TEXT_CLIP(ret->name, str_of(s->name));
}

static bool wanted(const struct event_stream *s, const struct about *about)
{
    return s->filter.owner == 0 || s->filter.owner == about->owner;
}

/* Reads up from the store until the queue is long or the end is reached. */
static void catch_up(struct event_stream *s)
{
    bool more = true;
    while (more && !s->live) {
        struct store_events rows = {0};
        struct store_after after = {s->at.turn, s->at.index, s->filter.session, PAGE};
        struct err err = {0};
        if (store_read_history(s->m->reader, &after, &rows, &err) != 0) {
            log_event(LOG_ERROR, "events.read", LOG_ERR(&err));
            http_stream_abort(STEAL(s->req)); /* it resumes by its last id */
            VEC_DONE(&rows.v);
            return;
        }
        VEC_EACH(e, &rows.v) {
            struct about about;
            about_of(s->m, e->history.session, &about);
            s->at = (struct event_cursor){e->turn, e->index};
            if (wanted(s, &about)) more = send_entry(s, s->at, &e->history, about.name);
        }
        if (rows.v.n < PAGE) s->live = true;
        VEC_DONE(&rows.v);
    }
}

static void forget(struct event_stream *s)
{
    struct events *all = &s->m->events;
    for (uint32_t i = 0; i < all->streams.n; i++) {
        if (all->streams.v[i] != s) continue;
        VEC_REMOVE(&all->streams, i);
        break;
    }
    if (all->streams.n == 0 && all->quiet) net_timer_stop(all->quiet);
    mem_free(s);
}

static void on_left(struct http_req *req, void *arg)
{
    struct event_stream *s = arg;
    CHECK(s->req == req);
    forget(s);
}

static void on_drain(struct http_req *req, void *arg)
{
    struct event_stream *s = arg;
    CHECK(s->req == req);
    if (s->live) return;
    catch_up(s);
    if (!s->req) forget(s);
}

static void on_quiet(void *arg)
{
    struct manager *m = arg;
    VEC_EACH(s, &m->events.streams)
        if (http_stream_queued((*s)->req) == 0) http_sse_comment((*s)->req, STR("quiet"));
}

/* ---- for others ---- */

bool event_follow(struct manager *m, struct http_req *req, struct event_filter filter,
                  struct event_cursor after)
{
    struct events *all = &m->events;
    if (all->streams.n >= EVENT_STREAMS_MAX) return false;
    struct event_stream *s = mem_alloc(sizeof(*s));
    *s = (struct event_stream){.m = m, .req = req, .filter = filter, .at = after};
    VEC_PUSH(&all->streams, s);
    http_sse_start(req);
    http_req_on_close(req, on_left, s);
    http_stream_on_drain(req, on_drain, s);
    if (!all->quiet) all->quiet = net_timer_new(m->loop, on_quiet, m);
    if (!net_timer_armed(all->quiet)) net_timer_set(all->quiet, EVENT_QUIET_MS, EVENT_QUIET_MS);
    catch_up(s);
    if (!s->req) forget(s);
    return true;
}

/* As this turn's own rows say, else as about_of. */
static void about_in(struct manager *m, const struct turn_batch *b, uint64_t id,
                     struct about *ret)
{
    VEC_EACH(op, &b->turn.ops) {
        if (op->kind != STORE_PUT_SESSION || op->u.session.id != id) continue;
        ret->owner = op->u.session.user;
        TEXT_CLIP(ret->name, str_of(op->u.session.name));
        return;
    }
    about_of(m, id, ret);
}

static void publish(struct manager *m, const struct turn_batch *b, struct event_cursor at,
                    const struct history *h)
{
    struct about about = {.owner = 0};
    bool known = false;
    VEC_EACH(p, &m->events.streams) {
        struct event_stream *s = *p;
        uint64_t only = s->filter.session;
        if (!s->live || (only && only != h->session) || !is_after(at, s->at)) continue;
        if (!known && h->session) about_in(m, b, h->session, &about);
        known = true;
        /* A slow reader goes back to the store: its queue stays short. */
        if (wanted(s, &about) && !send_entry(s, at, h, about.name)) s->live = false;
    }
}

void event_durable(struct manager *m, const struct turn_batch *b)
{
    if (m->events.streams.n == 0) return;
    struct event_cursor at = {b->turn.no, 0};
    VEC_EACH(op, &b->turn.ops) {
        if (op->kind != STORE_ADD_HISTORY) continue;
        publish(m, b, at, &op->u.history);
        at.index++;
    }
}

void event_lost(struct manager *m)
{
    struct events *all = &m->events;
    while (all->streams.n > 0) {
        struct event_stream *s = all->streams.v[all->streams.n - 1];
        http_req_on_close(s->req, NULL, NULL);
        http_stream_end(s->req);
        forget(s);
    }
}

void events_done(struct manager *m)
{
    VEC_EACH(s, &m->events.streams) mem_free(*s);
    VEC_DONE(&m->events.streams);
    if (m->events.quiet) net_timer_free(m->events.quiet);
    m->events.quiet = NULL;
}
