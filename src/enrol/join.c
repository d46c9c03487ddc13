/* enrol/join.c - see join.h.
 *
 * The key is written before the manager is asked and used again when the answer
 * got lost; identity.json is written last. */
#include "enrol/join.h"
#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include "base/mem.h"
#include "base/rng.h"
#include "net/http_client.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/pki.h"
#include "net/tls.h"
#include "wire/objects.h"

#define TOKEN_MAX 512
#define BACKOFF_FIRST_MS 200
#define BACKOFF_MAX_MS 5000

int join_token_parse(struct str token, uint8_t ret_ca_sha256[32], struct err *err)
{
    struct str secret, rest = token;
    const struct str prefix = STR("rota-join-");
    if (token.n > TOKEN_MAX || !str_starts(token, prefix) || !str_cut(&rest, '.', &secret) ||
        secret.n <= prefix.n || !pki_fingerprint_parse(rest, ret_ca_sha256)) {
        return err_set(err, ERR_INVALID,
                       "this is no join token: expected rota-join-SECRET.FINGERPRINT");
    }
    return 0;
}

static int token_read(const char *file, char **ret, uint8_t pin[32], struct err *err)
{
    char *text = NULL;
    int rc = pki_file_read(file, &text, err);
    if (rc != 0) return rc;
    struct str t = str_trim(str_of(text));
    while (t.n > 0 && (t.p[t.n - 1] == '\n' || t.p[t.n - 1] == '\r')) t.n--;
    rc = join_token_parse(t, pin, err);
    if (rc == 0) *ret = mem_strndup(t.p, t.n);
    else err_prefix(err, "%s", file);
    pki_key_free(text);
    return rc;
}

/* The key of dir, made if need be. */
static int key_ready(const char *dir, char **ret, struct err *err)
{
    char path[IDENTITY_PATH_MAX];
    struct stat st;
    int rc = identity_path(dir, "node.key", path, err);
    if (rc != 0) return rc;
    if (stat(path, &st) == 0) return pki_file_read(path, ret, err);
    if (errno != ENOENT) return err_sys(err, ERR_IO, errno, "%s", path);
    char *key = NULL;
    rc = pki_key_new(PKI_P256, &key, err);
    if (rc != 0) return rc;
    rc = pki_file_write(path, str_of(key), 0600, err);
    if (rc != 0) {
        pki_key_free(key);
        return rc;
    }
    *ret = key;
    return 0;
}

/* ---- one attempt ---- */

struct join_try {
    bool done;
    struct err err; /* code 0: answer holds what came */
    struct join_answer answer;
};

static void on_answer(void *arg, const struct http_answer *a)
{
    struct join_try *t = arg;
    t->done = true;
    if (a->status == 0) {
        t->err = *a->err;
        if (t->err.code != ERR_DENIED && t->err.code != ERR_INVALID) t->err.code = ERR_UNAVAILABLE;
        return;
    }
    if (http_answer_err(a, &t->err) != 0) {
        if (a->status >= 500 || a->status == 429) t->err.code = ERR_UNAVAILABLE;
        return;
    }
    (void)wire_parse(&wire_join_answer, a->body, &t->answer, &t->err);
}

static void try_once(struct net_loop *loop, const char *manager, struct tls_ctx *tls,
                     struct str body, struct join_try *t)
{
    struct http_client *client = http_client_new(
        loop, str_of(manager), &(struct http_client_opts){.tls = tls, .conns_max = 1}, &t->err);
    if (client == NULL) return;
    http_call(client,
              &(struct http_request){.method = "POST", .target = STR("/agent/v1/join"),
                                     .content_type = "application/json", .body = body,
                                     .timeout_ms = 15000},
              on_answer, t);
    net_loop_run_until(loop, &t->done, -1);
    http_client_free(client);
}

static void pause_ms(struct net_loop *loop, int64_t ms)
{
    bool never = false;
    net_loop_run_until(loop, &never, ms);
}

static int ask(struct net_loop *loop, const struct join_opts *o, struct tls_ctx *tls,
               struct str body, struct join_answer *ret, struct err *err)
{
    int64_t wait = BACKOFF_FIRST_MS;
    struct rng rng = {.state = (uint64_t)time(NULL) ^ (uint64_t)(uintptr_t)o};
    for (uint32_t n = 1;; n++) {
        struct join_try t = {0};
        try_once(loop, o->manager, tls, body, &t);
        if (t.err.code == 0) {
            *ret = t.answer;
            return 0;
        }
        if (t.err.code != ERR_UNAVAILABLE) {
            return err_set(err, t.err.code, "join %s: %s", o->manager, t.err.text);
        }
        if (n == 1 || n % 12 == 0) {
            log_event(LOG_WARN, "join.wait", LOG_S("manager", o->manager), LOG_ERR(&t.err));
        }
        pause_ms(loop, wait / 2 + (int64_t)rng_below(&rng, (uint64_t)wait));
        wait = wait * 2 < BACKOFF_MAX_MS ? wait * 2 : BACKOFF_MAX_MS;
    }
}

/* ---- what came back ---- */

