/* wire/ticket.c - see ticket.h.  The signature is checked before a byte of the
 * JSON is looked at; what is looked at was therefore written by a manager. */
#include "wire/ticket.h"
#include <sodium.h>
#include "base/check.h"
#include "base/mem.h"
#include "wire/table.h"

_Static_assert(TICKET_KEY_PUBLIC == crypto_sign_PUBLICKEYBYTES, "Ed25519 public key");
_Static_assert(TICKET_KEY_SECRET == crypto_sign_SECRETKEYBYTES, "Ed25519 secret key");

#define JSON_MAX 768 /* the longest texts, their every byte escaped, still fit */
#define B64URL sodium_base64_VARIANT_URLSAFE_NO_PADDING

struct ticket_doc {
    uint32_t v;
    struct ticket t;
};

static const struct wire_name action_names[] = {
    {TICKET_LOGS, "logs"}, {TICKET_EXEC, "exec"}, {TICKET_ATTACH, "attach"},
    {TICKET_PORT, "port"}, {0, NULL},
};
_Static_assert(ARRAY_LEN(action_names) == TICKET_ACTIONS, "each action has its name");

static const struct wire_field ticket_fields[] = {
    WIRE_F_U32(struct ticket_doc, v, "v", .flags = WIRE_REQUIRED, .min = 1, .max = 1,
               .doc = "form of this ticket"),
    WIRE_F_U64(struct ticket_doc, t.session, "session", .flags = WIRE_REQUIRED,
               .doc = "session it is for"),
    WIRE_F_U32(struct ticket_doc, t.attempt, "attempt", .flags = WIRE_REQUIRED,
               .doc = "and its attempt"),
    WIRE_F_U32(struct ticket_doc, t.member, "member", .flags = WIRE_REQUIRED,
               .doc = "and the container"),
    WIRE_F_TEXT(struct ticket_doc, t.node, "node", .flags = WIRE_REQUIRED,
                .doc = "node that holds the container"),
    WIRE_F_TEXT(struct ticket_doc, t.addr, "addr", .flags = WIRE_REQUIRED,
                .doc = "data port of that node"),
    WIRE_F_ENUM(struct ticket_doc, t.action, "action", action_names, .flags = WIRE_REQUIRED,
                .doc = "what it permits"),
    WIRE_F_U32(struct ticket_doc, t.user, "uid", .flags = WIRE_REQUIRED,
               .doc = "whom it was made for"),
    WIRE_F_I64(struct ticket_doc, t.exp_s, "exp", .flags = WIRE_REQUIRED,
               .doc = "Unix time after which it is void"),
    WIRE_F_TEXT(struct ticket_doc, t.cluster, "cluster", .flags = WIRE_REQUIRED,
                .doc = "cluster it belongs to"),
};
static const struct wire_table ticket_table =
    WIRE_TABLE("ticket", struct ticket_doc, ticket_fields, .max_bytes = JSON_MAX);

static void sodium_ready(void)
{
    int rc = sodium_init(); /* 1: was ready already */
    CHECK(rc >= 0);
}

const char *ticket_action_name(enum ticket_action a)
{
    const char *name = wire_name_of(action_names, (int32_t)a);
    CHECK(name != NULL);
    return name;
}

bool ticket_action_parse(struct str name, enum ticket_action *ret)
{
    int32_t v;
    if (!wire_name_find(action_names, name, &v)) return false;
    *ret = (enum ticket_action)v;
    return true;
}

void ticket_key_new(uint8_t ret_public[TICKET_KEY_PUBLIC], uint8_t ret_secret[TICKET_KEY_SECRET])
{
    sodium_ready();
    int rc = crypto_sign_keypair(ret_public, ret_secret);
    CHECK(rc == 0);
}

void ticket_key_format(const uint8_t key[TICKET_KEY_PUBLIC], char ret[TICKET_KEY_TEXT])
{
    sodium_ready();
    sodium_bin2base64(ret, TICKET_KEY_TEXT, key, TICKET_KEY_PUBLIC,
                      sodium_base64_VARIANT_ORIGINAL);
}

bool ticket_key_parse(struct str text, uint8_t ret[TICKET_KEY_PUBLIC])
{
    uint8_t key[TICKET_KEY_PUBLIC];
    size_t n = 0;
    sodium_ready();
    if (text.n == 0 || text.n >= TICKET_KEY_TEXT) return false;
    if (sodium_base642bin(key, sizeof(key), text.p, text.n, NULL, &n, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0 ||
        n != sizeof(key)) {
        return false;
    }
    memcpy(ret, key, sizeof(key));
    return true;
}

void ticket_sign(const struct ticket *t, const uint8_t secret[TICKET_KEY_SECRET],
                 char ret[TICKET_TEXT_MAX])
{
    struct ticket_doc doc = {.v = 1, .t = *t};
    struct strbuf json;
    uint8_t sig[crypto_sign_BYTES];
    sodium_ready();
    strbuf_init(&json, JSON_MAX);
    wire_print(&ticket_table, &doc, &json);
    CHECK(!json.full);
    _Static_assert(sodium_base64_ENCODED_LEN(JSON_MAX, B64URL) +
                           sodium_base64_ENCODED_LEN(crypto_sign_BYTES, B64URL) <=
                       TICKET_TEXT_MAX,
                   "the longest ticket fits");
    sodium_bin2base64(ret, TICKET_TEXT_MAX, (const uint8_t *)json.p, json.n, B64URL);
    size_t n = strlen(ret);
    int rc = crypto_sign_detached(sig, NULL, (const uint8_t *)ret, n, secret);
    CHECK(rc == 0);
    ret[n] = '.';
    sodium_bin2base64(ret + n + 1, TICKET_TEXT_MAX - n - 1, sig, sizeof(sig), B64URL);
    strbuf_done(&json);
}

static bool unbase64(struct str text, uint8_t *dst, size_t cap, size_t *ret_n)
{
    if (text.n == 0) return false;
    return sodium_base642bin(dst, cap, text.p, text.n, NULL, ret_n, NULL, B64URL) == 0;
}

int ticket_verify(struct str text, const uint8_t key[TICKET_KEY_PUBLIC], const char *cluster,
                  int64_t now_s, struct ticket *ret, struct err *err)
{
    uint8_t json[JSON_MAX], sig[crypto_sign_BYTES];
    size_t json_n = 0, sig_n = 0;
    struct str body, rest = text;
    struct ticket_doc doc;

    sodium_ready();
    if (text.n >= TICKET_TEXT_MAX || !str_cut(&rest, '.', &body) ||
        !unbase64(body, json, sizeof(json), &json_n) ||
        !unbase64(rest, sig, sizeof(sig), &sig_n) || sig_n != sizeof(sig)) {
        return err_set(err, ERR_INVALID, "this is no ticket");
    }
    if (crypto_sign_verify_detached(sig, (const uint8_t *)body.p, body.n, key) != 0) {
        return err_set(err, ERR_DENIED, "the ticket is not signed by this cluster");
    }
    int rc = wire_parse(&ticket_table, str_n((const char *)json, json_n), &doc, err);
    if (rc != 0) {
        err_prefix(err, "ticket");
        return rc;
    }
    if (strcmp(doc.t.cluster, cluster) != 0) {
        return err_set(err, ERR_DENIED, "the ticket is of another cluster");
    }
    if (doc.t.exp_s <= now_s) return err_set(err, ERR_DENIED, "the ticket has expired");
    *ret = doc.t;
    return 0;
}
