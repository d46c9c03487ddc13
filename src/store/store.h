/* store/store.h - what survives: typed operations, one transaction per turn.
 *
 * A turn is all or nothing and begins with its own row, whose number is a key:
 * whoever finds the number taken is not the leader.  Code above sees no SQL.
 *
 * Threads: a struct store belongs to one thread (the manager's store thread), a
 * struct store_reader to another; nothing is shared between them but the file.
 * docs/spec/store.md */
#ifndef STORE_STORE_H
#define STORE_STORE_H
#include "base/err.h"
#include "base/vec.h"
#include "core/model/world.h"
#include "core/step.h"

#define STORE_DOC_MAX (1u << 20) /* bytes of a session's document */

struct store;
struct store_reader;

enum store_token_kind { STORE_TOKEN_API = 1, STORE_TOKEN_JOIN, STORE_TOKEN_KINDS };
struct store_token {
    char hash[65];           /* hex digest; the secret itself is never stored */
    enum store_token_kind kind;
    uint32_t user;           /* whose it is, or who made it */
    char name[64];           /* for people */
    int64_t created_wall_ms, expires_wall_ms; /* expires 0: never */
};

struct store_idem { /* answer of a POST that may be repeated */
    uint32_t user;
    char key[128];
    uint64_t session;
    char body_hash[65];      /* hex; another body under the same key is a mismatch */
    int64_t wall_ms;
};

struct store_meta { char key[32]; char value[256]; };

enum store_op_kind {
    STORE_PUT_SESSION = 1,   /* ENDED: kept, no longer live */
    STORE_PUT_ALLOC,
    STORE_RELEASE_ALLOC,     /* the row stays for "where did it run" */
    STORE_PUT_NODE,
    STORE_REMOVE_NODE,
    STORE_PUT_GROUP,
    STORE_PUT_RESERVATION,
    STORE_REMOVE_RESERVATION,
    STORE_PUT_DOMAIN,
    STORE_PUT_PROJECT,
    STORE_PUT_USER,
    STORE_PUT_DOC,           /* a session's document, written once */
    STORE_ADD_HISTORY,
    STORE_PUT_TOKEN,
    STORE_REMOVE_TOKEN,      /* by hash */
    STORE_PUT_IDEM,
    STORE_PUT_META,          /* keys of the caller's; not cluster, incarnation, created */
    STORE_OP_KINDS
};

struct store_op {
    enum store_op_kind kind;
    union {
        struct session session; /* the first part of its row */
        struct session_row session_row;
        struct alloc alloc;     /* likewise */
        struct alloc_row alloc_row;
        struct node *node;   /* owned by the turn */
        uint32_t node_id;
        struct group group;
        struct reservation reservation;
        uint32_t reservation_id;
        struct domain domain;
        struct project project;
        struct user user;
        struct { uint64_t session; char *text; } doc; /* owned by the turn; JSON */
        struct history history;
        struct store_token token;
        char token_hash[65];
        struct store_idem idem;
        struct store_meta meta;
    } u;
};

struct store_turn {
    uint64_t no;             /* last + 1 */
    char leader[33];         /* who writes: incarnation-independent id of this manager process */
    int64_t core_ms, wall_ms;
    VEC(struct store_op) ops; /* in order; history entries are numbered from 0 in this order */
};

void store_turn_done(struct store_turn *t);  /* frees what ops own; t is empty again */
/* The operation that a change of the core asks for. */
void store_turn_change(struct store_turn *t, const struct change *c);
/* Copies the text. */
void store_turn_doc(struct store_turn *t, uint64_t session, struct str json);
/* Appends one, zeroed but for its kind. */
struct store_op *store_turn_op(struct store_turn *t, enum store_op_kind kind);

struct store_options {
    const char *path;        /* of the database file; its directory exists */
    int64_t wall_ms;         /* now, for rows made at first start */
    uint32_t admin_uid, admin_gid; /* of user "admin" at first start; 0: its own */
    bool new_incarnation;    /* after a restore: containers of the old one are orphans */
};

/* Opens or creates, takes the lock for life, migrates.  First start makes domain and project
 * "default", user "admin" (all with id 1) and group "default" (id 1, BLOCKED_STOP).
 * ERR_CONFLICT: another manager holds it.  ERR_UNSUPPORTED: written by a newer version.
 * ERR_CORRUPT: not a store. */
