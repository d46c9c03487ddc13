/* store/sql.h - one SQLite connection with its prepared statements.  For src/store alone.
 *
 * Statements are numbered; each is prepared when it is first used and kept. */
#ifndef STORE_SQL_H
#define STORE_SQL_H
#include <sqlite3.h>

#include "base/err.h"
#include "base/str.h"

struct sql {
    sqlite3 *db;               /* NULL: closed */
    const char *const *texts;  /* of the statements */
    uint32_t n;
    sqlite3_stmt **prepared;   /* n of them, NULL: not yet */
};

int sql_open(struct sql *q, const char *path, int flags, struct err *err);
void sql_use(struct sql *q, const char *const *texts, uint32_t n); /* once, after opening */
void sql_close(struct sql *q);
/* Fills err from the connection's last error; returns ERR_LIMIT when the disk is full,
 * ERR_CORRUPT when the file is damaged, else ERR_IO. */
int sql_fail(struct sql *q, int rc, struct err *err, const char *doing);
int sql_exec(struct sql *q, const char *text, struct err *err); /* no parameters, no rows */
/* Ready to be bound; NULL (err filled) when it does not prepare. */
sqlite3_stmt *sql_stmt(struct sql *q, uint32_t which, struct err *err);
/* Steps to the next row: 1 row, 0 no more (and reset), negative: an error (and reset). */
int sql_next(struct sql *q, sqlite3_stmt *s, struct err *err, const char *doing);
/* One row of one number, without parameters. */
int sql_number(struct sql *q, const char *text, int64_t *ret, struct err *err);

/* Positions from 1.  Texts must live until the statement has been stepped. */
static inline void sql_i64(sqlite3_stmt *s, int at, int64_t v) { sqlite3_bind_int64(s, at, v); }
void sql_text(sqlite3_stmt *s, int at, struct str v);
static inline void sql_cstr(sqlite3_stmt *s, int at, const char *v) { sql_text(s, at, str_of(v)); }
/* Columns from 0. */
struct str sql_get_text(sqlite3_stmt *s, int at);
static inline int64_t sql_get_i64(sqlite3_stmt *s, int at) { return sqlite3_column_int64(s, at); }

#endif
