/* wire/ticket.h - a signed, short-lived permission to reach into one container.
 *
 * The manager signs it with an Ed25519 key; proxies and agents know the public
 * half from joining and ask nobody.  Text form, safe in a header:
 *
 *     base64url(JSON) "." base64url(signature over the first part's characters)
 *
 * Nothing in it is secret, but whoever holds it may use it until it expires:
 * it is never logged.  docs/spec/proxy.md */
#ifndef WIRE_TICKET_H
#define WIRE_TICKET_H
#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

#define TICKET_TEXT_MAX 1152 /* characters, with the terminator */
#define TICKET_KEY_PUBLIC 32
#define TICKET_KEY_SECRET 64
#define TICKET_KEY_TEXT 48 /* base64 of a public key, with the terminator */

enum ticket_action { TICKET_LOGS = 1, TICKET_EXEC, TICKET_ATTACH, TICKET_PORT, TICKET_ACTIONS };

struct ticket {
    uint64_t session;
    uint32_t attempt, member;
    char node[64];    /* that holds the container */
    char addr[64];    /* its data port, "ip:port": what the proxy dials */
    enum ticket_action action;
    uint32_t user;    /* id of the person it was made for ("uid" on the wire) */
    int64_t exp_s;    /* Unix time after which it is void */
    char cluster[33];
};

const char *ticket_action_name(enum ticket_action a); /* "logs", "exec", "attach", "port" */
bool ticket_action_parse(struct str name, enum ticket_action *ret);

void ticket_key_new(uint8_t ret_public[TICKET_KEY_PUBLIC], uint8_t ret_secret[TICKET_KEY_SECRET]);
/* A public key as the join answer carries it: standard base64. */
void ticket_key_format(const uint8_t key[TICKET_KEY_PUBLIC], char ret[TICKET_KEY_TEXT]);
bool ticket_key_parse(struct str text, uint8_t ret[TICKET_KEY_PUBLIC]);

/* The texts of t must be terminated names and addresses of our own (CHECK). */
void ticket_sign(const struct ticket *t, const uint8_t secret[TICKET_KEY_SECRET],
                 char ret[TICKET_TEXT_MAX]);
/* ERR_INVALID: malformed; ERR_DENIED: forged, expired or of another cluster.
 * now_s is Unix time.  The text may come from anybody. */
int ticket_verify(struct str text, const uint8_t key[TICKET_KEY_PUBLIC], const char *cluster,
                  int64_t now_s, struct ticket *ret, struct err *err);

#endif
