/* store/sql.c - one SQLite connection with its prepared statements.
 *
 * Binding cannot fail but for bugs of ours (a wrong position), which the CHECKs
 * end; preparing and stepping fail with the world. */
#include "store/sql.h"

#include <limits.h>

#include "base/check.h"
#include "base/mem.h"

int sql_fail(struct sql *q, int rc, struct err *err, const char *doing)
{
    int code = ERR_IO;
    int primary = rc & 0xff;
    if (primary == SQLITE_FULL) code = ERR_LIMIT;
    if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) code = ERR_CORRUPT;
    const char *why = q->db ? sqlite3_errmsg(q->db) : sqlite3_errstr(rc);
    return err_set(err, code, "store: %s: %s (%d)", doing, why, rc);
}

int sql_open(struct sql *q, const char *path, int flags, struct err *err)
{
    *q = (struct sql){0};
    int rc = sqlite3_open_v2(path, &q->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_extended_result_codes(q->db, 1);
    if (rc == SQLITE_OK) rc = sqlite3_busy_timeout(q->db, 10000);
    if (rc == SQLITE_OK) return 0;
    int code = sql_fail(q, rc, err, "open");
    sql_close(q);
    return code;
}

void sql_use(struct sql *q, const char *const *texts, uint32_t n)
{
    CHECK(q->db != NULL);
    CHECK(q->prepared == NULL);
    q->texts = texts;
    q->n = n;
    q->prepared = mem_array(n, sizeof(sqlite3_stmt *));
}

void sql_close(struct sql *q)
{
    for (uint32_t i = 0; i < q->n; i++) sqlite3_finalize(q->prepared[i]);
    mem_free(q->prepared);
    int rc = sqlite3_close(q->db);
    CHECK(rc == SQLITE_OK); /* else a statement of ours was left open */
    *q = (struct sql){0};
}

int sql_exec(struct sql *q, const char *text, struct err *err)
{
    int rc = sqlite3_exec(q->db, text, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : sql_fail(q, rc, err, text);
}

sqlite3_stmt *sql_stmt(struct sql *q, uint32_t which, struct err *err)
{
    CHECK(which < q->n);
    CHECK(q->texts[which] != NULL);
    sqlite3_stmt **s = &q->prepared[which];
    if (*s) return *s;
    int rc = sqlite3_prepare_v3(q->db, q->texts[which], -1, SQLITE_PREPARE_PERSISTENT, s, NULL);
    if (rc != SQLITE_OK) {
        (void)sql_fail(q, rc, err, "prepare");
        if (err) err->code = ERR_IO; /* what callers return then */
    }
    return *s;
}

int sql_next(struct sql *q, sqlite3_stmt *s, struct err *err, const char *doing)
{
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW) return 1;
    int code = rc == SQLITE_DONE ? 0 : sql_fail(q, rc, err, doing);
    sqlite3_reset(s);
    return code;
}

int sql_number(struct sql *q, const char *text, int64_t *ret, struct err *err)
{
    sqlite3_stmt *s = NULL;
    int rc = sqlite3_prepare_v2(q->db, text, -1, &s, NULL);
    if (rc != SQLITE_OK) return sql_fail(q, rc, err, text);
    int more = sql_next(q, s, err, text);
    if (more > 0) *ret = sql_get_i64(s, 0);
    sqlite3_finalize(s);
    if (more == 0) return err_set(err, ERR_CORRUPT, "store: no answer to %s", text);
    return more > 0 ? 0 : more;
}

void sql_text(sqlite3_stmt *s, int at, struct str v)
{
    CHECK(v.n <= INT_MAX);
    int rc = sqlite3_bind_text(s, at, v.n ? v.p : "", (int)v.n, SQLITE_STATIC);
    CHECK(rc == SQLITE_OK);
}

struct str sql_get_text(sqlite3_stmt *s, int at)
{
    const char *p = (const char *)sqlite3_column_text(s, at);
    int n = sqlite3_column_bytes(s, at);
    return p ? str_n(p, (size_t)n) : str_n("", 0);
}
