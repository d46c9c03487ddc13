/* store/sqlite_write.c - one turn, one transaction.
 *
 * The turn's own row goes first: its number is the key that decides who leads.
 * What fails before COMMIT is rolled back and certain; a COMMIT that fails by
 * the disk may show after a crash all the same, so it is reported as unknown and
 * the connection is opened anew. */
#include "base/check.h"
#include "store/sqlite.h"

#define IDEM_KEEP_MS (INT64_C(24) * 3600 * 1000)

enum write_stmt {
    W_BEGIN, W_LAST, W_TURN, W_COMMIT, W_SESSION, W_ALLOC, W_NODE, W_NODE_GONE, W_GROUP,
    W_RESERVATION, W_RESERVATION_GONE, W_DOMAIN,
    W_PROJECT, W_USER, W_DOC, W_HISTORY, W_TOKEN, W_TOKEN_GONE, W_IDEM, W_IDEM_SWEEP, W_META,
    W_STMTS
};

#define UPSERT(key) " ON CONFLICT(" key ") DO UPDATE SET "
#define NEW(column) column " = excluded." column

const char *const sqlite_write_texts[] = {
    [W_BEGIN] = "BEGIN IMMEDIATE",
    [W_LAST] = "SELECT coalesce(max(no), 0) FROM turn",
    [W_TURN] = "INSERT INTO turn(no, leader, core_ms, wall_ms, changes) VALUES(?, ?, ?, ?, ?)",
    [W_COMMIT] = "COMMIT",
    [W_SESSION] =
        "INSERT INTO session(id, user, project, grp, name, kind, state, outcome, live, priority,"
        " submitted_ms, ended_ms, doc) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        UPSERT("id") NEW("state") "," NEW("outcome") "," NEW("live") "," NEW("priority") ","
        NEW("ended_ms") "," NEW("doc"),
    [W_ALLOC] = "INSERT INTO alloc(session, attempt, member, node, released, doc)"
        " VALUES(?, ?, ?, ?, ?, ?)" UPSERT("session, attempt, member")
        NEW("released") "," NEW("doc"),
    [W_NODE] = "INSERT INTO node(id, name, grp, doc) VALUES(?, ?, ?, ?)" UPSERT("id")
        NEW("name") "," NEW("grp") ", gone = 0," NEW("doc"),
    [W_NODE_GONE] = "UPDATE node SET gone = 1 WHERE id = ?",
    [W_GROUP] = "INSERT INTO grp(id, name, doc) VALUES(?, ?, ?)" UPSERT("id") NEW("name") ","
        NEW("doc"),
    [W_RESERVATION] = "INSERT INTO reservation(id, doc) VALUES(?, ?)" UPSERT("id") NEW("doc"),
    [W_RESERVATION_GONE] = "DELETE FROM reservation WHERE id = ?",
    [W_DOMAIN] = "INSERT INTO domain(id, name, doc) VALUES(?, ?, ?)" UPSERT("id") NEW("name") ","
        NEW("doc"),
    [W_PROJECT] = "INSERT INTO project(id, domain, name, doc) VALUES(?, ?, ?, ?)" UPSERT("id")
        NEW("domain") "," NEW("name") "," NEW("doc"),
    [W_USER] = "INSERT INTO user(id, domain, name, role, doc) VALUES(?, ?, ?, ?, ?)" UPSERT("id")
        NEW("domain") "," NEW("name") "," NEW("role") "," NEW("doc"),
    [W_DOC] = "INSERT INTO document(session, doc) VALUES(?, ?)" UPSERT("session") NEW("doc"),
    [W_HISTORY] = "INSERT INTO history(turn, idx, session, what, wall_ms, doc)"
        " VALUES(?, ?, ?, ?, ?, ?)",
    [W_TOKEN] = "INSERT INTO token(hash, kind, user, name, created_ms, expires_ms)"
        " VALUES(?, ?, ?, ?, ?, ?)" UPSERT("hash") NEW("kind") "," NEW("user") "," NEW("name") ","
        NEW("created_ms") "," NEW("expires_ms"),
    [W_TOKEN_GONE] = "DELETE FROM token WHERE hash = ?",
    [W_IDEM] = "INSERT INTO idem(user, key, session, body_hash, wall_ms) VALUES(?, ?, ?, ?, ?)"
        UPSERT("user, key") NEW("session") "," NEW("body_hash") "," NEW("wall_ms"),
    [W_IDEM_SWEEP] = "DELETE FROM idem WHERE wall_ms < ?",
    [W_META] = "INSERT INTO meta(key, value) VALUES(?, ?)" UPSERT("key") NEW("value"),
};
_Static_assert(ARRAY_LEN(sqlite_write_texts) == W_STMTS, "every statement has its text");
const uint32_t sqlite_write_count = W_STMTS;

