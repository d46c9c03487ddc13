/* Opening: one holder, one owner, no older program on newer rows, no damaged row unnamed. */
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "rig.h"

#include "base/mem.h"

static int try_open(struct rig *r, struct store **ret)
{
    struct store_options o = {.path = r->path, .wall_ms = RIG_WALL};
    return store_open(&o, ret, &r->err);
}

/* Changes the file behind Rota's back. */
static void tamper(struct rig *r, const char *sql)
{
    sqlite3 *db = NULL;
    char *why = NULL;
    assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", sql, why);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void a_second_holder_is_refused(void **state)
{
    (void)state;
    struct rig r;
    struct store *other = NULL;
    rig_init(&r);
    rig_open(&r);
    assert_int_equal(try_open(&r, &other), ERR_CONFLICT);
    assert_non_null(strstr(r.err.text, "another manager"));
    pid_t pid = fork(); /* nor from another process */
    if (pid == 0) {
        int fd = open(r.path, O_RDONLY | O_CLOEXEC);
        _exit(fd >= 0 && try_open(&r, &other) == ERR_CONFLICT ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    rig_close(&r);
    rig_open(&r);
    rig_done(&r);
}

static void only_the_owner_can_read_the_file(void **state)
{
    (void)state;
    struct rig r;
    struct stat st;
    rig_init(&r);
    rig_open(&r);
    assert_int_equal(stat(r.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    rig_done(&r);
}

static void what_is_not_a_store_is_refused(void **state)
{
    (void)state;
    static const struct { const char *sql; int code; const char *says; } rows[] = {
        {"CREATE TABLE other(x)", ERR_CORRUPT, "another program"},
        {"PRAGMA application_id = 7", ERR_CORRUPT, "another program"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig r;
        struct store *s = NULL;
        rig_init(&r);
        tamper(&r, rows[i].sql);
        assert_int_equal(try_open(&r, &s), rows[i].code);
        assert_non_null(strstr(r.err.text, rows[i].says));
        rig_done(&r);
    }
    struct rig r;
    struct store *s = NULL;
    rig_init(&r);
    rig_open(&r); /* one that has lost its name is no new one */
    rig_close(&r);
    tamper(&r, "DELETE FROM meta");
    assert_int_equal(try_open(&r, &s), ERR_CORRUPT);
    rig_done(&r);
    rig_init(&r);
    int fd = open(r.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    static const char text[] = "this is a text of some length and no database at all, clearly";
    for (int i = 0; i < 100; i++) assert_true(write(fd, text, sizeof(text)) > 0);
    close(fd);
    assert_int_equal(try_open(&r, &s), ERR_CORRUPT);
    rig_done(&r);
}

static void a_newer_schema_is_refused(void **state)
{
    (void)state;
    struct rig r;
    struct store *s = NULL;
    rig_init(&r);
    rig_open(&r);
    rig_close(&r);
    tamper(&r, "INSERT INTO migration VALUES(99, 0, '9.9.9')");
    assert_int_equal(try_open(&r, &s), ERR_UNSUPPORTED);
    assert_non_null(strstr(r.err.text, "newer version"));
    tamper(&r, "DELETE FROM migration WHERE version = 99");
    rig_open(&r);
    rig_done(&r);
}

static void a_missing_directory_is_said(void **state)
{
    (void)state;
    struct err err = {0};
    struct store *s = NULL;
    struct store_options o = {.path = "/nonexistent/store.db"};
    assert_int_equal(store_open(&o, &s, &err), ERR_IO);
    assert_non_null(strstr(err.text, "/nonexistent/store.db"));
}

static void a_restored_store_is_a_new_incarnation(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    char cluster[33], incarnation[33];
    TEXT_CLIP(cluster, str_of(store_cluster(r.store)));
    TEXT_CLIP(incarnation, str_of(store_incarnation(r.store)));
    rig_close(&r);
    struct store_options o = {.path = r.path, .wall_ms = RIG_WALL, .new_incarnation = true};
    OK(&r, store_open(&o, &r.store, &r.err));
    assert_string_equal(store_cluster(r.store), cluster);
    assert_string_not_equal(store_incarnation(r.store), incarnation);
    TEXT_CLIP(incarnation, str_of(store_incarnation(r.store)));
    rig_close(&r);
    rig_open(&r);
    assert_string_equal(store_incarnation(r.store), incarnation);
    rig_done(&r);
}

static void a_backup_is_the_same_world(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    struct event ev = rig_join("n1", 2);
    OK(&r, rig_step(&r, &ev));
    ev = rig_submit("a", 2);
    OK(&r, rig_step(&r, &ev));
    AUTO_FREE char *before = rig_dump(&r);
    char copy[128];
    text_fmt(copy, sizeof(copy), "%s/copy.db", r.dir);
    OK(&r, store_backup(r.store, copy, &r.err));
    assert_int_equal(store_backup(r.store, copy, &r.err), ERR_IO); /* never over an old one */
    ev = rig_submit("later", 1);
    OK(&r, rig_step(&r, &ev));
    rig_close(&r);
    char original[96];
    TEXT_CLIP(original, str_of(r.path));
    TEXT_CLIP(r.path, str_of(copy));
    rig_open(&r);
    AUTO_FREE char *after = rig_dump(&r);
    assert_string_equal(before, after);
    TEXT_CLIP(r.path, str_of(original));
    rig_done(&r);
}

/* Before schema 3 a device was healthy, or said nothing. */
static void health_of_older_rows_is_kept(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    struct event ev = rig_join("n1", 3);
    ev.u.join.node.devices[1].health = DEVICE_UNREADABLE;
    OK(&r, rig_step(&r, &ev));
    ev = rig_join("n2", 0);
    OK(&r, rig_step(&r, &ev));
    AUTO_FREE char *before = rig_dump(&r);
    rig_close(&r);
    tamper(&r, "UPDATE node SET doc ="
               " replace(doc, '\"health\":\"healthy\"', '\"healthy\":true')");
    tamper(&r, "DELETE FROM migration WHERE version >= 3");
    rig_open(&r);
    AUTO_FREE char *after = rig_dump(&r);
    assert_string_equal(before, after);
    rig_done(&r);
}

/* Before schema 4 who had no uid of its own was nobody. */
static void nobody_of_older_rows_is_somebody(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    AUTO_FREE char *before = rig_dump(&r);
    char own[32];
    text_fmt(own, sizeof(own), "uid=%u", user_own_id(1));
    assert_non_null(strstr(before, own));
    rig_close(&r);
    tamper(&r, "UPDATE user SET doc = json_set(doc, '$.uid', 65534, '$.gid', 65534)");
    tamper(&r, "DELETE FROM migration WHERE version >= 4");
    rig_open(&r);
    AUTO_FREE char *after = rig_dump(&r);
    assert_string_equal(before, after);
    rig_done(&r);
}

/* A world with something of everything, then one row spoilt. */
static void a_spoilt_row_is_named(void **state)
{
    (void)state;
    static const struct { const char *sql; int code; const char *says; } rows[] = {
        {"UPDATE session SET doc = '{' WHERE id = 1", ERR_CORRUPT, "row 1 of session"},
        {"UPDATE session SET doc = replace(doc, '\"v\":1', '\"v\":2')", ERR_UNSUPPORTED,
         "version 2"},
        {"UPDATE session SET doc = replace(doc, '\"id\":1', '\"id\":9')", ERR_CORRUPT,
         "row 1 of session"},
        {"UPDATE session SET doc = replace(doc, '\"user\":1', '\"user\":9')", ERR_CORRUPT, "user"},
        {"UPDATE session SET doc = replace(doc, 'priority', 'priorty')", ERR_CORRUPT, "priorty"},
        {"UPDATE session SET doc = replace(doc, 'allocated', 'ended')", ERR_CORRUPT,
         "row 1 of session"},
        {"UPDATE alloc SET doc = replace(doc, '\"node\":1', '\"node\":7')", ERR_CORRUPT, "node"},
        {"UPDATE alloc SET doc = x'ff'", ERR_CORRUPT, "of alloc"},
        {"UPDATE node SET doc = replace(doc, '\"gpu\":2', '\"gpu\":3')", ERR_CORRUPT,
         "row 1 of node"},
        {"UPDATE node SET doc = ''", ERR_CORRUPT, "row 1 of node"},
        {"UPDATE grp SET doc = replace(doc, 'backfill', 'maybe')", ERR_CORRUPT, "row 1 of grp"},
        {"UPDATE user SET doc = replace(doc, 'admin', 'x')", ERR_CORRUPT, "row 1 of user"},
        {"DELETE FROM project", ERR_CORRUPT, "project"},
        {"DELETE FROM turn", ERR_CORRUPT, "history knows turn 2, the last one is 0"},
        {"DELETE FROM turn WHERE no = 2", ERR_CORRUPT, "history knows turn 2"},
        {"DROP TABLE alloc", ERR_CORRUPT, "alloc"},
        {"ALTER TABLE session DROP COLUMN doc", ERR_CORRUPT, "doc"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rig r;
        rig_init(&r);
        rig_open(&r);
        struct event ev = rig_join("n1", 2);
        OK(&r, rig_step(&r, &ev));
        ev = rig_submit("a", 1);
        OK(&r, rig_step(&r, &ev));
        assert_int_equal(world_session(r.world, 1)->state, SESSION_ALLOCATED);
        rig_close(&r);
        tamper(&r, rows[i].sql);
        assert_int_equal(try_open(&r, &r.store), 0);
        r.world = world_new();
        int rc = store_load(r.store, r.world, &r.err);
        if (rc != rows[i].code || !strstr(r.err.text, rows[i].says)) {
            fail_msg("%s: %d %s", rows[i].sql, rc, r.err.text);
        }
        rig_done(&r);
    }
}

/* Under constant writing the log is moved into the database beside the writer. */
static void the_log_stays_bounded(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    char big[16384];
    memset(big, 'x', sizeof(big));
    memcpy(big, "{\"a\":\"", 6);
    memcpy(big + sizeof(big) - 2, "\"}", 2);
    struct stat st = {0};
    char log[128];
    text_fmt(log, sizeof(log), "%s-wal", r.path);
    off_t largest = 0;
    for (uint64_t i = 0; i < 60; i++) { /* 120 MiB */
        struct store_turn t = rig_turn(&r);
        for (uint64_t j = 0; j < 128; j++) {
            store_turn_doc(&t, 1 + (i % 4) * 128 + j, str_n(big, sizeof(big)));
        }
        OK(&r, store_commit(r.store, &t, &r.err));
        store_turn_done(&t);
        assert_int_equal(stat(log, &st), 0);
        if (st.st_size > largest) largest = st.st_size;
    }
    assert_true(largest < (off_t)100 << 20);
    rig_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_holder_is_refused),
        cmocka_unit_test(only_the_owner_can_read_the_file),
        cmocka_unit_test(what_is_not_a_store_is_refused),
        cmocka_unit_test(a_newer_schema_is_refused),
        cmocka_unit_test(a_missing_directory_is_said),
        cmocka_unit_test(a_restored_store_is_a_new_incarnation),
        cmocka_unit_test(a_backup_is_the_same_world),
        cmocka_unit_test(health_of_older_rows_is_kept),
        cmocka_unit_test(nobody_of_older_rows_is_somebody),
        cmocka_unit_test(a_spoilt_row_is_named),
        cmocka_unit_test(the_log_stays_bounded),
    };
    return RUN(tests);
}