static int answer_check(const struct join_opts *o, const char *key, const struct join_answer *a,
                        struct identity *id, struct err *err)
{
    struct pki_info info;
    char cn[PKI_CN_MAX + 1];
    if (a->cert == NULL || a->ca == NULL) return err_set(err, ERR_INVALID, "no certificate came");
    int rc = pki_cert_info(str_of(a->cert), &info, err);
    if (rc != 0) return rc;
    identity_cn(o->role, o->name, cn, sizeof(cn));
    if (strcmp(info.cn, cn) != 0) {
        return err_set(err, ERR_INVALID, "the certificate names %s, not %s", info.cn, cn);
    }
    rc = pki_pair_check(&(struct pki_pair){.cert = a->cert, .key = (char *)(uintptr_t)key}, err);
    if (rc != 0) return rc;
    if (!ticket_key_parse(str_of(a->ticket_key), id->ticket_key)) {
        return err_set(err, ERR_INVALID, "the key of tickets is malformed");
    }
    TEXT_CLIP(id->role, str_of(o->role));
    TEXT_CLIP(id->name, str_of(o->name));
    TEXT_CLIP(id->cluster, str_of(a->cluster));
    TEXT_CLIP(id->incarnation, str_of(a->incarnation));
    id->epoch = a->epoch;
    return 0;
}

static int ca_check(const struct join_answer *a, const uint8_t pin[32], struct err *err)
{
    struct pki_info ca;
    int rc = pki_cert_info(str_of(a->ca), &ca, err);
    if (rc != 0) return rc;
    if (memcmp(ca.sha256, pin, sizeof(ca.sha256)) != 0) {
        return err_set(err, ERR_DENIED, "the authority that came is not the one the token names");
    }
    return 0;
}

static int answer_keep(const char *dir, const struct join_answer *a, const struct identity *id,
                       struct err *err)
{
    char path[IDENTITY_PATH_MAX];
    int rc = identity_path(dir, "ca.crt", path, err);
    if (rc == 0) rc = pki_file_write(path, str_of(a->ca), 0644, err);
    if (rc == 0) rc = identity_path(dir, "node.crt", path, err);
    if (rc == 0) rc = pki_file_write(path, str_of(a->cert), 0644, err);
    if (rc == 0) rc = identity_save(dir, id, err);
    return rc;
}

static int join_now(struct net_loop *loop, const struct join_opts *o, const char *token,
                    const uint8_t pin[32], struct identity *ret, struct err *err)
{
    struct join_request rq = {.protocol = WIRE_PROTOCOL, .token = (char *)(uintptr_t)token};
    struct join_answer answer = {0};
    struct identity id = {0};
    struct tls_client_opts tls_opts = {.has_pin = true};
    AUTO_FREE char *csr = NULL;
    char *key = NULL, cn[PKI_CN_MAX + 1];
    AUTO_STRBUF struct strbuf body;

    strbuf_init(&body, PKI_PEM_MAX);
    if (!TEXT_SET(rq.node, str_of(o->name)) || !TEXT_SET(rq.role, str_of(o->role))) {
        return err_set(err, ERR_INVALID, "the name %.70s is too long", o->name);
    }
    int rc = key_ready(o->dir, &key, err);
    if (rc != 0) return rc;
    identity_cn(o->role, o->name, cn, sizeof(cn));
    rc = pki_csr_new(key, str_of(cn), &csr, err);
    struct tls_ctx *tls = NULL;
    if (rc == 0) {
        memcpy(tls_opts.pin, pin, sizeof(tls_opts.pin));
        tls = tls_client_new(&tls_opts, err);
        if (tls == NULL) rc = ERR_IO;
    }
    if (rc == 0) {
        rq.csr = csr;
        wire_print(&wire_join_request, &rq, &body);
        rc = ask(loop, o, tls, strbuf_str(&body), &answer, err);
    }
    if (rc == 0) rc = answer_check(o, key, &answer, &id, err);
    if (rc == 0) rc = ca_check(&answer, pin, err);
    if (rc == 0) rc = answer_keep(o->dir, &answer, &id, err);
    if (rc == 0) *ret = id;
    wire_free(&wire_join_answer, &answer);
    if (body.p != NULL) mem_zero_secret(body.p, body.n); /* it held the token */
    tls_ctx_free(tls);
    pki_key_free(key);
    return rc;
}

int join_run(struct net_loop *loop, const struct join_opts *o, struct identity *ret,
             struct err *err)
{
    struct identity id;
    struct err why = {0};
    uint8_t pin[32];
    char *token = NULL;

    int rc = identity_load(o->dir, &id, &why);
    if (rc == 0) {
        if (strcmp(id.name, o->name) != 0 || strcmp(id.role, o->role) != 0) {
            return err_set(err, ERR_CONFLICT, "%s belongs to %s:%s, not to %s:%s", o->dir, id.role,
                           id.name, o->role, o->name);
        }
        *ret = id;
        return 0;
    }
    if (rc != ERR_NOT_FOUND) return err_set(err, rc, "%s", why.text);
    if (o->token_file == NULL) {
        return err_set(err, ERR_INVALID,
                       "this %s has not joined a cluster: give --join-token-file FILE", o->role);
    }
    rc = token_read(o->token_file, &token, pin, err);
    if (rc != 0) return rc;
    rc = join_now(loop, o, token, pin, ret, err);
    pki_key_free(token); /* wiped: it is a secret, too */
    if (rc == 0) {
        log_event(LOG_INFO, "join.done", LOG_S("name", o->name),
                  LOG_S("cluster", ret->cluster));
    }
    return rc;
}