/* ---- statements, counted ---- */

/* Counts one place where a fault of this kind could happen; whether it does now. */
static bool fault_due(struct sqlite_store *s, enum store_fault_kind kind)
{
    if (s->fault.kind != kind || --s->fault.left > 0) return false;
    s->fault.kind = STORE_FAULT_NONE;
    return true;
}

/* Runs a bound statement that gives no rows. */
static int run(struct sqlite_store *s, enum write_stmt which, sqlite3_stmt *st, struct err *err)
{
    s->counted++;
    if (fault_due(s, STORE_FAULT_FAIL)) {
        sqlite3_reset(st);
        return err_set(err, ERR_IO, "store: statement %u fails on purpose", s->counted);
    }
    if (fault_due(s, STORE_FAULT_FULL)) {
        sqlite3_reset(st);
        return err_set(err, ERR_LIMIT, "store: statement %u finds no room on purpose", s->counted);
    }
    int more = sql_next(&s->q, st, err, sqlite_write_texts[which]);
    CHECK(more <= 0);
    return more;
}

/* The row's document, in s->doc until the next one. */
static void put_doc(struct sqlite_store *s, sqlite3_stmt *st, int at, const struct wire_table *t,
                    const void *obj)
{
    strbuf_reset(&s->doc);
    wire_print(t, obj, &s->doc);
    CHECK(!s->doc.full); /* rows are of fixed size */
    sql_text(st, at, strbuf_str(&s->doc));
}

/* ---- one operation each ---- */

static int put_session(struct sqlite_store *s, const struct session_row *row, struct err *err)
{
    const struct session *x = &row->session;
    sqlite3_stmt *st = sql_stmt(&s->q, W_SESSION, err);
    if (!st) return ERR_IO;
    CHECK(x->id > 0);
    sql_i64(st, 1, (int64_t)x->id);
    sql_i64(st, 2, x->user);
    sql_i64(st, 3, x->project);
    sql_i64(st, 4, x->group);
    sql_cstr(st, 5, x->name);
    sql_cstr(st, 6, wire_name_of(names_session_kind, (int32_t)x->kind));
    sql_cstr(st, 7, wire_name_of(names_session_state, (int32_t)x->state));
    sql_cstr(st, 8, wire_name_of(names_session_outcome, (int32_t)x->outcome));
    sql_i64(st, 9, session_live(x));
    sql_i64(st, 10, x->priority);
    sql_i64(st, 11, x->submitted_wall_ms);
    sql_i64(st, 12, x->ended_wall_ms);
    put_doc(s, st, 13, &wire_row_session, row);
    return run(s, W_SESSION, st, err);
}

static int put_alloc(struct sqlite_store *s, const struct alloc_row *row, bool released,
                     struct err *err)
{
    const struct alloc *a = &row->alloc;
    sqlite3_stmt *st = sql_stmt(&s->q, W_ALLOC, err);
    if (!st) return ERR_IO;
    CHECK(a->ref.session > 0);
    CHECK(a->node > 0);
    sql_i64(st, 1, (int64_t)a->ref.session);
    sql_i64(st, 2, a->ref.attempt);
    sql_i64(st, 3, a->ref.member);
    sql_i64(st, 4, a->node);
    sql_i64(st, 5, released);
    put_doc(s, st, 6, &wire_row_alloc, row);
    return run(s, W_ALLOC, st, err);
}

