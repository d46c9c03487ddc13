/* bench/load/fleet.c - many agents in one process: the agents' own code, with drivers that
 * run nothing, each with a certificate and a connection of its own.
 *
 *     fleet MANAGER_URL DIR COUNT
 *
 * DIR/N/token (N from 0) are join tokens.  Says "ready" when all have joined and were
 * answered, and beats until its input ends; then how many answers came. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "agent/link.h"
#include "enrol/join.h"
#include "net/log.h"
#include "net/tls.h"

struct member_node { /* one of the fleet */
    struct driver driver;
    struct bodies *bodies;
    struct act *act;
    struct link *link;
};

static _Noreturn void give_up(const char *what, uint32_t at, const struct err *err)
{
    fprintf(stderr, "fleet: node %u: %s: %s\n", at, what, err->text);
    exit(1);
}

static void on_change(void *arg)
{
    struct member_node *n = arg;
    if (n->link) link_changed(n->link);
}

static void begin(struct net_loop *loop, const char *manager, const char *dir, uint32_t at,
                  struct member_node *n)
{
    char own[256], token[300], name[32];
    struct err err = {0};
    struct tls_ctx *tls = NULL;
    struct link_opts o = {.manager = manager, .epoch = 1};
    text_fmt(own, sizeof(own), "%.200s/%u", dir, at);
    text_fmt(token, sizeof(token), "%s/token", own);
    text_fmt(name, sizeof(name), "n%u", at);
    struct join_opts join = {.dir = own, .manager = manager, .token_file = token,
                             .role = "agent", .name = name};
    if (join_run(loop, &join, &o.identity, &err) != 0) give_up("join", at, &err);
    struct driver_config c = {.state_dir = "/nonexistent", .on_change = on_change, .arg = n};
    if (fake_driver_new(loop, &c, &n->driver, &err) != 0 ||
        bodies_open(NULL, &n->bodies, &err) != 0 ||
        identity_client_tls(own, false, &tls, &err) != 0)
        give_up("start", at, &err);
    n->act = act_new(&n->driver, n->bodies, o.identity.incarnation);
    o.act = n->act;
    o.tls = tls;
    TEXT_CLIP(o.boot_id, STR("bench"));
    TEXT_CLIP(o.info.version, STR("bench"));
    TEXT_CLIP(o.info.group, STR("default"));
    TEXT_CLIP(o.info.data_addr, STR("127.0.0.1:9"));
    o.info.cpu_milli = 64000;
    o.info.mem_bytes = INT64_C(256) << 30;
    n->link = link_new(loop, &o, &err);
    tls_ctx_free(tls);
    if (!n->link) give_up("link", at, &err);
}

static uint64_t answers(const struct member_node *v, uint32_t n, uint32_t *ret_connected)
{
    uint64_t sum = 0;
    *ret_connected = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct link_state s;
        link_state_get(v[i].link, &s);
        sum += s.answers;
        *ret_connected += s.connected;
    }
    return sum;
}

static bool at_end;
static void on_input(void *arg, int events)
{
    char buf[64];
    (void)arg;
    (void)events;
    if (read(STDIN_FILENO, buf, sizeof(buf)) <= 0) at_end = true;
}

int main(int argc, char **argv)
{
    uint64_t count;
    uint32_t connected = 0;
    const bool never = false;
    if (argc != 4 || !str_to_u64(str_of(argv[3]), &count) || count < 1 || count > 10000) {
        fprintf(stderr, "Usage: fleet MANAGER_URL DIR COUNT\n");
        return 2;
    }
    log_setup(LOG_ERROR, LOG_LOGFMT, "fleet");
    struct net_loop *loop = net_loop_new();
    struct member_node *v = mem_array((uint32_t)count, sizeof(*v));
    for (uint32_t i = 0; i < count; i++) begin(loop, argv[1], argv[2], i, &v[i]);
    while (connected < count) {
        net_loop_run_until(loop, &never, 100);
        answers(v, (uint32_t)count, &connected);
    }
    struct net_watch *watch = net_watch_new(loop, STDIN_FILENO, on_input, NULL);
    net_watch_set(watch, NET_READ);
    printf("ready\n");
    fflush(stdout);
    uint64_t before = answers(v, (uint32_t)count, &connected);
    net_loop_run_until(loop, &at_end, -1);
    uint64_t after = answers(v, (uint32_t)count, &connected);
    printf("%llu answers, %u of %llu connected\n", (unsigned long long)(after - before), connected,
           (unsigned long long)count);
    return connected == count ? 0 : 1; /* the rest ends with the process */
}
