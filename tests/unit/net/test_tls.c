/* Who is let in: server and client certificates, pins, names, versions, and that
 * a cut connection never looks like one that ended. */
#include "net/tls.h"

#include "net/http_client.h"
#include "net/http_server.h"
#include "net/pki.h"
#include "test.h"

static struct pki_pair ca, other_ca, server_pair, node_pair, stranger_pair;
static char *server_chain; /* with the CA behind it, for pins */

static void leaf(const struct pki_pair *by, const char *cn, bool server, struct pki_pair *ret)
{
    struct err err = {0};
    const struct pki_leaf l = {.cn = str_of(cn), .sans = {STR("localhost"), STR("127.0.0.1")},
                               .n_sans = 2, .days = 2, .server = server, .client = !server};
    if (pki_leaf_create(by, PKI_P256, &l, ret, &err) != 0) fail_msg("%s", err.text);
}

static int make_certs(void **state)
{
    (void)state;
    assert_int_equal(pki_ca_create(STR("ca"), 10, PKI_P256, &ca, NULL), 0);
    assert_int_equal(pki_ca_create(STR("other ca"), 10, PKI_ED25519, &other_ca, NULL), 0);
    leaf(&ca, "manager", true, &server_pair);
    leaf(&ca, "node-1", false, &node_pair);
    leaf(&other_ca, "node-1", false, &stranger_pair);
    struct strbuf b;
    strbuf_init(&b, 1 << 16);
    strbuf_puts(&b, server_pair.cert);
    strbuf_puts(&b, ca.cert);
    server_chain = strbuf_steal(&b);
    strbuf_done(&b);
    return 0;
}

static int free_certs(void **state)
{
    (void)state;
    pki_pair_done(&ca);
    pki_pair_done(&other_ca);
    pki_pair_done(&server_pair);
    pki_pair_done(&node_pair);
    pki_pair_done(&stranger_pair);
    mem_free(server_chain);
    return 0;
}

/* ---- one connection between two contexts ---- */

struct world {
    struct net_loop *loop;
    struct net_listener *listener;
    struct net_conn_opts accept;
    struct raw near, far;
    bool accepted;
    char addr[64];
};

static void on_accept(void *arg, int fd)
{
    struct world *w = arg;
    raw_init(&w->far);
    w->accepted = true;
    w->far.conn = net_conn_adopt_fd(w->loop, fd, true, &w->accept, &raw_ops, &w->far);
}

static void world_open(struct world *w, struct tls_ctx *server)
{
    *w = (struct world){.loop = net_loop_new(), .accept = {.tls = server}};
    w->listener = net_listen(w->loop, STR("127.0.0.1:0"), NULL, on_accept, w, NULL);
    assert_non_null(w->listener);
    assert_true(TEXT_SET(w->addr, net_listener_addr(w->listener)));
}

static void world_close(struct world *w)
{
    raw_done(&w->near);
    raw_done(&w->far);
    net_listener_close(w->listener);
    net_loop_free(w->loop);
}

static struct tls_ctx *make_server(bool ask, bool require)
{
    struct err err = {0};
    struct tls_server_opts o = {.cert_pem = str_of(server_chain),
                                .key_pem = str_of(server_pair.key), .client_required = require};
    if (ask) o.client_ca_pem = str_of(ca.cert);
    struct tls_ctx *t = tls_server_new(&o, &err);
    if (t == NULL) fail_msg("%s", err.text);
    return t;
}

static void pin_of(const char *cert, struct tls_client_opts *o)
{
    struct pki_info info;
    assert_int_equal(pki_cert_info(str_of(cert), &info, NULL), 0);
    o->has_pin = true;
    memcpy(o->pin, info.sha256, sizeof(o->pin));
}

enum trust { TRUST_CA, TRUST_OTHER, PIN_CA, PIN_LEAF, PIN_OTHER, PIN_OTHER_AND_CA, TRUST_SYSTEM };
enum mine { NO_CERT, NODE_CERT, STRANGER_CERT, SERVER_CERT };