static int put_node(struct sqlite_store *s, const struct node *n, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_NODE, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, n->id);
    sql_cstr(st, 2, n->name);
    sql_i64(st, 3, n->group);
    put_doc(s, st, 4, &wire_row_node, n);
    return run(s, W_NODE, st, err);
}

static int put_group(struct sqlite_store *s, const struct group *g, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_GROUP, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, g->id);
    sql_cstr(st, 2, g->name);
    put_doc(s, st, 3, &wire_row_group, g);
    return run(s, W_GROUP, st, err);
}

static int put_reservation(struct sqlite_store *s, const struct reservation *r, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_RESERVATION, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, r->id);
    put_doc(s, st, 2, &wire_row_reservation, r);
    return run(s, W_RESERVATION, st, err);
}

static int put_domain(struct sqlite_store *s, const struct domain *d, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_DOMAIN, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, d->id);
    sql_cstr(st, 2, d->name);
    put_doc(s, st, 3, &wire_row_domain, d);
    return run(s, W_DOMAIN, st, err);
}

static int put_project(struct sqlite_store *s, const struct project *p, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_PROJECT, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, p->id);
    sql_i64(st, 2, p->domain);
    sql_cstr(st, 3, p->name);
    put_doc(s, st, 4, &wire_row_project, p);
    return run(s, W_PROJECT, st, err);
}

static int put_user(struct sqlite_store *s, const struct user *u, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_USER, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, u->id);
    sql_i64(st, 2, u->domain);
    sql_cstr(st, 3, u->name);
    sql_cstr(st, 4, wire_name_of(names_account_role, (int32_t)u->role));
    put_doc(s, st, 5, &wire_row_user, u);
    return run(s, W_USER, st, err);
}

static int put_document(struct sqlite_store *s, uint64_t session, const char *text,
                        struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_DOC, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, (int64_t)session);
    sql_cstr(st, 2, text);
    return run(s, W_DOC, st, err);
}

static int add_history(struct sqlite_store *s, uint64_t turn, const struct history *h,
                       struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_HISTORY, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, (int64_t)turn);
    sql_i64(st, 2, s->history++);
    sql_i64(st, 3, (int64_t)h->session);
    sql_cstr(st, 4, wire_name_of(names_history, (int32_t)h->what));
    sql_i64(st, 5, h->wall_ms);
    put_doc(s, st, 6, &wire_row_history, h);
    return run(s, W_HISTORY, st, err);
}

static int put_token(struct sqlite_store *s, const struct store_token *t, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_TOKEN, err);
    if (!st) return ERR_IO;
    CHECK(t->kind >= STORE_TOKEN_API);
    CHECK(t->kind < STORE_TOKEN_KINDS);
    sql_cstr(st, 1, t->hash);
    sql_i64(st, 2, (int64_t)t->kind);
    sql_i64(st, 3, t->user);
    sql_cstr(st, 4, t->name);
    sql_i64(st, 5, t->created_wall_ms);
    sql_i64(st, 6, t->expires_wall_ms);
    return run(s, W_TOKEN, st, err);
}

static int sweep_idem(struct sqlite_store *s, int64_t wall_ms, struct err *err)
{
    s->swept = true;
    sqlite3_stmt *st = sql_stmt(&s->q, W_IDEM_SWEEP, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, wall_ms - IDEM_KEEP_MS);
    return run(s, W_IDEM_SWEEP, st, err);
}

static int put_idem(struct sqlite_store *s, const struct store_idem *i, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_IDEM, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, i->user);
    sql_cstr(st, 2, i->key);
    sql_i64(st, 3, (int64_t)i->session);
    sql_cstr(st, 4, i->body_hash);
    sql_i64(st, 5, i->wall_ms);
    int rc = run(s, W_IDEM, st, err);
    return rc || s->swept ? rc : sweep_idem(s, i->wall_ms, err);
}

