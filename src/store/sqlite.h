/* store/sqlite.h - the SQLite backend's own state.  For src/store alone. */
#ifndef STORE_SQLITE_H
#define STORE_SQLITE_H
#include "base/strbuf.h"
#include "store/backend.h"
#include "store/checkpoint.h"
#include "store/sql.h"
#include "wire/rows.h"

struct sqlite_store {
    struct store base;
    struct sql q;               /* closed (db NULL) after a failure that must be slept over */
    struct checkpoint *checkpoint;
    char *path;
    int lock_fd;                /* held for life */
    uint32_t log_pages;         /* of the write-ahead log after the last commit */
    struct strbuf doc;          /* the row being written */
    uint32_t counted;           /* statements of the commit under way, or of the last one */
    uint32_t history;           /* lines of history of the turn so far */
    bool swept;                 /* old idempotency keys of this turn */
    struct { enum store_fault_kind kind; uint32_t left; } fault;
};

/* Opens the connection again if an earlier failure closed it. */
int sqlite_ready(struct sqlite_store *s, struct err *err);
/* Closes it, so that what happens next starts from what is on the disk. */
void sqlite_drop(struct sqlite_store *s);
int sqlite_commit(struct store *base, const struct store_turn *turn, struct err *err);
extern const char *const sqlite_write_texts[];
extern const uint32_t sqlite_write_count;
/* Fills the accounts and ids of a new store inside its first transaction. */
int sqlite_put_first_rows(struct sqlite_store *s, const struct store_options *options,
                          struct err *err);
int sqlite_load(struct store *base, struct world *w, struct err *err);
int sqlite_last_turn(struct store *base, uint64_t *ret_no, struct err *err);

/* Reads the document in a column of a row; `what` and `id` name the row in an error.
 * ERR_CORRUPT, or ERR_UNSUPPORTED when a newer version of Rota wrote it. */
struct row_name { const char *what; int64_t id; };
int sqlite_parse_doc(const struct wire_table *t, struct str doc, struct row_name name, void *obj,
                     struct err *err);

#endif