static struct tls_ctx *make_client(enum trust trust, enum mine mine, bool skip_name)
{
    struct tls_client_opts o = {.skip_name = skip_name};
    if (trust == TRUST_CA || trust == PIN_OTHER_AND_CA) o.ca_pem = str_of(ca.cert);
    if (trust == TRUST_OTHER) o.ca_pem = str_of(other_ca.cert);
    if (trust == PIN_CA) pin_of(ca.cert, &o);
    if (trust == PIN_LEAF) pin_of(server_pair.cert, &o);
    if (trust == PIN_OTHER || trust == PIN_OTHER_AND_CA) pin_of(other_ca.cert, &o);
    const struct pki_pair *p = NULL;
    if (mine == NODE_CERT) p = &node_pair;
    if (mine == STRANGER_CERT) p = &stranger_pair;
    if (mine == SERVER_CERT) p = &server_pair;
    if (p != NULL) {
        o.cert_pem = str_of(p->cert);
        o.key_pem = str_of(p->key);
    }
    struct err err = {0};
    struct tls_ctx *t = tls_client_new(&o, &err);
    if (t == NULL) fail_msg("%s", err.text);
    return t;
}

static void who_is_let_in(void **state)
{
    (void)state;
    static const struct {
        const char *case_name;
        bool ask, require;
        enum trust trust;
        enum mine mine;
        const char *name; /* what the client expects */
        bool skip_name, ok;
        const char *cn;   /* what the server sees */
    } rows[] = {
        {"CA", false, false, TRUST_CA, NO_CERT, NULL, false, true, ""},
        {"CA and DNS name", false, false, TRUST_CA, NO_CERT, "localhost", false, true, ""},
        {"wrong name", false, false, TRUST_CA, NO_CERT, "elsewhere", false, false, ""},
        {"wrong address", false, false, TRUST_CA, NO_CERT, "127.0.0.2", false, false, ""},
        {"common name is no name", false, false, TRUST_CA, NO_CERT, "manager", false, false, ""},
        {"any name", false, false, TRUST_CA, NO_CERT, "elsewhere", true, true, ""},
        {"other CA", false, false, TRUST_OTHER, NO_CERT, NULL, false, false, ""},
        {"system CAs", false, false, TRUST_SYSTEM, NO_CERT, NULL, false, false, ""},
        {"pinned CA", false, false, PIN_CA, NO_CERT, NULL, false, true, ""},
        {"pinned CA, wrong name", false, false, PIN_CA, NO_CERT, "elsewhere", false, false, ""},
        {"pinned leaf", false, false, PIN_LEAF, NO_CERT, "elsewhere", false, true, ""},
        {"pin of another", false, false, PIN_OTHER, NO_CERT, NULL, false, false, ""},
        {"a pin outranks a CA", false, false, PIN_OTHER_AND_CA, NO_CERT, NULL, false, false, ""},
        {"mutual", true, true, TRUST_CA, NODE_CERT, NULL, false, true, "node-1"},
        {"mutual with a pin", true, true, PIN_CA, NODE_CERT, NULL, false, true, "node-1"},
        {"required and missing", true, true, TRUST_CA, NO_CERT, NULL, false, false, ""},
        {"asked and missing", true, false, TRUST_CA, NO_CERT, NULL, false, true, ""},
        {"asked and given", true, false, TRUST_CA, NODE_CERT, NULL, false, true, "node-1"},
        {"a stranger, same name", true, true, TRUST_CA, STRANGER_CERT, NULL, false, false, ""},
        {"a stranger where optional", true, false, TRUST_CA, STRANGER_CERT, NULL, false, false, ""},
        {"not asked: not believed", false, false, TRUST_CA, STRANGER_CERT, NULL, false, true, ""},
        {"a server's certificate as a client", true, true, TRUST_CA, SERVER_CERT, NULL, false,
         false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world w;
        struct tls_ctx *server = make_server(rows[i].ask, rows[i].require);
        struct tls_ctx *client = make_client(rows[i].trust, rows[i].mine, rows[i].skip_name);
        const struct net_conn_opts opts = {.tls = client, .tls_name = rows[i].name};
        world_open(&w, server);
        raw_dial(w.loop, &w.near, str_of(w.addr), &opts);
        raw_send(&w.near, "hello");
        WAIT(w.loop, w.accepted && (w.far.closed || w.near.closed || has(&w.far.got, "hello")));
        bool ok = has(&w.far.got, "hello");
        if (ok != rows[i].ok)
            fail_msg("%s: near '%s', far '%s'", rows[i].case_name, w.near.why.text, w.far.why.text);
        if (ok) {
            assert_true(str_eq(net_conn_peer_cn(w.far.conn), str_of(rows[i].cn)));
            assert_true(net_conn_is_tls(w.far.conn));
        } else {
            WAIT(w.loop, w.near.closed); /* the client learns it too */
            assert_int_not_equal(w.near.why.code, 0);
        }
        world_close(&w);
        tls_ctx_free(server);
        tls_ctx_free(client);
    }
}

/* Opens a connection that is allowed. */
static void open_pair(struct world *w)
{
    struct tls_ctx *server = make_server(false, false), *client = make_client(TRUST_CA, NO_CERT, 0);
    const struct net_conn_opts opts = {.tls = client};
    world_open(w, server);
    raw_dial(w->loop, &w->near, str_of(w->addr), &opts);
    WAIT(w->loop, w->near.open && w->accepted && w->far.open);
    w->accept.tls = NULL;
    tls_ctx_free(server); /* the connection keeps its own reference */
    tls_ctx_free(client);
}

static void bytes_and_ends(void **state)
{
    (void)state;
    struct world w;
    open_pair(&w);
    size_t n = 8 * 1024 * 1024;
    char *p = mem_array(n, 1);
    for (size_t i = 0; i < n; i++) p[i] = (char)(i * 31 >> 3);
    net_conn_pause(w.far.conn);
    assert_false(net_conn_write(w.near.conn, str_n(p, n)));
    raw_send(&w.far, "meanwhile");
    WAIT(w.loop, has(&w.near.got, "meanwhile"));
    net_conn_resume(w.far.conn);
    WAIT(w.loop, w.far.got.n == n);
    assert_memory_equal(w.far.got.p, p, n);
    assert_int_equal(w.near.drained, 1);
    mem_free(p);
    net_conn_shutdown(w.near.conn);
    WAIT(w.loop, w.far.eof);
    raw_send(&w.far, "after the end");
    WAIT(w.loop, has(&w.near.got, "after the end"));
    net_conn_shutdown(w.far.conn);
    WAIT(w.loop, w.near.closed && w.far.closed);
    assert_int_equal(w.near.why.code, 0);
    world_close(&w);
}

static void paused_over_the_end(void **state)
{
    (void)state;
    struct world w;
    open_pair(&w);
    net_conn_pause(w.far.conn);
    raw_send(&w.near, "kept");
    net_conn_finish(STEAL(w.near.conn));
    test_turns(w.loop, 10);
    assert_int_equal(w.far.got.n, 0);
    net_conn_resume(w.far.conn);
    WAIT(w.loop, w.far.eof);
    assert_string_equal(w.far.got.p, "kept");
    world_close(&w);
}

static void a_cut_is_no_end(void **state)
{
    (void)state;
    struct world w;
    open_pair(&w);
    raw_send(&w.near, "half");
    WAIT(w.loop, has(&w.far.got, "half"));
    net_conn_close(STEAL(w.near.conn)); /* no close_notify */
    WAIT(w.loop, w.far.closed);
    assert_false(w.far.eof);
    assert_int_equal(w.far.why.code, ERR_IO);
    world_close(&w);
}

static void plain_bytes_to_tls(void **state)
{
    (void)state;
    struct world w;
    struct tls_ctx *server = make_server(false, false);
    world_open(&w, server);
    raw_dial(w.loop, &w.near, str_of(w.addr), NULL);
    raw_send(&w.near, "GET / HTTP/1.1\r\n\r\n");
    WAIT(w.loop, w.accepted && w.far.closed);
    assert_int_equal(w.far.why.code, ERR_IO);
    assert_false(w.far.open);
    world_close(&w);
    /* And one who connects and says nothing does not stay. */
    world_open(&w, server);
    w.accept.connect_ms = 20;
    raw_dial(w.loop, &w.near, str_of(w.addr), NULL);
    WAIT(w.loop, w.accepted && w.far.closed);
    assert_int_equal(w.far.why.code, ERR_TIMEOUT);
    world_close(&w);
    tls_ctx_free(server);
}

static void bad_settings(void **state)
{
    (void)state;
    struct err err = {0};
    struct tls_server_opts s = {.cert_pem = str_of(server_pair.cert)};
    assert_null(tls_server_new(&s, &err)); /* no key */
    s.key_pem = str_of(node_pair.key);
    assert_null(tls_server_new(&s, &err)); /* another's key */
    s.key_pem = STR("nonsense");
    assert_null(tls_server_new(&s, &err));
    s.key_pem = str_of(server_pair.key);
    s.client_required = true;
    assert_null(tls_server_new(&s, &err)); /* nothing to check clients by */
    assert_int_equal(err.code, ERR_INVALID);
    const struct tls_server_opts missing = {.cert_file = "/nonexistent/c",
                                            .key_file = "/nonexistent/k"};
    assert_null(tls_server_new(&missing, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    const struct tls_client_opts c = {.ca_pem = STR("nonsense")};
    assert_null(tls_client_new(&c, &err));
    assert_int_equal(err.code, ERR_INVALID);
}

static void reloads(void **state)
{
    (void)state;
    char dir[] = "/tmp/rota-test-tls-XXXXXX", cert[80], key[80];
    struct err err = {0};
    assert_non_null(mkdtemp(dir));
    text_fmt(cert, sizeof(cert), "%s/c", dir);
    text_fmt(key, sizeof(key), "%s/k", dir);
    assert_int_equal(pki_pair_write(&server_pair, cert, key, &err), 0);
    const struct tls_server_opts o = {.cert_file = cert, .key_file = key};
    struct tls_ctx *t = tls_server_new(&o, &err);
    assert_non_null(t);
    assert_int_equal(pki_file_write(cert, STR("broken"), 0644, &err), 0);
    assert_int_equal(tls_ctx_reload(t, &err), ERR_INVALID);
    struct tls_ctx *client = make_client(TRUST_CA, NO_CERT, false);
    const struct net_conn_opts opts = {.tls = client};
    struct world w;
    world_open(&w, t);
    raw_dial(w.loop, &w.near, str_of(w.addr), &opts);
    WAIT(w.loop, w.near.open); /* the old one is still in force */
    struct pki_pair fresh = {0};
    leaf(&other_ca, "fresh", true, &fresh);
    assert_int_equal(pki_pair_write(&fresh, cert, key, &err), 0);
    assert_int_equal(tls_ctx_reload(t, &err), 0);
    raw_send(&w.near, "goes on");
    WAIT(w.loop, has(&w.far.got, "goes on"));
    raw_done(&w.far);
    raw_done(&w.near);
    raw_dial(w.loop, &w.near, str_of(w.addr), &opts);
    WAIT(w.loop, w.near.closed); /* now the new one, of a CA that is not trusted */
    assert_int_equal(w.near.why.code, ERR_DENIED);
    world_close(&w);
    pki_pair_done(&fresh);
    tls_ctx_free(client);
    tls_ctx_free(t);
    unlink(cert);
    unlink(key);
    rmdir(dir);
}

/* near -(TLS)- far = relay = near2 -(plain)- far2: copied, with back-pressure. */
struct second {
    struct net_loop *loop;
    struct raw far2;
};

static void on_accept2(void *arg, int fd)
{
    struct second *s = arg;
    raw_init(&s->far2);
    s->far2.conn = net_conn_adopt_fd(s->loop, fd, true, NULL, &raw_ops, &s->far2);
}

static void relayed(void **state)
{
    (void)state;
    struct world w;
    struct second second = {0};
    struct raw near2;
    open_pair(&w);
    second.loop = w.loop;
    struct net_listener *l =
        net_listen(w.loop, STR("127.0.0.1:0"), NULL, on_accept2, &second, NULL);
    raw_dial(w.loop, &near2, net_listener_addr(l), NULL);
    WAIT(w.loop, near2.open && second.far2.conn != NULL);
    struct net_relay *r =
        net_conn_relay(STEAL(w.far.conn), STEAL(near2.conn), 0, NULL, NULL);
    size_t n = 16 * 1024 * 1024;
    char *p = mem_array(n, 1);
    for (size_t i = 0; i < n; i++) p[i] = (char)(i * 2654435761u >> 13);
    net_conn_pause(second.far2.conn);
    (void)net_conn_write(w.near.conn, str_n(p, n));
    (void)net_conn_write(second.far2.conn, str_n(p, n));
    WAIT(w.loop, w.near.got.n == n); /* one direction does not wait for the other */
    assert_true(net_conn_queued(w.near.conn) > 0);
    net_conn_resume(second.far2.conn);
    WAIT(w.loop, second.far2.got.n == n);
    assert_memory_equal(w.near.got.p, p, n);
    assert_memory_equal(second.far2.got.p, p, n);
    net_conn_close(STEAL(w.near.conn)); /* a cut on the TLS side resets the plain one */
    WAIT(w.loop, second.far2.closed);
    assert_int_equal(second.far2.why.code, ERR_IO);
    (void)r; /* gone with its connections */
    mem_free(p);
    net_listener_close(l);
    raw_done(&second.far2);
    raw_done(&near2);
    world_close(&w);
}

/* ---- HTTP over it ---- */

static void handler(void *arg, struct http_req *r)
{
    (void)arg;
    assert_true(r->is_tls);
    http_reply(r, 200, "text/plain", r->tls_cn);
}

static void on_done(void *arg, const struct http_answer *a)
{
    if (a->err != NULL) fail_msg("%s", a->err->text);
    strbuf_put(arg, a->body);
}

static void https(void **state)
{
    (void)state;
    struct err err = {0};
    struct net_loop *loop = net_loop_new();
    struct http_server_opts so = {.tls = make_server(true, true)};
    struct http_client_opts co = {.tls = make_client(PIN_CA, NODE_CERT, false)};
    struct http_server *s = http_server_listen(loop, STR("127.0.0.1:0"), &so, handler, NULL, &err);
    assert_non_null(s);
    char origin[64];
    text_fmt(origin, sizeof(origin), "https://127.0.0.1:%u", (unsigned)http_server_port(s));
    struct http_client *c = http_client_new(loop, str_of(origin), &co, &err);
    assert_non_null(c);
    struct strbuf got;
    strbuf_init(&got, 1000);
    const struct http_request rq = {.method = "GET", .target = STR("/")};
    (void)http_call(c, &rq, on_done, &got);
    WAIT(loop, got.n == 6);
    (void)http_call(c, &rq, on_done, &got);
    WAIT(loop, got.n == 12);
    assert_string_equal(got.p, "node-1node-1");
    assert_int_equal(http_server_conns(s), 1);
    strbuf_done(&got);
    http_client_free(c);
    http_server_free(s);
    tls_ctx_free(so.tls);
    tls_ctx_free(co.tls);
    net_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_let_in), cmocka_unit_test(bytes_and_ends),
        cmocka_unit_test(paused_over_the_end), cmocka_unit_test(a_cut_is_no_end),
        cmocka_unit_test(plain_bytes_to_tls), cmocka_unit_test(bad_settings),
        cmocka_unit_test(reloads), cmocka_unit_test(relayed), cmocka_unit_test(https),
    };
    return cmocka_run_group_tests(tests, make_certs, free_certs);
}
