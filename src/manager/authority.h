/* manager/authority.h - the cluster's keys: its CA, this manager's certificate for
 * agents, and the key that signs tickets.
 *
 * Made at the first start, kept in the manager's directory with mode 0600. */
#ifndef MANAGER_AUTHORITY_H
#define MANAGER_AUTHORITY_H
#include <stdint.h>
#include "base/err.h"
#include "net/pki.h"
#include "wire/ticket.h"

struct authority {
    struct pki_pair ca;
    struct pki_pair server;              /* leaf and CA in one chain; made at each start */
    char ca_sha256[PKI_FINGERPRINT_TEXT];
    uint8_t ticket_secret[TICKET_KEY_SECRET];
    char ticket_key[TICKET_KEY_TEXT];    /* the public half, as agents are told */
};

/* `host` is what the agents' listener is bound to, "" when unknown. */
int authority_open(const char *dir, const char *host, struct authority *ret, struct err *err);
void authority_done(struct authority *a);
/* A client and server certificate for an agent or a proxy, from its request.  It
 * carries no host name: a part dials another by its common name, and the manager's
 * own host name is in the manager's certificate alone, so that no node, even on
 * the same machine, can pass for the manager. */
int authority_sign(const struct authority *a, struct str csr, struct str cn, char **ret_cert,
                   struct err *err);

#endif
