/* store/sqlite_load.c - an empty world is filled from the committed rows.
 *
 * All in one read transaction.  A row that does not read back, or that
 * contradicts another, is named and ends the load: nothing is guessed. */
#include "base/check.h"
#include "store/sqlite.h"

int sqlite_parse_doc(const struct wire_table *t, struct str doc, struct row_name name, void *obj,
                     struct err *err)
{
    struct err own = {0};
    int rc = wire_parse(t, doc, obj, &own);
    if (rc == 0) return 0;
    int code = rc == ERR_UNSUPPORTED ? ERR_UNSUPPORTED : ERR_CORRUPT;
    return err_set(err, code, "store: row %lld of %s does not read back: %s", (long long)name.id,
                   name.what, own.text);
}

/* One kind of rows: column 0 is the number, column 1 the document. */
struct loading {
    const char *what, *text;
    const struct wire_table *table;
    bool (*put)(struct world *w, const void *row, int64_t id);
};

static bool put_domain(struct world *w, const void *row, int64_t id)
{
    const struct domain *d = row;
    return d->id == id && world_put_domain(w, d);
}

static bool put_project(struct world *w, const void *row, int64_t id)
{
    const struct project *p = row;
    return p->id == id && world_put_project(w, p);
}

static bool put_user(struct world *w, const void *row, int64_t id)
{
    const struct user *u = row;
    return u->id == id && world_put_user(w, u);
}

static bool put_group(struct world *w, const void *row, int64_t id)
{
    const struct group *g = row;
    return g->id == id && world_put_group(w, g);
}

static bool put_node(struct world *w, const void *row, int64_t id)
{
    const struct node *n = row;
    return n->id == id && world_put_node(w, n);
}

/* A forgotten node only keeps its number from being given again. */
static bool put_gone(struct world *w, const void *row, int64_t id)
{
    const struct node *n = row;
    struct node gone = {.id = n->id};
    return n->id == id && world_put_node(w, &gone);
}

static bool put_session(struct world *w, const void *row, int64_t id)
{
    const struct session_row *r = row;
    const struct session *s = &r->session;
    return s->id == (uint64_t)id && session_live(s) && world_put_session_row(w, r);
}

static bool put_alloc(struct world *w, const void *row, int64_t id)
{
    const struct alloc *a = &((const struct alloc_row *)row)->alloc;
    return a->ref.session == (uint64_t)id && world_put_alloc(w, a);
}

static bool put_reservation(struct world *w, const void *row, int64_t id)
{
    const struct reservation *r = row;
    return r->id == id && world_put_reservation(w, r);
}

static const struct loading loadings[] = {
    {"domain", "SELECT id, doc FROM domain ORDER BY id", &wire_row_domain, put_domain},
    {"project", "SELECT id, doc FROM project ORDER BY id", &wire_row_project, put_project},
    {"user", "SELECT id, doc FROM user ORDER BY id", &wire_row_user, put_user},
    {"grp", "SELECT id, doc FROM grp ORDER BY id", &wire_row_group, put_group},
    {"node", "SELECT id, doc FROM node WHERE gone = 0 ORDER BY id", &wire_row_node, put_node},
    {"node", "SELECT id, doc FROM node WHERE gone <> 0 ORDER BY id", &wire_row_node, put_gone},
    {"session", "SELECT id, doc FROM session WHERE live = 1 ORDER BY id", &wire_row_session,
     put_session},
    /* By the index, so that what was released long ago costs nothing. */
    {"alloc",
     "SELECT session, doc FROM alloc INDEXED BY alloc_held WHERE released = 0"
     " ORDER BY session, attempt, member",
     &wire_row_alloc, put_alloc},
    {"reservation", "SELECT id, doc FROM reservation ORDER BY id", &wire_row_reservation,
     put_reservation},
};

