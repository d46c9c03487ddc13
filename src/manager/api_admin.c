/* manager/api_admin.c - what this manager is, whether it is well, and its figures. */
#include "base/check.h"
#include "manager/api.h"
#include "wire/objects.h"
#include "wire/snapshot.h"

#define DUMP_MAX ((size_t)256 << 20)

void api_version(struct api_call *c)
{
    struct version_view v;
    wire_init(&wire_version_view, &v);
    TEXT_CLIP(v.version, STR(ROTA_VERSION));
    v.protocol = WIRE_PROTOCOL;
    TEXT_CLIP(v.cluster, str_of(c->m->cluster));
    TEXT_CLIP(v.incarnation, str_of(c->m->incarnation));
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 4096);
    wire_print(&wire_version_view, &v, &b);
    c->m->http.by_class[2]++;
    http_reply_json(c->req, 200, strbuf_str(&b));
}

void api_dump(struct api_call *c)
{
    struct answer *a = answer_new(c->m, c->req, 200);
    strbuf_done(&a->body);
    strbuf_init(&a->body, DUMP_MAX);
    a->content_type = "text/plain; charset=utf-8";
    world_dump(turns_world(c->m->turns), &a->body);
    answer_send(a);
}

void api_snapshot(struct api_call *c)
{
    struct answer *a = answer_new(c->m, c->req, 200);
    struct snapshot_rows rows;
    strbuf_done(&a->body);
    strbuf_init(&a->body, SNAPSHOT_MAX);
    snapshot_take(turns_world(c->m->turns), net_wall_ms(), &rows);
    rows.core_ms = turns_core_ms(c->m->turns);
    wire_print(&wire_snapshot, &rows, &a->body);
    wire_free(&wire_snapshot, &rows);
    answer_send(a);
}

void api_health(struct api_call *c)
{
    c->m->http.by_class[2]++;
    http_reply(c->req, 200, "text/plain", STR("ok\n"));
}

void api_ready(struct api_call *c)
{
    if (turns_accepting(c->m->turns)) {
        api_health(c);
        return;
    }
    answer_now(c->m, c->req, 503, "unavailable", "", "the manager is not taking work now");
}

/* ---- figures ---- */

static void metric(struct strbuf *b, const char *name, const char *type, const char *help)
{
    strbuf_fmt(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void one_u64(struct strbuf *b, const char *name, const char *type, const char *help,
                    uint64_t v)
{
    metric(b, name, type, help);
    strbuf_fmt(b, "%s %llu\n", name, (unsigned long long)v);
}

static void turn_metrics(const struct manager *m, struct strbuf *b)
{
    const struct turn_stats *s = turns_stats(m->turns);
    one_u64(b, "rota_turns_total", "counter", "Turns made durable.", s->turns);
    one_u64(b, "rota_turn_rows_total", "counter", "Rows written by them.", s->rows);
    one_u64(b, "rota_turns_failed_total", "counter", "Turns lost, each with a reload.", s->failed);
    one_u64(b, "rota_steps_total", "counter", "Events decided.", s->steps);
    metric(b, "rota_commit_seconds", "summary", "Time the store took for a turn.");
    strbuf_fmt(b, "rota_commit_seconds_sum %lld.%06lld\nrota_commit_seconds_count %llu\n",
               (long long)(s->commit_us_sum / 1000000), (long long)(s->commit_us_sum % 1000000),
               (unsigned long long)s->turns);
    metric(b, "rota_commit_seconds_max", "gauge", "The slowest since the start.");
    strbuf_fmt(b, "rota_commit_seconds_max %lld.%06lld\n",
               (long long)(s->commit_us_max / 1000000), (long long)(s->commit_us_max % 1000000));
}

static void world_metrics(const struct world *w, struct strbuf *b)
{
    uint32_t by_state[SESSION_STATES] = {0}, nodes = 0, unreachable = 0, cordoned = 0;
    uint32_t rows = 0;
    VEC_EACH(s, &w->sessions)
        if (s->state) by_state[s->state]++;
    VEC_EACH(a, &w->allocs)
        if (a->live) rows++;
    VEC_EACH(n, &w->nodes) {
        if (!n->name[0]) continue;
        nodes++;
        if (n->unreachable || !n->heard) unreachable++;
        if (n->cordoned) cordoned++;
    }
    metric(b, "rota_sessions", "gauge", "Live sessions by state.");
    for (int s = SESSION_PENDING; s < SESSION_ENDED; s++)
        strbuf_fmt(b, "rota_sessions{state=\"%s\"} %u\n",
                   session_state_name((enum session_state)s), by_state[s]);
    one_u64(b, "rota_sessions_submitted_total", "counter", "Sessions ever accepted.",
            w->last_session);
    one_u64(b, "rota_allocations", "gauge", "Live ledger rows.", rows);
    one_u64(b, "rota_nodes", "gauge", "Nodes known.", nodes);
    one_u64(b, "rota_nodes_silent", "gauge", "Nodes not heard from lately.", unreachable);
    one_u64(b, "rota_nodes_cordoned", "gauge", "Nodes that get nothing new.", cordoned);
}

void api_metrics(struct api_call *c)
{
    const struct manager *m = c->m;
    struct answer *a = answer_new(c->m, c->req, 200);
    a->content_type = "text/plain; version=0.0.4";
    turn_metrics(m, &a->body);
    const struct world *w = turns_world(m->turns);
    if (w) world_metrics(w, &a->body);
    one_u64(&a->body, "rota_polls_held", "gauge", "Nodes whose request is held.", beat_held(m));
    one_u64(&a->body, "rota_event_streams", "gauge", "Followers of events.",
            m->events.streams.n);
    one_u64(&a->body, "rota_http_connections", "gauge", "Connections of people.",
            http_server_conns(m->people));
    metric(&a->body, "rota_http_answers_total", "counter", "Answers by class of status.");
    for (int i = 1; i < 6; i++)
        strbuf_fmt(&a->body, "rota_http_answers_total{class=\"%dxx\"} %llu\n", i,
                   (unsigned long long)m->http.by_class[i]);
    answer_send(a);
}
