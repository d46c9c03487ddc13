/* enrol/identity.h - who this agent or proxy is in its cluster, kept in its directory.
 *
 *     DIR/node.key        private key, 0600; made here, never leaves
 *     DIR/node.crt        certificate, common name "agent:NAME" or "proxy:NAME"
 *     DIR/ca.crt          the cluster's authority: the only one that we trust
 *     DIR/identity.json   the rest; written last, so it exists only when all is there
 *
 * docs/spec/node.md, "Joining" */
#ifndef ENROL_IDENTITY_H
#define ENROL_IDENTITY_H
#include <stdint.h>
#include "base/err.h"
#include "core/model/node.h"
#include "wire/ticket.h"

struct tls_ctx;

struct identity {
    char role[16]; /* "agent", "proxy" */
    char name[NODE_NAME_MAX + 1];
    char cluster[33], incarnation[33];
    uint8_t ticket_key[TICKET_KEY_PUBLIC];
    uint64_t epoch; /* start count of this name's last life, when it joined; 0: it had none */
};

#define IDENTITY_PATH_MAX 512
/* DIR/file; ERR_LIMIT when it does not fit. */
int identity_path(const char *dir, const char *file, char ret[IDENTITY_PATH_MAX],
                  struct err *err);
/* Makes the directory, 0700, and those above it where they are missing. */
int identity_dir(const char *dir, struct err *err);
/* "agent:n1": the common name of a certificate. */
void identity_cn(const char *role, const char *name, char *ret, size_t cap);

/* ERR_NOT_FOUND: has not joined yet.  ERR_CORRUPT names the file. */
int identity_load(const char *dir, struct identity *ret, struct err *err);
int identity_save(const char *dir, const struct identity *id, struct err *err);

/* To dial others of the cluster: our certificate, their authority.  any_name: the
 * caller compares the peer's common name itself. */
int identity_client_tls(const char *dir, bool any_name, struct tls_ctx **ret, struct err *err);
/* To be dialled: only with a certificate of the cluster. */
int identity_server_tls(const char *dir, struct tls_ctx **ret, struct err *err);

#endif
