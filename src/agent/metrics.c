/* agent/metrics.c - see metrics.h. */
#include "agent/metrics.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include "net/addr.h"
#include "net/http_server.h"
#include "wire/prom.h"

#define BODY_MAX ((size_t)8 << 20)
#define CONNS_MAX 8

struct metrics {
    struct http_server *server;
    const struct meters *meters;
    struct link *const *link;
};

struct figure { const char *name, *type, *help; size_t at; bool micro; };
#define METER(m) offsetof(struct meter, m)
static const struct figure figures[] = {
    {"rota_container_cpu_seconds_total", "counter", "CPU time.", METER(cpu_us), true},
    {"rota_container_memory_bytes", "gauge", "Memory now, with cached files.", METER(mem_bytes),
     false},
    {"rota_container_memory_peak_bytes", "gauge", "The most it ever was.", METER(mem_peak_bytes),
     false},
    {"rota_container_pids", "gauge", "Processes and threads now.", METER(pids), false},
    {"rota_container_read_bytes_total", "counter", "From disks.", METER(io_read_bytes), false},
    {"rota_container_written_bytes_total", "counter", "To disks.", METER(io_write_bytes), false},
    {"rota_container_received_bytes_total", "counter", "From the network.", METER(net_rx_bytes),
     false},
    {"rota_container_sent_bytes_total", "counter", "To the network.", METER(net_tx_bytes), false},
};

static void put_container(struct strbuf *b, const struct figure *f, const struct meters_now *now)
{
    char session[24], attempt[16], member[16];
    int64_t v;
    memcpy(&v, (const char *)&now->m + f->at, sizeof(v));
    session_id_format(now->ref.session, session);
    text_fmt(attempt, sizeof(attempt), "%u", now->ref.attempt);
    text_fmt(member, sizeof(member), "%u", now->ref.member);
    const struct prom_label labels[] = {{"session", session}, {"attempt", attempt},
                                        {"member", member}, {NULL, NULL}};
    if (f->micro) prom_put_micro(b, f->name, labels, v);
    else prom_put(b, f->name, labels, v);
}

static void print(const struct metrics *m, struct strbuf *b)
{
    AUTO_FREE struct meters_now *now = NULL;
    uint32_t n = meters_list(m->meters, &now);
    struct link_state s = {0};
    if (*m->link) link_state_get(*m->link, &s);
    prom_one(b, "rota_agent_connected", "gauge", "The manager answered last: 1, else 0.",
             s.connected);
    prom_one(b, "rota_agent_answers_total", "counter", "Of the manager.", (int64_t)s.answers);
    prom_one(b, "rota_agent_failures_total", "counter", "Calls of the manager that failed.",
             (int64_t)s.failures);
    prom_one(b, "rota_agent_containers", "gauge", "That are measured.", n);
    for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
        prom_family(b, figures[i].name, figures[i].type, figures[i].help);
        for (uint32_t k = 0; k < n; k++) put_container(b, &figures[i], &now[k]);
    }
}

static void on_request(void *arg, struct http_req *r)
{
    const struct metrics *m = arg;
    if (r->method != HTTP_GET || !str_eq(r->path, STR("/metrics"))) {
        http_reply_problem(r, 404, "not_found", "there is only GET /metrics here");
        return;
    }
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, BODY_MAX);
    print(m, &b);
    if (b.full) http_reply_problem(r, 500, "limit", "the answer is too long");
    else http_reply(r, 200, PROM_CONTENT_TYPE, strbuf_str(&b));
}

static bool is_loopback(const struct net_addr *a)
{
    if (a->kind == NET_ADDR_UNIX) return true;
    if (a->kind != NET_ADDR_IP) return false;
    if (a->sa.ss_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, &a->sa, sizeof(in));
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 in6;
    memcpy(&in6, &a->sa, sizeof(in6));
    return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

int metrics_open(struct net_loop *loop, const char *listen, const struct meters *meters,
                 struct link *const *link, struct metrics **ret, struct err *err)
{
    struct net_addr a;
    int rc = net_addr_parse(str_of(listen), 0, &a, err);
    if (rc == 0 && !is_loopback(&a))
        rc = err_set(err, ERR_INVALID, "%s is not an address of loopback, such as 127.0.0.1:7414",
                     listen);
    if (rc != 0) return err_prefix(err, "metrics_listen");
    struct metrics *m = mem_alloc(sizeof(*m));
    m->meters = meters;
    m->link = link;
    m->server = http_server_listen(loop, str_of(listen),
                                   &(struct http_server_opts){.conns_max = CONNS_MAX,
                                                              .body_max = 4096},
                                   on_request, m, err);
    if (m->server == NULL) {
        mem_free(m);
        return err_prefix(err, "metrics_listen");
    }
    *ret = m;
    return 0;
}

void metrics_close(struct metrics *m)
{
    if (m == NULL) return;
    http_server_free(m->server);
    mem_free(m);
}

struct str metrics_addr(const struct metrics *m) { return http_server_addr(m->server); }