int store_open(const struct store_options *options, struct store **ret, struct err *err);
void store_close(struct store *s);
const char *store_cluster(const struct store *s);     /* 32 hex digits */
const char *store_incarnation(const struct store *s); /* 32 hex digits */

/* One transaction.  0: durable.  ERR_CONFLICT: the number is taken, nothing written.
 * ERR_INVALID: the number leaves a gap, nothing written.  ERR_IO, ERR_LIMIT (disk full):
 * certainly nothing written.  ERR_UNKNOWN: ask store_last_turn. */
int store_commit(struct store *s, const struct store_turn *turn, struct err *err);
int store_last_turn(struct store *s, uint64_t *ret_no, struct err *err); /* 0: none yet */
/* Fills an empty world and calls world_ready: live sessions, unreleased allocs, nodes, groups,
 * accounts; turn, now_ms, last_session.  ERR_CORRUPT names the row; the world is then half
 * filled: free it. */
int store_load(struct store *s, struct world *w, struct err *err);
/* A consistent copy while the store is in use; `path` must not exist. */
int store_backup(struct store *s, const char *path, struct err *err);

/* ---- failures on purpose, for tests ---- */
enum store_fault_kind {
    STORE_FAULT_NONE = 0,
    STORE_FAULT_FAIL,           /* the statement fails, certainly undone */
    STORE_FAULT_FULL,           /* the same: the disk has no room */
    STORE_FAULT_UNKNOWN_STORED, /* a commit that took, reported as unknown */
    STORE_FAULT_UNKNOWN_LOST,   /* a commit that did not take, reported as unknown */
};
/* At the n-th statement (from 1) of a commit from now on, once.  UNKNOWN_* fire at the commit
 * statement itself, the n-th commit from now on. */
void store_fault(struct store *s, uint32_t n, enum store_fault_kind kind);
uint32_t store_statements(const struct store *s); /* of the last store_commit */

/* ---- readers: committed state, never waiting for the writer ---- */
int store_reader_open(const char *path, struct store_reader **ret, struct err *err);
void store_reader_close(struct store_reader *r);
/* The caller frees ret_json. */
int store_read_doc(struct store_reader *r, uint64_t session, char **ret_json, struct err *err);
int store_read_session(struct store_reader *r, uint64_t id, struct session_row *ret,
                       struct err *err);
/* The latest of that name: the live one if there is one. */
int store_read_session_named(struct store_reader *r, uint32_t user, struct str name,
                             struct session_row *ret, struct err *err);

enum store_which { STORE_ALL = 0, STORE_LIVE, STORE_ENDED };
struct store_filter {
    enum store_which which;
    uint32_t user, group;  /* 0: any */
    struct str name;       /* n 0: any; exact */
    uint64_t before;       /* only ids below: the cursor; 0: from the newest */
    uint32_t limit;        /* 1..1000 */
};
struct store_sessions { VEC(struct session_row) v; uint64_t next; }; /* next 0: no more */
/* Newest first; stable under inserts.  `ret` is added to, zero it first. */
int store_read_sessions(struct store_reader *r, const struct store_filter *f,
                        struct store_sessions *ret, struct err *err);

struct store_event { uint64_t turn; uint32_t index; struct history history; };
struct store_events { VEC(struct store_event) v; };
/* Entries after (turn, index), oldest first, at most `limit`; session 0: all.  Start with
 * turn 0, index 0: everything (there is no turn 0). */
struct store_after { uint64_t turn; uint32_t index; uint64_t session; uint32_t limit; };
int store_read_history(struct store_reader *r, const struct store_after *after,
                       struct store_events *ret, struct err *err);
int store_read_last_turn(struct store_reader *r, uint64_t *ret_no, struct err *err);

struct store_placement {
    struct alloc alloc;
    struct member_end end;
    bool released;
    char node[NODE_NAME_MAX + 1];
};
struct store_placements { VEC(struct store_placement) v; };
/* Every row that a session ever had, by attempt and member. */
int store_read_placements(struct store_reader *r, uint64_t session, struct store_placements *ret,
                          struct err *err);
int store_read_idem(struct store_reader *r, uint32_t user, struct str key, struct store_idem *ret,
                    struct err *err); /* ERR_NOT_FOUND */
struct store_tokens { VEC(struct store_token) v; };
int store_read_tokens(struct store_reader *r, struct store_tokens *ret, struct err *err);
int store_read_meta(struct store_reader *r, const char *key, struct store_meta *ret,
                    struct err *err); /* ERR_NOT_FOUND */

#endif
