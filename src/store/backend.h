/* store/backend.h - what a database behind store.h has to provide.  For src/store alone.
 *
 * Each function keeps the promise that store.h makes for its namesake. */
#ifndef STORE_BACKEND_H
#define STORE_BACKEND_H
#include "store/store.h"

struct store_ops {
    void (*close)(struct store *s);
    int (*commit)(struct store *s, const struct store_turn *turn, struct err *err);
    int (*last_turn)(struct store *s, uint64_t *ret_no, struct err *err);
    int (*load)(struct store *s, struct world *w, struct err *err);
    int (*backup)(struct store *s, const char *path, struct err *err);
    void (*fault)(struct store *s, uint32_t n, enum store_fault_kind kind);
    uint32_t (*statements)(const struct store *s);
};

struct store { /* first member of a backend's own */
    const struct store_ops *ops;
    char cluster[33], incarnation[33];
};

struct store_reader_ops {
    void (*close)(struct store_reader *r);
    int (*doc)(struct store_reader *r, uint64_t session, char **ret_json, struct err *err);
    int (*session)(struct store_reader *r, uint64_t id, struct session_row *ret,
                   struct err *err);
    int (*named)(struct store_reader *r, uint32_t user, struct str name, struct session_row *ret,
                 struct err *err);
    int (*sessions)(struct store_reader *r, const struct store_filter *f,
                    struct store_sessions *ret, struct err *err);
    int (*history)(struct store_reader *r, const struct store_after *after,
                   struct store_events *ret, struct err *err);
    int (*last_turn)(struct store_reader *r, uint64_t *ret_no, struct err *err);
    int (*placements)(struct store_reader *r, uint64_t session, struct store_placements *ret,
                      struct err *err);
    int (*idem)(struct store_reader *r, uint32_t user, struct str key, struct store_idem *ret,
                struct err *err);
    int (*tokens)(struct store_reader *r, struct store_tokens *ret, struct err *err);
    int (*meta)(struct store_reader *r, const char *key, struct store_meta *ret, struct err *err);
};

struct store_reader { const struct store_reader_ops *ops; };

int sqlite_store_open(const struct store_options *options, struct store **ret, struct err *err);
int sqlite_reader_open(const char *path, struct store_reader **ret, struct err *err);

#endif
