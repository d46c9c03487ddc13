/* store/sqlite_read.c - what was committed, for whoever asks.
 *
 * A read-only connection; a write-ahead log lets it read while the writer
 * writes.  Each call is one statement and so sees one turn whole. */
#include "base/check.h"
#include "store/sqlite.h"

enum read_stmt {
    R_DOC, R_SESSION, R_NAMED, R_LAST, R_HISTORY, R_HISTORY_SESSION, R_PLACEMENTS, R_IDEM,
    R_TOKENS, R_META,
    R_LIST, /* first of LIST_KINDS: which * 8 + user * 4 + group * 2 + name */
    R_STMTS = R_LIST + 24
};

#define LIST(where) \
    "SELECT id, doc FROM session WHERE id < ?1" where " ORDER BY id DESC LIMIT ?2"
#define LISTS(which) \
    LIST(which), LIST(which " AND name = ?5"), LIST(which " AND grp = ?4"), \
    LIST(which " AND grp = ?4 AND name = ?5"), LIST(which " AND user = ?3"), \
    LIST(which " AND user = ?3 AND name = ?5"), LIST(which " AND user = ?3 AND grp = ?4"), \
    LIST(which " AND user = ?3 AND grp = ?4 AND name = ?5")

static const char *const read_texts[] = {
    "SELECT doc FROM document WHERE session = ?1",
    "SELECT id, doc FROM session WHERE id = ?1",
    "SELECT id, doc FROM session WHERE user = ?1 AND name = ?2 ORDER BY live DESC, id DESC LIMIT 1",
    "SELECT coalesce(max(no), 0) FROM turn",
    "SELECT turn, idx, doc FROM history WHERE (turn, idx) > (?1, ?2) ORDER BY turn, idx LIMIT ?3",
    "SELECT turn, idx, doc FROM history WHERE session = ?4 AND session > 0"
    " AND (turn, idx) > (?1, ?2) ORDER BY turn, idx LIMIT ?3",
    "SELECT alloc.session, alloc.doc, alloc.released, node.name FROM alloc LEFT JOIN node"
    " ON node.id = alloc.node WHERE alloc.session = ?1 ORDER BY alloc.attempt, alloc.member",
    "SELECT session, body_hash, wall_ms FROM idem WHERE user = ?1 AND key = ?2",
    "SELECT hash, kind, user, name, created_ms, expires_ms FROM token ORDER BY created_ms, hash",
    "SELECT value FROM meta WHERE key = ?1",
    LISTS(""),
    LISTS(" AND live = 1"),
    LISTS(" AND live = 0"),
};
_Static_assert(ARRAY_LEN(read_texts) == R_STMTS, "every statement has its text");

struct sqlite_reader {
    struct store_reader base;
    struct sql q;
};

static struct sql *sql_of(struct store_reader *r) { return &((struct sqlite_reader *)r)->q; }

static void close_reader(struct store_reader *r)
{
    sql_close(sql_of(r));
    mem_free(r);
}

static int not_found(struct err *err, const char *what)
{
    return err_set(err, ERR_NOT_FOUND, "there is no such %s", what);
}

static int read_doc(struct store_reader *r, uint64_t session, char **ret_json, struct err *err)
{
    struct sql *q = sql_of(r);
    sqlite3_stmt *st = sql_stmt(q, R_DOC, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, (int64_t)session);
    int more = sql_next(q, st, err, read_texts[R_DOC]);
    if (more < 0) return more;
    if (more == 0) return not_found(err, "session");
    struct str doc = sql_get_text(st, 0);
    *ret_json = mem_strndup(doc.p, doc.n);
    sqlite3_reset(st);
    return 0;
}

/* The one session that a bound statement yields. */
static int one_session(struct sql *q, sqlite3_stmt *st, struct session_row *ret,
                       struct err *err)
{
    int more = sql_next(q, st, err, "read a session");
    if (more < 0) return more;
    if (more == 0) return not_found(err, "session");
    struct row_name name = {"session", sql_get_i64(st, 0)};
    int rc = sqlite_parse_doc(&wire_row_session, sql_get_text(st, 1), name, ret, err);
    sqlite3_reset(st);
    return rc;
}

static int read_session(struct store_reader *r, uint64_t id, struct session_row *ret,
                        struct err *err)
{
    struct sql *q = sql_of(r);
    sqlite3_stmt *st = sql_stmt(q, R_SESSION, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, (int64_t)id);
    return one_session(q, st, ret, err);
}

