/* manager/auth.h - who is calling: bearer tokens of people, join tokens of nodes.
 *
 * A token is "rota-" and 256 random bits in base64url; the store and this table
 * hold its SHA-256 alone.  A join token is "rota-join-<secret>.<ca sha256>": the
 * part before the dot is hashed, the rest tells the agent whom to trust.
 *
 * A join token expires, and belongs to the first name that used it: a node that
 * did not get the answer may ask again, nobody else can. */
#ifndef MANAGER_AUTH_H
#define MANAGER_AUTH_H
#include <stdbool.h>
#include <stdint.h>
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/store.h"

#define AUTH_TOKEN_TEXT 80            /* with its end */
#define AUTH_JOIN_TEXT 160
#define AUTH_JOIN_FRESH "new join token" /* name of one that nobody has used */
#define AUTH_JOIN_MS (60 * 60 * INT64_C(1000))

struct auth {
    VEC(struct store_token) tokens;
    struct map_str by_hash;
};

void auth_done(struct auth *a);
/* Replaces all that is known by what the store holds. */
int auth_load(struct auth *a, struct store_reader *r, struct err *err);
bool auth_expired(const struct store_token *t, int64_t wall_ms);
void auth_add(struct auth *a, const struct store_token *t); /* or replaces */
void auth_remove(struct auth *a, const char *hash);

/* The token of an Authorization header, until the table changes; NULL: none that is valid. */
const struct store_token *auth_token(const struct auth *a, struct str header, int64_t wall_ms);
/* Its user, or 0. */
uint32_t auth_user(const struct auth *a, struct str header, int64_t wall_ms);
#define AUTH_ID_DIGITS 12
/* What people call a token by: the first digits of its hash. */
void auth_token_id(const struct store_token *t, char ret[16]);
const struct store_token *auth_by_id(const struct auth *a, struct str id); /* of the API; NULL */
/* Tokens that nobody can use any more leave with this turn. */
void auth_sweep(struct auth *a, struct store_turn *turn, int64_t wall_ms);
/* The join token that this text stands for, for this certificate name; NULL: refused. */
const struct store_token *auth_join(const struct auth *a, struct str text, struct str cn,
                                    int64_t wall_ms);

/* Random; ret is what its owner gets to see, the struct is what is stored. */
void auth_new_api(uint32_t user, struct str name, int64_t wall_ms, struct store_token *ret,
                  char text[AUTH_TOKEN_TEXT]);
void auth_new_join(uint32_t user, int64_t wall_ms, int64_t valid_ms, const char *ca_sha256,
                   struct store_token *ret, char text[AUTH_JOIN_TEXT]);
/* Hex SHA-256: of tokens, and of bodies under an Idempotency-Key. */
void auth_hash(struct str text, char ret[65]);

#endif