static int put_meta(struct sqlite_store *s, const struct store_meta *m, struct err *err)
{
    static const char *const ours[] = {"cluster", "incarnation", "created"};
    for (size_t i = 0; i < ARRAY_LEN(ours); i++) CHECK(strcmp(m->key, ours[i]) != 0);
    sqlite3_stmt *st = sql_stmt(&s->q, W_META, err);
    if (!st) return ERR_IO;
    sql_cstr(st, 1, m->key);
    sql_cstr(st, 2, m->value);
    return run(s, W_META, st, err);
}

/* Statements with one parameter. */
static int run_id(struct sqlite_store *s, enum write_stmt which, uint32_t id, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, which, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, id);
    return run(s, which, st, err);
}

static int run_text(struct sqlite_store *s, enum write_stmt which, const char *v, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, which, err);
    if (!st) return ERR_IO;
    sql_cstr(st, 1, v);
    return run(s, which, st, err);
}

static int run_plain(struct sqlite_store *s, enum write_stmt which, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, which, err);
    return st ? run(s, which, st, err) : ERR_IO;
}

static int write_op(struct sqlite_store *s, uint64_t turn, const struct store_op *op,
                    struct err *err)
{
    switch (op->kind) {
    case STORE_PUT_SESSION: return put_session(s, &op->u.session_row, err);
    case STORE_PUT_ALLOC: return put_alloc(s, &op->u.alloc_row, false, err);
    case STORE_RELEASE_ALLOC: return put_alloc(s, &op->u.alloc_row, true, err);
    case STORE_PUT_NODE: return put_node(s, op->u.node, err);
    case STORE_REMOVE_NODE: return run_id(s, W_NODE_GONE, op->u.node_id, err);
    case STORE_PUT_GROUP: return put_group(s, &op->u.group, err);
    case STORE_PUT_RESERVATION: return put_reservation(s, &op->u.reservation, err);
    case STORE_REMOVE_RESERVATION:
        return run_id(s, W_RESERVATION_GONE, op->u.reservation_id, err);
    case STORE_PUT_DOMAIN: return put_domain(s, &op->u.domain, err);
    case STORE_PUT_PROJECT: return put_project(s, &op->u.project, err);
    case STORE_PUT_USER: return put_user(s, &op->u.user, err);
    case STORE_PUT_DOC: return put_document(s, op->u.doc.session, op->u.doc.text, err);
    case STORE_ADD_HISTORY: return add_history(s, turn, &op->u.history, err);
    case STORE_PUT_TOKEN: return put_token(s, &op->u.token, err);
    case STORE_REMOVE_TOKEN: return run_text(s, W_TOKEN_GONE, op->u.token_hash, err);
    case STORE_PUT_IDEM: return put_idem(s, &op->u.idem, err);
    case STORE_PUT_META: return put_meta(s, &op->u.meta, err);
    case STORE_OP_KINDS: break;
    }
    UNREACHABLE();
}

/* ---- the transaction ---- */

static int last_turn(struct sqlite_store *s, int64_t *ret, struct err *err)
{
    sqlite3_stmt *st = sql_stmt(&s->q, W_LAST, err);
    if (!st) return ERR_IO;
    int more = sql_next(&s->q, st, err, sqlite_write_texts[W_LAST]);
    if (more < 0) return more;
    CHECK(more == 1); /* an aggregate always gives one row */
    *ret = sql_get_i64(st, 0);
    sqlite3_reset(st);
    return 0;
}

