/* manager/metrics.c - GET /metrics: this manager, its nodes, and what sessions use.
 *
 * Series are bounded: states, groups, nodes and their devices, and the running sessions
 * that the caller may read, METRICS_SESSIONS of them at most; how many were left out is
 * a figure, too. */
#include "core/model/pool.h"
#include "manager/api.h"
#include "manager/use.h"
#include "manager/view.h"
#include "manager/view_use.h"
#include "wire/prom.h"

#define METRICS_SESSIONS 1000

static void turn_metrics(const struct manager *m, struct strbuf *b)
{
    const struct turn_stats *s = turns_stats(m->turns);
    prom_one(b, "rota_turns_total", "counter", "Turns made durable.", (int64_t)s->turns);
    prom_one(b, "rota_turn_rows_total", "counter", "Rows written by them.", (int64_t)s->rows);
    prom_one(b, "rota_turns_failed_total", "counter", "Turns lost, each with a reload.",
             (int64_t)s->failed);
    prom_one(b, "rota_steps_total", "counter", "Events decided.", (int64_t)s->steps);
    prom_family(b, "rota_commit_seconds", "summary", "Time the store took for a turn.");
    prom_put_micro(b, "rota_commit_seconds_sum", NULL, (int64_t)s->commit_us_sum);
    prom_put(b, "rota_commit_seconds_count", NULL, (int64_t)s->turns);
    prom_family(b, "rota_commit_seconds_max", "gauge", "The slowest since the start.");
    prom_put_micro(b, "rota_commit_seconds_max", NULL, (int64_t)s->commit_us_max);
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
    prom_family(b, "rota_sessions", "gauge", "Live sessions by state.");
    for (int s = SESSION_PENDING; s < SESSION_ENDED; s++) {
        const char *name = session_state_name((enum session_state)s);
        prom_put(b, "rota_sessions", (struct prom_label[]){{"state", name}, {NULL, NULL}},
                 by_state[s]);
    }
    prom_one(b, "rota_sessions_submitted_total", "counter", "Sessions ever accepted.",
             (int64_t)w->last_session);
    prom_one(b, "rota_allocations", "gauge", "Live ledger rows.", rows);
    prom_one(b, "rota_nodes", "gauge", "Nodes known.", nodes);
    prom_one(b, "rota_nodes_silent", "gauge", "Nodes not heard from lately.", unreachable);
    prom_one(b, "rota_nodes_cordoned", "gauge", "Nodes that get nothing new.", cordoned);
    prom_family(b, "rota_queue_sessions", "gauge", "Sessions that wait, by group.");
    VEC_EACH(g, &w->groups) {
        uint32_t n = 0;
        if (!g->name[0]) continue;
        pool_entries(w, g->id, &n);
        prom_put(b, "rota_queue_sessions", (struct prom_label[]){{"group", g->name}, {NULL, NULL}},
                 n);
    }
}

/* ---- nodes ---- */

struct node_figure { const char *name, *help; int64_t (*of)(const struct node *n); };

static int64_t node_up(const struct node *n) { return n->heard && !n->unreachable; }
static int64_t cpu_offered(const struct node *n) { return n->capacity.v[SLOT_CPU]; }
static int64_t cpu_given(const struct node *n) { return n->used.v[SLOT_CPU]; }
static int64_t mem_offered(const struct node *n) { return n->capacity.v[SLOT_MEM]; }
static int64_t mem_given(const struct node *n) { return n->used.v[SLOT_MEM]; }

static const struct node_figure node_figures[] = {
    {"rota_node_up", "Heard from lately: 1, else 0.", node_up},
    {"rota_node_cpu_millicores", "CPU that sessions may have.", cpu_offered},
    {"rota_node_cpu_allocated_millicores", "CPU given to sessions.", cpu_given},
    {"rota_node_memory_bytes", "Memory that sessions may have.", mem_offered},
    {"rota_node_memory_allocated_bytes", "Memory given to sessions.", mem_given},
};

static void node_metrics(const struct manager *m, struct strbuf *b)
{
    const struct world *w = turns_world(m->turns);
    for (size_t i = 0; i < ARRAY_LEN(node_figures); i++) {
        const struct node_figure *f = &node_figures[i];
        prom_family(b, f->name, "gauge", f->help);
        VEC_EACH(n, &w->nodes)
            if (n->name[0])
                prom_put(b, f->name, (struct prom_label[]){{"node", n->name}, {NULL, NULL}},
                         f->of(n));
    }
    prom_family(b, "rota_device_healthy", "gauge", "May be given: 1, else 0.");
    VEC_EACH(n, &w->nodes) {
        for (uint32_t d = 0; n->name[0] && d < n->n_devices; d++) {
            char index[16];
            text_fmt(index, sizeof(index), "%u", d);
            const struct prom_label labels[] = {{"node", n->name}, {"device", index},
                                                {"uuid", n->devices[d].uuid}, {NULL, NULL}};
            prom_put(b, "rota_device_healthy", labels, n->devices[d].health == DEVICE_HEALTHY);
        }
    }
}

