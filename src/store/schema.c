/* store/schema.c - migrations, oldest first; one that was released is never changed.
 *
 * One row per object: the columns that people query, and `doc`, the versioned
 * JSON that Rota itself reads back (wire/rows.h).  Words (state, kind) are for
 * whoever looks with the sqlite3 shell. */
#include "store/schema.h"

#include "base/check.h"
#include "base/mem.h"

static const char *const migrations[] = {
    /* 1 */
    "CREATE TABLE turn(no INTEGER PRIMARY KEY, leader TEXT NOT NULL, core_ms INTEGER NOT NULL,"
    " wall_ms INTEGER NOT NULL, changes INTEGER NOT NULL);"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE domain(id INTEGER PRIMARY KEY, name TEXT NOT NULL, doc TEXT NOT NULL);"
    "CREATE TABLE project(id INTEGER PRIMARY KEY, domain INTEGER NOT NULL, name TEXT NOT NULL,"
    " doc TEXT NOT NULL);"
    "CREATE TABLE user(id INTEGER PRIMARY KEY, domain INTEGER NOT NULL, name TEXT NOT NULL,"
    " role TEXT NOT NULL, doc TEXT NOT NULL);"
    "CREATE TABLE grp(id INTEGER PRIMARY KEY, name TEXT NOT NULL, doc TEXT NOT NULL);"
    /* A forgotten node stays as a row: its number is never used again, and old
     * placements keep their names. */
    "CREATE TABLE node(id INTEGER PRIMARY KEY, name TEXT NOT NULL, grp INTEGER NOT NULL,"
    " gone INTEGER NOT NULL DEFAULT 0, doc TEXT NOT NULL);"
    "CREATE TABLE session(id INTEGER PRIMARY KEY, user INTEGER NOT NULL, project INTEGER NOT NULL,"
    " grp INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,"
    " outcome TEXT NOT NULL, live INTEGER NOT NULL, priority INTEGER NOT NULL,"
    " submitted_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL, doc TEXT NOT NULL);"
    "CREATE INDEX session_live ON session(id) WHERE live = 1;"
    "CREATE INDEX session_named ON session(user, name, id);"
    "CREATE INDEX session_user ON session(user, id);"
    "CREATE TABLE document(session INTEGER PRIMARY KEY, doc TEXT NOT NULL);"
    "CREATE TABLE alloc(session INTEGER NOT NULL, attempt INTEGER NOT NULL,"
    " member INTEGER NOT NULL, node INTEGER NOT NULL, released INTEGER NOT NULL,"
    " doc TEXT NOT NULL, PRIMARY KEY(session, attempt, member)) WITHOUT ROWID;"
    "CREATE INDEX alloc_held ON alloc(node) WHERE released = 0;"
    "CREATE TABLE history(turn INTEGER NOT NULL, idx INTEGER NOT NULL, session INTEGER NOT NULL,"
    " what TEXT NOT NULL, wall_ms INTEGER NOT NULL, doc TEXT NOT NULL,"
    " PRIMARY KEY(turn, idx)) WITHOUT ROWID;"
    "CREATE INDEX history_session ON history(session, turn, idx) WHERE session > 0;"
    "CREATE TABLE token(hash TEXT PRIMARY KEY, kind INTEGER NOT NULL, user INTEGER NOT NULL,"
    " name TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE idem(user INTEGER NOT NULL, key TEXT NOT NULL, session INTEGER NOT NULL,"
    " body_hash TEXT NOT NULL, wall_ms INTEGER NOT NULL, PRIMARY KEY(user, key)) WITHOUT ROWID;"
    "CREATE INDEX idem_age ON idem(wall_ms);",
    /* 2 */
    "CREATE TABLE reservation(id INTEGER PRIMARY KEY, doc TEXT NOT NULL);",
    /* 3: a device's health is a word */
    "UPDATE node SET doc = json_set(doc, '$.devices', (SELECT json_group_array(json_remove("
    " CASE WHEN json_extract(d.value, '$.healthy') THEN json_set(d.value, '$.health', 'healthy')"
    " ELSE d.value END, '$.healthy')) FROM json_each(doc, '$.devices') AS d))"
    " WHERE json_type(doc, '$.devices') = 'array';",
    /* 4: who was nobody, as many others were, is somebody (USER_UID_FIRST) */
    "UPDATE user SET doc = json_set(doc, '$.uid', 2100000000 + id)"
    " WHERE json_extract(doc, '$.uid') = 65534;"
    "UPDATE user SET doc = json_set(doc, '$.gid', 2100000000 + id)"
    " WHERE json_extract(doc, '$.gid') = 65534;",
};

uint32_t schema_version(void) { return ARRAY_LEN(migrations); }

static int apply(struct sql *q, uint32_t version, int64_t wall_ms, struct err *err)
{
    CHECK(version >= 1);
    CHECK(version <= ARRAY_LEN(migrations));
    char row[160];
    text_fmt(row, sizeof(row),
             "INSERT INTO migration(version, wall_ms, program) VALUES(%u, %lld, '%s')", version,
             (long long)wall_ms, ROTA_VERSION);
    int rc = sql_exec(q, "BEGIN IMMEDIATE", err);
    if (rc) return rc;
    rc = sql_exec(q, migrations[version - 1], err);
    if (!rc) rc = sql_exec(q, row, err);
    if (!rc) rc = sql_exec(q, "COMMIT", err);
    if (rc && !sqlite3_get_autocommit(q->db)) (void)sql_exec(q, "ROLLBACK", NULL);
    return rc ? err_prefix(err, "migration to schema %u", version) : 0;
}

/* An empty file becomes ours; any other must say that it is. */
static int claim(struct sql *q, struct err *err)
{
    int64_t id = 0, tables = 0;
    int rc = sql_number(q, "PRAGMA application_id", &id, err);
    if (!rc) rc = sql_number(q, "SELECT count(*) FROM sqlite_schema", &tables, err);
    if (rc) return rc;
    if (id == 0 && tables == 0) {
        char text[64];
        text_fmt(text, sizeof(text), "PRAGMA application_id = %d", SCHEMA_APPLICATION_ID);
        rc = sql_exec(q, text, err);
        if (rc) return rc;
    } else if (id != SCHEMA_APPLICATION_ID) {
        return err_set(err, ERR_CORRUPT, "store: this database belongs to another program");
    }
    return sql_exec(q,
                    "CREATE TABLE IF NOT EXISTS migration(version INTEGER PRIMARY KEY,"
                    " wall_ms INTEGER NOT NULL, program TEXT NOT NULL)",
                    err);
}

int schema_migrate(struct sql *q, int64_t wall_ms, struct err *err)
{
    int64_t have = 0;
    int rc = claim(q, err);
    if (!rc) rc = sql_number(q, "SELECT coalesce(max(version), 0) FROM migration", &have, err);
    if (rc) return rc;
    if (have > (int64_t)schema_version()) {
        return err_set(err, ERR_UNSUPPORTED,
                       "store: written by a newer version of Rota (schema %lld, this program "
                       "knows %u)", (long long)have, schema_version());
    }
    for (int64_t v = have + 1; v <= (int64_t)schema_version() && !rc; v++) {
        rc = apply(q, (uint32_t)v, wall_ms, err);
    }
    return rc;
}
