/* enrol/renew.c - see renew.h. */
#include "enrol/renew.h"
#include <time.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http_client.h"
#include "net/log.h"
#include "net/tls.h"
#include "wire/objects.h"

#define RETRY_MS 60000
#define LOOK_MS (60 * 60 * INT64_C(1000)) /* clocks are set, files are replaced */

struct renew {
    struct net_loop *loop;
    struct net_timer *timer;
    struct tls_ctx *tls;
    struct http_client *client;
    char dir[IDENTITY_PATH_MAX], cn[PKI_CN_MAX + 1];
    int64_t retry_ms;
    void (*on_renewed)(void *arg);
    void *arg;
    enum renew_state told; /* so that each is said once */
};

enum renew_state renew_state_of(const struct pki_info *cert, int64_t now_s, int64_t *ret_due_s)
{
    *ret_due_s = cert->not_after - (cert->not_after - cert->not_before) / 3;
    if (now_s < cert->not_before) return RENEW_EARLY;
    if (now_s > cert->not_after) return RENEW_OVER;
    return now_s >= *ret_due_s ? RENEW_DUE : RENEW_FRESH;
}

static int cert_path(const struct renew *r, char ret[IDENTITY_PATH_MAX], struct err *err)
{
    return identity_path(r->dir, "node.crt", ret, err);
}

static int read_cert(const struct renew *r, struct pki_info *ret, struct err *err)
{
    char path[IDENTITY_PATH_MAX];
    AUTO_FREE char *text = NULL;
    int rc = cert_path(r, path, err);
    if (rc == 0) rc = pki_file_read(path, &text, err);
    return rc == 0 ? pki_cert_info(str_of(text), ret, err) : rc;
}

static int read_key(const struct renew *r, char **ret, struct err *err)
{
    char path[IDENTITY_PATH_MAX];
    int rc = identity_path(r->dir, "node.key", path, err);
    return rc == 0 ? pki_file_read(path, ret, err) : rc;
}

/* What came must serve here and now, or the old one stays. */
static int check(const struct renew *r, char *cert, struct err *err)
{
    struct pki_info info;
    int64_t due_s, now_s = time(NULL);
    char *key = NULL;
    int rc = pki_cert_info(str_of(cert), &info, err);
    if (rc != 0) return rc;
    if (strcmp(info.cn, r->cn) != 0)
        return err_set(err, ERR_INVALID, "the certificate names %s, not %s", info.cn, r->cn);
    enum renew_state state = renew_state_of(&info, now_s, &due_s);
    if (state == RENEW_EARLY)
        return err_set(err, ERR_INVALID, "the certificate is valid in %lld s: this machine's clock "
                       "is behind the manager's", (long long)(info.not_before - now_s));
    if (state == RENEW_OVER)
        return err_set(err, ERR_INVALID, "the certificate ended %lld s ago: this machine's clock "
                       "is ahead of the manager's", (long long)(now_s - info.not_after));
    rc = read_key(r, &key, err);
    if (rc == 0) rc = pki_pair_check(&(struct pki_pair){.cert = cert, .key = key}, err);
    pki_key_free(key);
    return rc;
}

static int keep(struct renew *r, struct str body, struct err *err)
{
    char path[IDENTITY_PATH_MAX];
    struct renew_answer a;
    int rc = wire_parse(&wire_renew_answer, body, &a, err);
    if (rc != 0) return rc;
    rc = check(r, a.cert, err);
    if (rc == 0) rc = cert_path(r, path, err);
    if (rc == 0) rc = pki_file_write(path, str_of(a.cert), 0644, err);
    if (rc == 0) rc = tls_ctx_reload(r->tls, err);
    wire_free(&wire_renew_answer, &a);
    return rc;
}

static void failed(struct renew *r, const struct err *err)
{
    log_event(LOG_WARN, "certificate.renew", LOG_ERR(err));
    net_timer_set(r->timer, r->retry_ms, 0);
}