static int put_turn(struct sqlite_store *s, const struct store_turn *t, struct err *err)
{
    int64_t last = 0, no = (int64_t)t->no;
    int rc = last_turn(s, &last, err);
    if (rc) return rc;
    if (no <= last) {
        return err_set(err, ERR_CONFLICT, "store: turn %lld is taken (the last is %lld)",
                       (long long)no, (long long)last);
    }
    if (no > last + 1) {
        return err_set(err, ERR_INVALID, "store: turn %lld leaves a gap after %lld", (long long)no,
                       (long long)last);
    }
    sqlite3_stmt *st = sql_stmt(&s->q, W_TURN, err);
    if (!st) return ERR_IO;
    sql_i64(st, 1, no);
    sql_cstr(st, 2, t->leader);
    sql_i64(st, 3, t->core_ms);
    sql_i64(st, 4, t->wall_ms);
    sql_i64(st, 5, t->ops.n);
    return run(s, W_TURN, st, err);
}

/* Undoes what is open.  When even that fails the connection goes, and with it
 * the transaction. */
static void undo(struct sqlite_store *s)
{
    if (sqlite3_get_autocommit(s->q.db)) return;
    if (sql_exec(&s->q, "ROLLBACK", NULL) != 0) sqlite_drop(s);
}

static int unknown(struct sqlite_store *s, struct err *err, const char *why)
{
    sqlite_drop(s);
    return err_set(err, ERR_UNKNOWN, "store: whether the turn was stored is not known: %s", why);
}

static int finish(struct sqlite_store *s, struct err *err)
{
    if (fault_due(s, STORE_FAULT_UNKNOWN_LOST)) return unknown(s, err, "lost on purpose");
    bool silent = fault_due(s, STORE_FAULT_UNKNOWN_STORED);
    struct err own = {0};
    int rc = run_plain(s, W_COMMIT, &own);
    if (rc == 0) return silent ? unknown(s, err, "stored on purpose") : 0;
    /* Busy and full are refusals before anything is durable; a failed write or
     * sync may have left the whole turn in the log. */
    bool disk = s->q.db && (sqlite3_errcode(s->q.db) & 0xff) == SQLITE_IOERR;
    if (disk) return unknown(s, err, own.text);
    if (err) *err = own;
    undo(s);
    return rc;
}

int sqlite_commit(struct store *base, const struct store_turn *turn, struct err *err)
{
    struct sqlite_store *s = (struct sqlite_store *)base;
    s->counted = s->history = 0;
    s->swept = false;
    int rc = sqlite_ready(s, err);
    if (!rc) rc = run_plain(s, W_BEGIN, err);
    if (rc) return rc;
    rc = put_turn(s, turn, err);
    for (uint32_t i = 0; i < turn->ops.n && !rc; i++) {
        rc = write_op(s, turn->no, &turn->ops.v[i], err);
    }
    if (rc) {
        undo(s);
        return rc;
    }
    rc = finish(s, err);
    if (rc == 0) checkpoint_wake(s->checkpoint, s->log_pages);
    return rc;
}

int sqlite_last_turn(struct store *base, uint64_t *ret_no, struct err *err)
{
    struct sqlite_store *s = (struct sqlite_store *)base;
    int64_t last = 0;
    int rc = sqlite_ready(s, err);
    if (!rc) rc = last_turn(s, &last, err);
    if (!rc) *ret_no = (uint64_t)last;
    return rc;
}

int sqlite_put_first_rows(struct sqlite_store *s, const struct store_options *o, struct err *err)
{
    static const struct domain domain = {.id = 1, .name = "default"};
    static const struct project project = {.id = 1, .domain = 1, .name = "default"};
    struct group group = group_make(1, "default", BLOCKED_BACKFILL);
    struct user admin = {.id = 1, .domain = 1, .name = "admin", .role = ROLE_ADMIN,
                         .uid = o->admin_uid ? o->admin_uid : user_own_id(1),
                         .gid = o->admin_gid ? o->admin_gid : user_own_id(1)};
    int rc = put_domain(s, &domain, err);
    if (!rc) rc = put_project(s, &project, err);
    if (!rc) rc = put_user(s, &admin, err);
    if (!rc) rc = put_group(s, &group, err);
    return rc;
}
