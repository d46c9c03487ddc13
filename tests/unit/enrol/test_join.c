/* Joining a scripted manager: the right one alone, once, and nothing half kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster.h"
#include "enrol/join.h"
#include "net/http_server.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/tls.h"
#include "wire/objects.h"

#define SECRET "test-secret"

enum script { GOOD, LOSE_FIRST, UNAUTHORIZED, OTHER_NAME, OTHER_KEY, OTHER_CA, RUBBISH };

struct fixture {
    struct cluster cluster, other;
    struct net_loop *loop;
    struct http_server *server;
    char dir[64], state[96], url[64], token_file[96];
    enum script script;
    uint32_t asked;
    char first_csr_key[64]; /* of the public key: enough to see whether it changed */
};

static char *sign(struct fixture *f, const struct join_request *rq)
{
    struct err err = {0};
    char cn[96], *cert = NULL;
    struct pki_pair pair = {0};
    identity_cn(rq->role, f->script == OTHER_NAME ? "n2" : rq->node, cn, sizeof(cn));
    struct pki_leaf leaf = {.cn = str_of(cn), .days = 1, .server = true, .client = true};
    int rc = f->script == OTHER_KEY ? pki_leaf_create(&f->cluster.ca, PKI_P256, &leaf, &pair, &err)
                                    : pki_csr_sign(&f->cluster.ca, str_of(rq->csr), &leaf, &cert,
                                                   &err);
    if (rc != 0) fail_msg("%s", err.text);
    if (f->script == OTHER_KEY) cert = STEAL(pair.cert);
    pki_pair_done(&pair);
    return cert;
}

static void on_join(void *arg, struct http_req *r)
{
    struct fixture *f = arg;
    struct join_request rq;
    struct join_answer a = {.protocol = 1};
    struct strbuf json;
    struct err err = {0};
    assert_true(str_eq(r->path, STR("/agent/v1/join")));
    if (wire_parse(&wire_join_request, r->body, &rq, &err) != 0) fail_msg("%s", err.text);
    assert_int_equal(strncmp(rq.token, "rota-join-" SECRET ".", sizeof("rota-join-" SECRET)), 0);
    f->asked++;
    a.cert = sign(f, &rq);
    a.ca = mem_strndup(f->script == OTHER_CA ? f->other.ca.cert : f->cluster.ca.cert,
                       strlen(f->script == OTHER_CA ? f->other.ca.cert : f->cluster.ca.cert));
    TEXT_SET(a.cluster, STR(CLUSTER_ID));
    TEXT_SET(a.incarnation, STR(CLUSTER_INCARNATION));
    a.epoch = 41;
    ticket_key_format(f->cluster.ticket_public, a.ticket_key);
    strbuf_init(&json, 65536);
    wire_print(&wire_join_answer, &a, &json);
    if (f->script == UNAUTHORIZED) http_reply_problem(r, 401, "unauthorized", "a wrong token");
    else if (f->script == RUBBISH) http_reply_json(r, 200, STR("{\"cluster\":7}"));
    else if (f->script == LOSE_FIRST && f->asked == 1) {
        http_stream_start(r, 200, "application/json");
        http_stream_abort(r);
    } else http_reply_json(r, 200, strbuf_str(&json));
    strbuf_done(&json);
    wire_free(&wire_join_answer, &a);
    wire_free(&wire_join_request, &rq);
}

static void write_token(struct fixture *f, const struct cluster *of)
{
    struct pki_info ca;
    struct err err;
    char hex[PKI_FINGERPRINT_TEXT], text[256];
    assert_int_equal(pki_cert_info(str_of(of->ca.cert), &ca, &err), 0);
    pki_fingerprint_format(ca.sha256, hex);
    text_fmt(text, sizeof(text), "rota-join-" SECRET ".%s\n", hex);
    assert_int_equal(pki_file_write(f->token_file, str_of(text), 0600, &err), 0);
}

