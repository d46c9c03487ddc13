/* cli/forward.c - `rota port-forward`: a port of this machine's loopback that leads to one
 * inside a session.
 *
 * Each connection gets a ticket of its own: it finds the session where it is then, also
 * after it was restarted elsewhere.  What one connection meets ends no other, but when
 * the session has ended there is nothing left to lead to. */
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/carry.h"
#include "cli/say.h"
#include "cli/verb.h"
#include "net/conn.h"

enum { KEY_MEMBER = 300, LINKS_MAX = 256 };

struct forward_args {
    struct common common;
    const char *session;
    bool has_ports;
    uint16_t local, remote;
    uint64_t member;
};

struct forward {
    struct forward_args *args;
    struct net_listener *listener;
    struct carry *asking; /* at the start: may we at all? */
    struct link *first;
    uint32_t live;
    char query[24];
    int code;
    bool done;
};

struct link { /* one connection; carry until it is joined, then relay */
    struct forward *f;
    struct link *next, *prev;
    struct net_conn *local;
    struct carry *carry;
    struct net_relay *relay;
};

static const struct argp_option options[] = {
    {"member", KEY_MEMBER, "N", 0, "To this container of a gang (default 0)", 1}, {0}};
static const char doc[] =
    "Listen on this machine's loopback and pass connections on to a port inside a session. "
    "LOCAL is the same port unless given; 0 takes any that is free. Ctrl-C ends it.\v"
    "Examples:\n"
    "  rota port-forward lab 8888\n"
    "  rota port-forward lab 9000:6006";

static bool parse_ports(struct forward_args *a, struct str text)
{
    struct str rest = text, head = {0};
    uint64_t local = 0, remote = 0;
    bool both = str_cut(&rest, ':', &head);
    if (!str_to_u64(both ? rest : text, &remote)) return false;
    if (remote == 0 || remote > UINT16_MAX) return false;
    local = remote;
    if (both && (!str_to_u64(head, &local) || local > UINT16_MAX)) return false;
    a->local = (uint16_t)local;
    a->remote = (uint16_t)remote;
    return true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct forward_args *a = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->common; return 0;
    case KEY_MEMBER:
        if (!str_to_u64(str_of(arg), &a->member) || a->member >= SESSION_MEMBERS_MAX)
            argp_error(state, "--member %s: expected a number from 0 to 511", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (!a->session) a->session = arg;
        else if (a->has_ports) argp_error(state, "%s: one port at a time", arg);
        else if (parse_ports(a, str_of(arg))) a->has_ports = true;
        else argp_error(state, "%s: expected [LOCAL:]REMOTE, ports from 1 to 65535", arg);
        return 0;
    case ARGP_KEY_END:
        if (!a->session) argp_error(state, "which session? give its id or name");
        if (!a->has_ports) argp_error(state, "which port? give it after the session");
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&verb_common_argp, 0, NULL, 0}, {0}};
static const struct argp forward_argp = {options, parse, "SESSION [LOCAL:]REMOTE", doc, children,
                                         0, 0};

/* ---- one connection ---- */

static void link_free(struct link *l)
{
    struct forward *f = l->f;
    if (l->prev) l->prev->next = l->next;
    else f->first = l->next;
    if (l->next) l->next->prev = l->prev;
    if (f->live-- == LINKS_MAX) net_listener_pause(f->listener, false);
    carry_free(l->carry);
    if (l->local) net_conn_abort(l->local);
    if (l->relay) net_relay_close(l->relay);
    mem_free(l);
}

static void on_relay_done(void *arg, const struct net_relay_result *r)
{
    struct link *l = arg;
    (void)r; /* each side has seen for itself whether it was whole */
    l->relay = NULL;
    link_free(l);
}

static void on_local_close(struct net_conn *conn, const struct err *why, void *arg)
{
    struct link *l = arg;
    (void)conn, (void)why;
    l->local = NULL;
    link_free(l);
}