static void on_answer(void *arg, const struct http_answer *a)
{
    struct renew *r = arg;
    struct err err = {0};
    int rc = a->status == 0 ? err_set(&err, a->err->code, "%s", a->err->text)
                            : http_answer_err(a, &err);
    if (rc == 0) rc = keep(r, a->body, &err);
    if (rc != 0) {
        failed(r, &err);
        return;
    }
    log_event(LOG_INFO, "certificate.renewed", LOG_S("name", r->cn));
    /* Not at once: one that is due as soon as it comes must not make a busy loop. */
    net_timer_set(r->timer, r->retry_ms, 0);
    r->on_renewed(r->arg);
}

static int ask(struct renew *r, struct err *err)
{
    AUTO_FREE char *csr = NULL;
    AUTO_STRBUF struct strbuf body;
    char *key = NULL;
    strbuf_init(&body, PKI_PEM_MAX);
    int rc = read_key(r, &key, err);
    if (rc == 0) rc = pki_csr_new(key, str_of(r->cn), &csr, err);
    pki_key_free(key);
    if (rc != 0) return rc;
    wire_print(&wire_renew_request, &(struct renew_request){.csr = csr}, &body);
    http_call(r->client,
              &(struct http_request){.method = "POST", .target = STR("/agent/v1/renew"),
                                     .content_type = "application/json",
                                     .body = strbuf_str(&body), .timeout_ms = 15000},
              on_answer, r);
    return 0;
}

static void tell(struct renew *r, enum renew_state state, const struct pki_info *cert, int64_t now)
{
    if (r->told == state) return;
    r->told = state;
    if (state == RENEW_EARLY)
        log_event(LOG_ERROR, "certificate.clock", LOG_I("valid_in_s", cert->not_before - now),
                  LOG_S("error", "our certificate is not valid yet: our clock is behind"));
    else if (state == RENEW_OVER)
        log_event(LOG_ERROR, "certificate.over", LOG_I("since_s", now - cert->not_after),
                  LOG_S("error", "our certificate has ended, or this machine's clock is ahead: set "
                                 "it right, or remove identity.json and join with a new token"));
}

static void on_timer(void *arg)
{
    struct renew *r = arg;
    struct pki_info cert;
    struct err err = {0};
    int64_t due_s, now_s = time(NULL);
    if (read_cert(r, &cert, &err) != 0) {
        failed(r, &err);
        return;
    }
    enum renew_state state = renew_state_of(&cert, now_s, &due_s);
    tell(r, state, &cert, now_s);
    if (state == RENEW_DUE) {
        if (ask(r, &err) != 0) failed(r, &err);
        return;
    }
    int64_t wait_ms = state == RENEW_FRESH && due_s - now_s < LOOK_MS / 1000
                          ? (due_s - now_s) * 1000 : LOOK_MS;
    net_timer_set(r->timer, wait_ms, 0);
}

struct renew *renew_new(struct net_loop *loop, const struct renew_opts *o, struct err *err)
{
    struct tls_ctx *tls = NULL;
    if (identity_client_tls(o->dir, false, &tls, err) != 0) return NULL;
    struct http_client *client = http_client_new(
        loop, str_of(o->manager),
        &(struct http_client_opts){.tls = tls, .conns_max = 1, .body_max = PKI_PEM_MAX * 2}, err);
    if (client == NULL) {
        tls_ctx_free(tls);
        return NULL;
    }
    struct renew *r = mem_alloc(sizeof(*r));
    r->loop = loop;
    r->tls = tls;
    r->client = client;
    TEXT_CLIP(r->dir, str_of(o->dir));
    identity_cn(o->identity->role, o->identity->name, r->cn, sizeof(r->cn));
    r->retry_ms = o->retry_ms > 0 ? o->retry_ms : RETRY_MS;
    r->on_renewed = o->on_renewed;
    r->arg = o->arg;
    r->timer = net_timer_new(loop, on_timer, r);
    net_timer_set(r->timer, 0, 0);
    return r;
}

void renew_free(struct renew *r)
{
    if (r == NULL) return;
    http_client_free(r->client);
    net_timer_free(r->timer);
    tls_ctx_free(r->tls);
    mem_free(r);
}