static void fixture_init(struct fixture *f, enum script script)
{
    struct err err = {0};
    struct pki_pair pair = {0};
    struct strbuf chain;
    memset(f, 0, sizeof(*f));
    f->script = script;
    text_fmt(f->dir, sizeof(f->dir), "/tmp/test-join-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    text_fmt(f->state, sizeof(f->state), "%s/deep/state", f->dir);
    text_fmt(f->token_file, sizeof(f->token_file), "%s/token", f->dir);
    cluster_init(&f->cluster);
    cluster_init(&f->other);
    f->loop = net_loop_new();
    struct pki_leaf leaf = {.cn = STR("manager"), .sans = {STR("127.0.0.1")}, .n_sans = 1,
                            .days = 1, .server = true};
    assert_int_equal(pki_leaf_create(&f->cluster.ca, PKI_P256, &leaf, &pair, &err), 0);
    strbuf_init(&chain, 65536);
    strbuf_puts(&chain, pair.cert);
    strbuf_puts(&chain, f->cluster.ca.cert); /* so that a pin finds it */
    struct tls_ctx *tls = tls_server_new(&(struct tls_server_opts){.cert_pem = strbuf_str(&chain),
                                                                   .key_pem = str_of(pair.key)},
                                         &err);
    assert_non_null(tls);
    f->server = http_server_listen(f->loop, STR("127.0.0.1:0"),
                                   &(struct http_server_opts){.tls = tls}, on_join, f, &err);
    assert_non_null(f->server);
    text_fmt(f->url, sizeof(f->url), "https://127.0.0.1:%u", http_server_port(f->server));
    write_token(f, &f->cluster);
    assert_int_equal(identity_dir(f->state, &err), 0);
    tls_ctx_free(tls);
    strbuf_done(&chain);
    pki_pair_done(&pair);
}

static void fixture_done(struct fixture *f)
{
    static const char *const files[] = {"deep/state/node.key", "deep/state/node.crt",
                                        "deep/state/ca.crt", "deep/state/identity.json",
                                        "deep/state", "deep", "token", ""};
    char path[160];
    http_server_free(f->server);
    net_loop_free(f->loop);
    cluster_done(&f->cluster);
    cluster_done(&f->other);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        text_fmt(path, sizeof(path), "%s/%s", f->dir, files[i]);
        remove(path);
    }
}

static int join(struct fixture *f, const char *name, bool with_token, struct identity *id,
                struct err *err)
{
    struct join_opts o = {.dir = f->state, .manager = f->url, .role = "agent", .name = name,
                          .token_file = with_token ? f->token_file : NULL};
    memset(err, 0, sizeof(*err));
    return join_run(f->loop, &o, id, err);
}

static bool has(const struct fixture *f, const char *file, mode_t mode)
{
    char path[160];
    struct stat st;
    text_fmt(path, sizeof(path), "%s/%s", f->state, file);
    return stat(path, &st) == 0 && (st.st_mode & 0777) == mode;
}

static void joins_once_and_keeps_it(void **state)
{
    struct fixture f;
    struct identity id, again;
    struct err err;
    struct tls_ctx *tls = NULL;
    (void)state;
    fixture_init(&f, GOOD);
    if (join(&f, "n1", true, &id, &err) != 0) fail_msg("%s", err.text);
    assert_string_equal(id.name, "n1");
    assert_string_equal(id.cluster, CLUSTER_ID);
    assert_memory_equal(id.ticket_key, f.cluster.ticket_public, sizeof(id.ticket_key));
    assert_true(has(&f, "node.key", 0600));
    assert_true(has(&f, "identity.json", 0600));
    assert_int_equal(join(&f, "n1", false, &again, &err), 0); /* needs no token any more */
    assert_int_equal(id.epoch, 41);
    assert_int_equal(again.epoch, 41);
    assert_int_equal(f.asked, 1);
    assert_memory_equal(again.ticket_key, id.ticket_key, sizeof(id.ticket_key));
    assert_int_equal(identity_client_tls(f.state, false, &tls, &err), 0);
    tls_ctx_free(tls);
    tls = NULL;
    assert_int_equal(identity_server_tls(f.state, &tls, &err), 0);
    tls_ctx_free(tls);
    assert_int_equal(join(&f, "n2", true, &again, &err), ERR_CONFLICT); /* not its directory */
    fixture_done(&f);
}

