/* wire/ticket.h - the signed leave to reach one container: base64url(JSON) "." base64url(sig).
 *
 * The manager signs (Ed25519), proxy and agent verify.  Neither looks at a clock
 * here: expiry, cluster, node and action are for whoever verifies to compare. */
#ifndef WIRE_TICKET_H
#define WIRE_TICKET_H
#include "wire/objects.h"

#define TICKET_SECRET_KEY 64
#define TICKET_PUBLIC_KEY 32
#define TICKET_TEXT_MAX 1024

void ticket_keys(uint8_t ret_public[TICKET_PUBLIC_KEY], uint8_t ret_secret[TICKET_SECRET_KEY]);
/* The caller frees ret_text.  ERR_LIMIT when the text would pass TICKET_TEXT_MAX. */
int ticket_sign(const struct ticket *t, const uint8_t secret[TICKET_SECRET_KEY], char **ret_text,
                struct err *err);
/* ERR_DENIED on a bad form or signature, without saying which. */
int ticket_verify(struct str text, const uint8_t public[TICKET_PUBLIC_KEY], struct ticket *ret,
                  struct err *err);
/* The public key as join_answer carries it. */
void ticket_key_text(const uint8_t public[TICKET_PUBLIC_KEY], char ret[48]);
bool ticket_key_parse(struct str text, uint8_t ret_public[TICKET_PUBLIC_KEY]);

#endif