static int read_named(struct store_reader *r, uint32_t user, struct str name,
                      struct session_row *ret, struct err *err)
{
    struct sql *q = sql_of(r);
    sqlite3_stmt *st = sql_stmt(q, R_NAMED, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, user);
    sql_text(st, 2, name);
    return one_session(q, st, ret, err);
}

static int read_sessions(struct store_reader *r, const struct store_filter *f,
                         struct store_sessions *ret, struct err *err)
{
    CHECK(f->which <= STORE_ENDED);
    struct sql *q = sql_of(r);
    uint32_t kind = (uint32_t)f->which * 8 + (f->user ? 4 : 0) + (f->group ? 2 : 0) +
                    (f->name.n ? 1 : 0);
    sqlite3_stmt *st = sql_stmt(q, R_LIST + kind, err);
    if (!st) return ERR_IO;
    uint32_t before = ret->v.n;
    uint64_t below = f->before && f->before < INT64_MAX ? f->before : INT64_MAX;
    sql_i64(st, 1, (int64_t)below);
    sql_i64(st, 2, (int64_t)f->limit + 1); /* one more tells whether there is more */
    if (f->user) sql_i64(st, 3, f->user);
    if (f->group) sql_i64(st, 4, f->group);
    if (f->name.n) sql_text(st, 5, f->name);
    uint64_t next = 0;
    int more, rc = 0;
    while ((more = sql_next(q, st, err, "list sessions")) > 0) {
        if (ret->v.n - before == f->limit) {
            next = ret->v.v[ret->v.n - 1].session.id;
            break;
        }
        struct row_name name = {"session", sql_get_i64(st, 0)};
        struct session_row s;
        rc = sqlite_parse_doc(&wire_row_session, sql_get_text(st, 1), name, &s, err);
        if (rc) break;
        VEC_PUSH(&ret->v, s);
    }
    sqlite3_reset(st);
    if (more < 0) rc = more;
    if (rc) ret->v.n = before;
    else ret->next = next;
    return rc;
}

static int read_history(struct store_reader *r, const struct store_after *after,
                        struct store_events *ret, struct err *err)
{
    struct sql *q = sql_of(r);
    sqlite3_stmt *st = sql_stmt(q, after->session ? R_HISTORY_SESSION : R_HISTORY, err);
    if (!st) return ERR_IO;
    uint32_t before = ret->v.n;
    sql_i64(st, 1, (int64_t)after->turn);
    sql_i64(st, 2, after->index);
    sql_i64(st, 3, after->limit);
    if (after->session) sql_i64(st, 4, (int64_t)after->session);
    int more, rc = 0;
    while ((more = sql_next(q, st, err, "read history")) > 0) {
        struct store_event e = {.turn = (uint64_t)sql_get_i64(st, 0),
                                .index = (uint32_t)sql_get_i64(st, 1)};
        struct row_name name = {"history of turn", sql_get_i64(st, 0)};
        rc = sqlite_parse_doc(&wire_row_history, sql_get_text(st, 2), name, &e.history, err);
        if (rc) break;
        VEC_PUSH(&ret->v, e);
    }
    sqlite3_reset(st);
    if (more < 0) rc = more;
    if (rc) ret->v.n = before;
    return rc;
}

static int read_last_turn(struct store_reader *r, uint64_t *ret_no, struct err *err)
{
    struct sql *q = sql_of(r);
    sqlite3_stmt *st = sql_stmt(q, R_LAST, err);
    if (!st) return ERR_IO;
    int more = sql_next(q, st, err, read_texts[R_LAST]);
    if (more < 0) return more;
    CHECK(more == 1); /* an aggregate always gives one row */
    *ret_no = (uint64_t)sql_get_i64(st, 0);
    sqlite3_reset(st);
    return 0;
}