static void a_lost_answer_is_asked_for_again(void **state)
{
    struct fixture f;
    struct identity id;
    struct err err;
    (void)state;
    fixture_init(&f, LOSE_FIRST);
    if (join(&f, "n1", true, &id, &err) != 0) fail_msg("%s", err.text);
    assert_int_equal(f.asked, 2);
    fixture_done(&f);
}

static void what_ends_it(void **state)
{
    static const struct { enum script script; int code; const char *part; } cases[] = {
        {UNAUTHORIZED, ERR_DENIED, "a wrong token"},
        {OTHER_NAME, ERR_INVALID, "names agent:n2, not agent:n1"},
        {OTHER_KEY, ERR_INVALID, ""},
        {OTHER_CA, ERR_DENIED, "not the one the token names"},
        {RUBBISH, ERR_INVALID, ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        struct identity id = {.name = "untouched"};
        struct err err;
        fixture_init(&f, cases[i].script);
        int rc = join(&f, "n1", true, &id, &err);
        if (rc != cases[i].code) fail_msg("case %zu: %d %s", i, rc, err.text);
        if (strstr(err.text, cases[i].part) == NULL) fail_msg("case %zu: %s", i, err.text);
        if (strstr(err.text, SECRET) != NULL) fail_msg("case %zu tells the secret", i);
        assert_string_equal(id.name, "untouched");
        assert_false(has(&f, "identity.json", 0600));
        fixture_done(&f);
    }
}

static void the_wrong_manager_never_sees_the_token(void **state)
{
    struct fixture f;
    struct identity id;
    struct err err;
    (void)state;
    fixture_init(&f, GOOD);
    write_token(&f, &f.other); /* a token of another cluster */
    int rc = join(&f, "n1", true, &id, &err);
    if (rc >= 0) fail_msg("it was trusted");
    assert_int_equal(f.asked, 0);
    fixture_done(&f);
}

static void tokens(void **state)
{
#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
    static const struct { const char *text; bool good; } cases[] = {
        {"rota-join-abc." HEX, true},  {"rota-join-." HEX, false}, {"rota-join-abc" HEX, false},
        {"abc." HEX, false},           {"rota-join-abc.0011", false}, {"", false},
        {"rota-join-abc." HEX "0", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint8_t pin[32];
        struct err err;
        int rc = join_token_parse(str_of(cases[i].text), pin, &err);
        if ((rc == 0) != cases[i].good) fail_msg("\"%s\"", cases[i].text);
        if (rc == 0) assert_int_equal(pin[1], 0x11);
    }
}

static void a_damaged_identity_is_not_overwritten(void **state)
{
    struct fixture f;
    struct identity id;
    struct err err;
    char path[160];
    (void)state;
    fixture_init(&f, GOOD);
    assert_int_equal(join(&f, "n1", false, &id, &err), ERR_INVALID); /* no token, no identity */
    text_fmt(path, sizeof(path), "%s/identity.json", f.state);
    assert_int_equal(pki_file_write(path, STR("{\"v\":1,"), 0600, &err), 0);
    assert_int_equal(join(&f, "n1", true, &id, &err), ERR_CORRUPT);
    assert_int_equal(f.asked, 0);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joins_once_and_keeps_it),
        cmocka_unit_test(a_lost_answer_is_asked_for_again),
        cmocka_unit_test(what_ends_it),
        cmocka_unit_test(the_wrong_manager_never_sees_the_token),
        cmocka_unit_test(tokens),
        cmocka_unit_test(a_damaged_identity_is_not_overwritten),
    };
    log_setup(LOG_ERROR, LOG_LOGFMT, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