static const struct net_conn_ops local_ops = {.on_close = on_local_close};

static void on_raw(void *arg, struct net_conn *conn)
{
    struct link *l = arg;
    struct net_conn *local = l->local;
    l->local = NULL;
    l->relay = net_conn_relay(local, conn, 0, on_relay_done, l);
    carry_free(l->carry);
    l->carry = NULL;
}

static bool is_over(const char *code)
{
    return strcmp(code, "ended") == 0 || strcmp(code, "not_found") == 0;
}

static void on_over(void *arg, const char *code, const struct err *why)
{
    struct link *l = arg;
    struct forward *f = l->f;
    say("%s", why->text);
    link_free(l);
    if (!is_over(code)) return;
    f->code = EXIT_FAILED;
    f->done = true;
}

static const struct carry_ops link_callbacks = {.on_raw = on_raw, .on_over = on_over};

static void on_accept(void *arg, int fd)
{
    struct forward *f = arg;
    const struct forward_args *a = f->args;
    struct link *l = mem_alloc(sizeof(*l));
    l->f = f;
    l->next = f->first;
    if (f->first) f->first->prev = l;
    f->first = l;
    if (++f->live == LINKS_MAX) net_listener_pause(f->listener, true);
    l->local = net_conn_adopt_fd(a->common.loop, fd, true, NULL, &local_ops, l);
    net_conn_pause(l->local);
    struct carry_target t = {a->session, (uint32_t)a->member, "port", f->query, false};
    l->carry = carry_open(a->common.api, &t, &link_callbacks, l);
}

/* ---- all of them ---- */

static void on_may(void *arg, struct net_conn *conn)
{
    struct forward *f = arg;
    struct str at = net_listener_addr(f->listener);
    AUTO_STRBUF struct strbuf b;
    CHECK(conn == NULL);
    strbuf_init(&b, 512);
    strbuf_fmt(&b, "%.*s leads to port %u of %s\n", (int)at.n, at.p, f->args->remote,
               f->args->session);
    say_out(strbuf_str(&b));
    net_listener_pause(f->listener, false);
}

static void on_may_not(void *arg, const char *code, const struct err *why)
{
    struct forward *f = arg;
    (void)code;
    f->code = say_err(why, EXIT_FAILED);
    f->done = true;
}

static const struct carry_ops ask_callbacks = {.on_raw = on_may, .on_over = on_may_not};

static void on_signal(void *arg, int signum)
{
    struct forward *f = arg;
    (void)signum;
    f->done = true;
}

static int run(struct forward_args *a)
{
    struct forward f = {.args = a};
    struct net_loop *loop = a->common.loop;
    struct net_signal *signals[2];
    static const int kinds[] = {SIGINT, SIGTERM};
    struct err err = {0};
    char at[32];
    text_fmt(at, sizeof(at), "127.0.0.1:%u", a->local);
    text_fmt(f.query, sizeof(f.query), "port=%u", a->remote);
    f.listener = net_listen(loop, str_of(at), NULL, on_accept, &f, &err);
    if (!f.listener) return say_err(&err, EXIT_FAILED);
    net_listener_pause(f.listener, true);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        signals[i] = net_signal_new(loop, kinds[i], on_signal, &f);
    struct carry_target t = {a->session, (uint32_t)a->member, "port", "", true};
    f.asking = carry_open(a->common.api, &t, &ask_callbacks, &f);
    (void)net_loop_run_until(loop, &f.done, -1);
    while (f.first) link_free(f.first);
    net_listener_close(f.listener);
    carry_free(f.asking);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) net_signal_free(signals[i]);
    return f.code;
}

int verb_port_forward(int argc, char **argv)
{
    struct forward_args a = {0};
    verb_parse(&forward_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.common)) return EXIT_FAILED;
    int code = run(&a);
    verb_close(&a.common);
    return code;
}