static int read_placements(struct store_reader *r, uint64_t session, struct store_placements *ret,
                           struct err *err)
{
    struct sql *q = sql_of(r);
    sqlite3_stmt *st = sql_stmt(q, R_PLACEMENTS, err);
    if (!st) return ERR_IO;
    uint32_t before = ret->v.n;
    sql_i64(st, 1, (int64_t)session);
    int more, rc = 0;
    while ((more = sql_next(q, st, err, "read placements")) > 0) {
        struct store_placement p = {.released = sql_get_i64(st, 2) != 0};
        struct row_name name = {"alloc of session", sql_get_i64(st, 0)};
        struct alloc_row row;
        rc = sqlite_parse_doc(&wire_row_alloc, sql_get_text(st, 1), name, &row, err);
        if (rc) break;
        p.alloc = row.alloc;
        p.end = row.end;
        TEXT_CLIP(p.node, sql_get_text(st, 3));
        VEC_PUSH(&ret->v, p);
    }
    sqlite3_reset(st);
    if (more < 0) rc = more;
    if (rc) ret->v.n = before;
    return rc;
}

static int read_idem(struct store_reader *r, uint32_t user, struct str key, struct store_idem *ret,
                     struct err *err)
{
    struct sql *q = sql_of(r);
    sqlite3_stmt *st = sql_stmt(q, R_IDEM, err);
    if (!st) return ERR_IO;
    struct store_idem i = {.user = user};
    if (!TEXT_SET(i.key, key)) return not_found(err, "key"); /* too long to have been stored */
    sql_i64(st, 1, user);
    sql_text(st, 2, key);
    int more = sql_next(q, st, err, read_texts[R_IDEM]);
    if (more < 0) return more;
    if (more == 0) return not_found(err, "key");
    i.session = (uint64_t)sql_get_i64(st, 0);
    TEXT_CLIP(i.body_hash, sql_get_text(st, 1));
    i.wall_ms = sql_get_i64(st, 2);
    sqlite3_reset(st);
    *ret = i;
    return 0;
}

static int read_tokens(struct store_reader *r, struct store_tokens *ret, struct err *err)
{
    struct sql *q = sql_of(r);
    sqlite3_stmt *st = sql_stmt(q, R_TOKENS, err);
    if (!st) return ERR_IO;
    uint32_t before = ret->v.n;
    int more, rc = 0;
    while ((more = sql_next(q, st, err, "read tokens")) > 0) {
        struct store_token t = {.user = (uint32_t)sql_get_i64(st, 2),
                                .created_wall_ms = sql_get_i64(st, 4),
                                .expires_wall_ms = sql_get_i64(st, 5)};
        int64_t kind = sql_get_i64(st, 1);
        bool good = TEXT_SET(t.hash, sql_get_text(st, 0)) && TEXT_SET(t.name, sql_get_text(st, 3));
        if (!good || kind < STORE_TOKEN_API || kind >= STORE_TOKEN_KINDS) {
            rc = err_set(err, ERR_CORRUPT, "store: a row of token does not read back");
            break;
        }
        t.kind = (enum store_token_kind)kind;
        VEC_PUSH(&ret->v, t);
    }
    sqlite3_reset(st);
    if (more < 0) rc = more;
    if (rc) ret->v.n = before;
    return rc;
}

static int read_meta(struct store_reader *r, const char *key, struct store_meta *ret,
                     struct err *err)
{
    struct sql *q = sql_of(r);
    sqlite3_stmt *st = sql_stmt(q, R_META, err);
    if (!st) return ERR_IO;
    struct store_meta m = {{0}, {0}};
    if (!TEXT_SET(m.key, str_of(key))) return not_found(err, "key");
    sql_cstr(st, 1, key);
    int more = sql_next(q, st, err, read_texts[R_META]);
    if (more < 0) return more;
    if (more == 0) return not_found(err, "key");
    TEXT_CLIP(m.value, sql_get_text(st, 0));
    sqlite3_reset(st);
    *ret = m;
    return 0;
}

static const struct store_reader_ops ops = {
    .close = close_reader, .doc = read_doc, .session = read_session, .named = read_named,
    .sessions = read_sessions, .history = read_history, .last_turn = read_last_turn,
    .placements = read_placements, .idem = read_idem, .tokens = read_tokens, .meta = read_meta,
};

int sqlite_reader_open(const char *path, struct store_reader **ret, struct err *err)
{
    struct sqlite_reader *r = mem_alloc(sizeof(*r));
    r->base.ops = &ops;
    int rc = sql_open(&r->q, path, SQLITE_OPEN_READONLY, err);
    if (!rc) rc = sql_exec(&r->q, "PRAGMA cache_size = -1000; PRAGMA trusted_schema = OFF", err);
    if (rc) {
        close_reader(&r->base);
        return rc;
    }
    sql_use(&r->q, read_texts, R_STMTS);
    *ret = &r->base;
    return 0;
}
