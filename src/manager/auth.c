/* manager/auth.c - the table of tokens.
 *
 * Invariant: by_hash holds exactly the hashes of `tokens`, at their index.
 * Looking up by hash tells a caller nothing: it cannot choose a hash's bytes. */
#include "manager/auth.h"
#include <sodium.h>
#include "base/check.h"

#define SECRET_BYTES 32
#define SECRET_TEXT 64 /* base64url of it, with its end */

void auth_hash(struct str text, char ret[65])
{
    uint8_t sum[crypto_hash_sha256_BYTES];
    static const uint8_t nothing;
    crypto_hash_sha256(sum, text.n > 0 ? (const uint8_t *)text.p : &nothing, text.n);
    sodium_bin2hex(ret, 65, sum, sizeof(sum));
}

static void secret_new(char ret[SECRET_TEXT])
{
    uint8_t bits[SECRET_BYTES];
    randombytes_buf(bits, sizeof(bits));
    sodium_bin2base64(ret, SECRET_TEXT, bits, sizeof(bits),
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    mem_zero_secret(bits, sizeof(bits));
}

void auth_done(struct auth *a)
{
    VEC_DONE(&a->tokens);
    map_str_done(&a->by_hash);
}

static const struct store_token *find(const struct auth *a, struct str text)
{
    char hash[65];
    auth_hash(text, hash);
    uint32_t at = map_str_get(&a->by_hash, str_of(hash));
    if (at == MAP_NONE) return NULL;
    CHECK(at < a->tokens.n);
    const struct store_token *t = &a->tokens.v[at];
    return str_eq_secret(str_of(t->hash), str_of(hash)) ? t : NULL;
}

void auth_add(struct auth *a, const struct store_token *t)
{
    uint32_t at = map_str_get(&a->by_hash, str_of(t->hash));
    if (at == MAP_NONE) {
        at = a->tokens.n;
        VEC_ADD(&a->tokens);
        map_str_put(&a->by_hash, str_of(t->hash), at);
    }
    a->tokens.v[at] = *t;
}

void auth_remove(struct auth *a, const char *hash)
{
    uint32_t at = map_str_get(&a->by_hash, str_of(hash));
    if (at == MAP_NONE) return;
    map_str_del(&a->by_hash, str_of(hash));
    struct store_token last = VEC_POP(&a->tokens);
    if (at == a->tokens.n) return;
    a->tokens.v[at] = last;
    map_str_put(&a->by_hash, str_of(last.hash), at);
}

int auth_load(struct auth *a, struct store_reader *r, struct err *err)
{
    struct store_tokens all = {0};
    int rc = store_read_tokens(r, &all, err);
    if (rc != 0) {
        VEC_DONE(&all.v);
        return rc;
    }
    auth_done(a);
    VEC_EACH(t, &all.v) auth_add(a, t);
    VEC_DONE(&all.v);
    return 0;
}

bool auth_expired(const struct store_token *t, int64_t wall_ms)
{
    return t->expires_wall_ms != 0 && wall_ms >= t->expires_wall_ms;
}

const struct store_token *auth_token(const struct auth *a, struct str header, int64_t wall_ms)
{
    struct str scheme;
    if (header.n > 512 || !str_cut(&header, ' ', &scheme)) return NULL;
    if (!str_eq_nocase(scheme, STR("bearer"))) return NULL;
    const struct store_token *t = find(a, str_trim(header));
    return t && t->kind == STORE_TOKEN_API && !auth_expired(t, wall_ms) ? t : NULL;
}

uint32_t auth_user(const struct auth *a, struct str header, int64_t wall_ms)
{
    const struct store_token *t = auth_token(a, header, wall_ms);
    return t ? t->user : 0;
}

void auth_token_id(const struct store_token *t, char ret[16])
{
    text_fmt(ret, 16, "%.*s", AUTH_ID_DIGITS, t->hash);
}

const struct store_token *auth_by_id(const struct auth *a, struct str id)
{
    VEC_EACH(t, &a->tokens) {
        if (t->kind != STORE_TOKEN_API) continue;
        if (str_eq(str_n(t->hash, AUTH_ID_DIGITS), id)) return t;
    }
    return NULL;
}

void auth_sweep(struct auth *a, struct store_turn *turn, int64_t wall_ms)
{
    for (uint32_t i = a->tokens.n; i-- > 0;) {
        struct store_token t = a->tokens.v[i];
        if (!auth_expired(&t, wall_ms)) continue;
        struct store_op *op = store_turn_op(turn, STORE_REMOVE_TOKEN);
        bool fits = TEXT_SET(op->u.token_hash, str_of(t.hash));
        CHECK(fits);
        auth_remove(a, t.hash);
    }
}

const struct store_token *auth_join(const struct auth *a, struct str text, struct str cn,
                                    int64_t wall_ms)
{
    struct str secret;
    if (text.n > AUTH_JOIN_TEXT || !str_cut(&text, '.', &secret)) return NULL;
    const struct store_token *t = find(a, secret);
    if (!t || t->kind != STORE_TOKEN_JOIN || auth_expired(t, wall_ms)) return NULL;
    bool fresh = str_eq(str_of(t->name), STR(AUTH_JOIN_FRESH));
    return fresh || str_eq(str_of(t->name), cn) ? t : NULL;
}

void auth_new_api(uint32_t user, struct str name, int64_t wall_ms, struct store_token *ret,
                  char text[AUTH_TOKEN_TEXT])
{
    char secret[SECRET_TEXT];
    secret_new(secret);
    text_fmt(text, AUTH_TOKEN_TEXT, "rota-%s", secret);
    mem_zero_secret(secret, sizeof(secret));
    *ret = (struct store_token){
        .kind = STORE_TOKEN_API, .user = user, .created_wall_ms = wall_ms};
    text_clip(ret->name, sizeof(ret->name), name);
    auth_hash(str_of(text), ret->hash);
}

void auth_new_join(uint32_t user, int64_t wall_ms, int64_t valid_ms, const char *ca_sha256,
                   struct store_token *ret, char text[AUTH_JOIN_TEXT])
{
    char secret[SECRET_TEXT], before_dot[SECRET_TEXT + 16];
    secret_new(secret);
    text_fmt(before_dot, sizeof(before_dot), "rota-join-%s", secret);
    *ret = (struct store_token){.kind = STORE_TOKEN_JOIN,
                                .user = user,
                                .name = AUTH_JOIN_FRESH,
                                .created_wall_ms = wall_ms,
                                .expires_wall_ms = wall_ms + valid_ms};
    auth_hash(str_of(before_dot), ret->hash);
    text_fmt(text, AUTH_JOIN_TEXT, "%s.%s", before_dot, ca_sha256);
    mem_zero_secret(secret, sizeof(secret));
    mem_zero_secret(before_dot, sizeof(before_dot));
}