union any_row { /* none of them owns heap parts */
    struct domain domain;
    struct project project;
    struct user user;
    struct group group;
    struct node node;
    struct session_row session;
    struct alloc_row alloc;
    struct reservation reservation;
};

static int load_rows(struct sql *q, const struct loading *l, struct world *w, struct err *err)
{
    CHECK(l->table->size <= sizeof(union any_row));
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(q->db, l->text, -1, &st, NULL);
    if (rc != SQLITE_OK) return sql_fail(q, rc, err, l->text);
    union any_row row;
    int code = 0, more;
    while (code == 0 && (more = sql_next(q, st, err, l->text)) != 0) {
        if (more < 0) {
            code = more;
            break;
        }
        int64_t id = sql_get_i64(st, 0);
        struct row_name name = {l->what, id};
        code = sqlite_parse_doc(l->table, sql_get_text(st, 1), name, &row, err);
        if (code == 0 && !l->put(w, &row, id)) {
            code = err_set(err, ERR_CORRUPT, "store: row %lld of %s contradicts itself or another",
                           (long long)id, l->what);
        }
    }
    sqlite3_finalize(st);
    return code;
}

static int load_time(struct sql *q, struct world *w, struct err *err)
{
    int64_t turn = 0, told = 0, core_ms = 0, last = 0, kept = 0;
    int rc = sql_number(q, "SELECT coalesce(max(no), 0) FROM turn", &turn, err);
    if (!rc) rc = sql_number(q, "SELECT coalesce(max(turn), 0) FROM history", &told, err);
    if (!rc) {
        rc = sql_number(q,
                        "SELECT coalesce((SELECT core_ms FROM turn ORDER BY no DESC LIMIT 1), 0)",
                        &core_ms, err);
    }
    if (!rc) rc = sql_number(q, "SELECT coalesce(max(id), 0) FROM session", &last, err);
    /* Where ended sessions were removed, the highest number is remembered. */
    if (!rc) {
        rc = sql_number(q,
                        "SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta"
                        " WHERE key = 'last_session'), 0)",
                        &kept, err);
    }
    if (rc) return rc;
    if (turn < 0 || core_ms < 0 || last < 0) {
        return err_set(err, ERR_CORRUPT, "store: a turn or session with a negative number");
    }
    if (told > turn) { /* agents would ignore what is said as of lower turns */
        return err_set(err, ERR_CORRUPT, "store: history knows turn %lld, the last one is %lld",
                       (long long)told, (long long)turn);
    }
    w->turn = (uint64_t)turn;
    w->now_ms = core_ms;
    w->last_session = (uint64_t)(kept > last ? kept : last);
    return 0;
}

static int load_all(struct sql *q, struct world *w, struct err *err)
{
    int rc = load_time(q, w, err);
    uint64_t last = w->last_session;
    for (size_t i = 0; i < ARRAY_LEN(loadings) && !rc; i++) {
        rc = load_rows(q, &loadings[i], w, err);
    }
    if (rc) return rc;
    CHECK(w->last_session <= last); /* a live session is among all sessions */
    w->last_session = last;
    const char *why = NULL;
    if (world_ready(w, &why)) return 0;
    return err_set(err, ERR_CORRUPT, "store: %s", why ? why : "its rows contradict each other");
}

int sqlite_load(struct store *base, struct world *w, struct err *err)
{
    struct sqlite_store *s = (struct sqlite_store *)base;
    int rc = sqlite_ready(s, err);
    if (!rc) rc = sql_exec(&s->q, "BEGIN", err);
    if (rc) return rc;
    rc = load_all(&s->q, w, err);
    if (rc == ERR_IO && (sqlite3_errcode(s->q.db) & 0xff) == SQLITE_ERROR) {
        rc = ERR_CORRUPT; /* a table or column is missing: asking again does not help */
        if (err) err->code = rc;
    }
    if (sql_exec(&s->q, "ROLLBACK", NULL) != 0) sqlite_drop(s); /* nothing was written */
    return rc;
}