struct device_figure { const char *name, *help; size_t at; };
#define DEVICE(m) offsetof(struct use_device, m)
static const struct device_figure device_figures[] = {
    {"rota_device_busy_percent", "Time with work on it.", DEVICE(sm_percent)},
    {"rota_device_memory_used_bytes", "Memory in use.", DEVICE(mem_used_bytes)},
    {"rota_device_power_milliwatts", "Power drawn.", DEVICE(power_mw)},
    {"rota_device_temperature_celsius", "Temperature.", DEVICE(temperature_c)},
};

static void device_metrics(const struct manager *m, struct strbuf *b)
{
    const struct world *w = turns_world(m->turns);
    for (size_t i = 0; i < ARRAY_LEN(device_figures); i++) {
        const struct device_figure *f = &device_figures[i];
        prom_family(b, f->name, "gauge", f->help);
        VEC_EACH(n, &w->nodes) {
            const struct use_node *u = n->name[0] ? beat_use(m, str_of(n->name)) : NULL;
            for (uint32_t d = 0; u && d < u->n_devices; d++) {
                char index[16];
                int64_t v;
                memcpy(&v, (const char *)&u->devices[d] + f->at, sizeof(v));
                text_fmt(index, sizeof(index), "%u", u->devices[d].index);
                const struct prom_label labels[] = {{"node", n->name}, {"device", index},
                                                    {NULL, NULL}};
                prom_put(b, f->name, labels, v);
            }
        }
    }
}

/* ---- sessions ---- */

struct session_figures { VEC(struct session_use_view) v; uint32_t left_out; };

static void gather(const struct manager *m, uint32_t user, struct session_figures *f)
{
    const struct world *w = turns_world(m->turns);
    VEC_EACH(s, &w->sessions) {
        if (s->state < SESSION_RUNNING || s->state > SESSION_STOPPING) continue;
        if (!view_may_read(w, user, s)) continue;
        if (f->v.n == METRICS_SESSIONS) f->left_out++;
        else view_session_use(m, s, false, VEC_ADD(&f->v));
    }
}

static void session_metrics(const struct manager *m, uint32_t user, struct strbuf *b)
{
    struct session_figures f = {0};
    gather(m, user, &f);
    static const char *const names[] = {"rota_session_cpu_seconds_total",
                                        "rota_session_memory_bytes", "rota_session_devices"};
    static const char *const helps[] = {"CPU time of all containers in this attempt.",
                                        "Memory of all containers, with cached files.",
                                        "Devices that it holds."};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        prom_family(b, names[i], i == 0 ? "counter" : "gauge", helps[i]);
        VEC_EACH(s, &f.v) {
            const struct prom_label labels[] = {{"session", s->id}, {"owner", s->owner},
                                                {"group", s->group}, {NULL, NULL}};
            if (i == 0) prom_put_micro(b, names[i], labels, s->cpu_us);
            else prom_put(b, names[i], labels, i == 1 ? s->mem_bytes : s->gpu);
        }
    }
    prom_one(b, "rota_session_series_left_out", "gauge", "Running sessions without series.",
             f.left_out);
    VEC_EACH(s, &f.v) wire_free(&wire_session_use_view, s);
    VEC_DONE(&f.v);
}

void api_metrics(struct api_call *c)
{
    const struct manager *m = c->m;
    struct answer *a = answer_new(c->m, c->req, 200);
    struct strbuf *b = &a->body;
    a->content_type = PROM_CONTENT_TYPE;
    turn_metrics(m, b);
    if (turns_world(m->turns)) {
        world_metrics(turns_world(m->turns), b);
        node_metrics(m, b);
        device_metrics(m, b);
        session_metrics(m, c->user, b);
    }
    prom_one(b, "rota_polls_held", "gauge", "Nodes whose request is held.", beat_held(m));
    prom_one(b, "rota_event_streams", "gauge", "Followers of events.", m->events.streams.n);
    prom_one(b, "rota_http_connections", "gauge", "Connections of people.",
             http_server_conns(m->people));
    prom_family(b, "rota_http_answers_total", "counter", "Answers by class of status.");
    for (int i = 1; i < 6; i++) {
        char class[8];
        text_fmt(class, sizeof(class), "%dxx", i);
        const struct prom_label labels[] = {{"class", class}, {NULL, NULL}};
        prom_put(b, "rota_http_answers_total", labels, (int64_t)m->http.by_class[i]);
    }
    answer_send(a);
}
