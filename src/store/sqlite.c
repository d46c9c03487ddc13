/* store/sqlite.c - opening the one file, holding it for life, copying it.
 *
 * The lock is a file of its own beside the database: SQLite's exclusive mode would
 * shut out the readers.  docs/spec/store.md */
#include "store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/check.h"
#include "store/schema.h"

/* ---- the file ---- */

static int take_lock(struct sqlite_store *s, struct err *err)
{
    char path[4096];
    if (text_fmt(path, sizeof(path), "%s.lock", s->path) >= (int)sizeof(path) - 1) {
        return err_set(err, ERR_INVALID, "store: the path is too long");
    }
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock_fd < 0) return err_sys(err, ERR_IO, errno, "store: %s", path);
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK) return err_sys(err, ERR_IO, errno, "store: lock %s", path);
    return err_set(err, ERR_CONFLICT, "store: another manager is using %s", s->path);
}

/* So that only the owner can read it from its first moment on. */
static int make_private(const char *path, int more, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | more, 0600);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "store: %s", path);
    close(fd);
    return 0;
}

static int on_log(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct sqlite_store *s = arg;
    (void)db;
    (void)name;
    s->log_pages = pages > 0 ? (uint32_t)pages : 0;
    return SQLITE_OK;
}

static int connect(struct sqlite_store *s, struct err *err)
{
    int rc = sql_open(&s->q, s->path, SQLITE_OPEN_READWRITE, err);
    if (rc) return rc;
    static const char *const settings[] = {
        "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA cache_size = -2000",
        "PRAGMA temp_store = MEMORY", "PRAGMA journal_size_limit = 67108864",
        "PRAGMA trusted_schema = OFF",
    };
    for (size_t i = 0; i < ARRAY_LEN(settings) && !rc; i++) rc = sql_exec(&s->q, settings[i], err);
    if (rc) {
        sql_close(&s->q);
        return rc;
    }
    sqlite3_wal_hook(s->q.db, on_log, s); /* replaces the automatic checkpoint in a turn */
    sql_use(&s->q, sqlite_write_texts, sqlite_write_count);
    return 0;
}

int sqlite_ready(struct sqlite_store *s, struct err *err)
{
    return s->q.db ? 0 : connect(s, err);
}

void sqlite_drop(struct sqlite_store *s) { sql_close(&s->q); }

static void close_store(struct store *base)
{
    struct sqlite_store *s = (struct sqlite_store *)base;
    checkpoint_stop(s->checkpoint);
    sql_close(&s->q);
    strbuf_done(&s->doc);
    if (s->lock_fd >= 0) close(s->lock_fd);
    mem_free(s->path);
    mem_free(s);
}

/* ---- what a new store begins with ---- */

static int random_id(char ret[33], struct err *err)
{
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        return err_sys(err, ERR_IO, errno, "store: random numbers");
    }
    for (size_t i = 0; i < sizeof(bytes); i++) text_fmt(ret + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int put_meta(struct sqlite_store *s, const char *key, const char *value, struct err *err)
{
    char text[512]; /* both are words of our own */
    text_fmt(text, sizeof(text),
             "INSERT INTO meta(key, value) VALUES('%s', '%s') ON CONFLICT(key) DO UPDATE SET "
             "value = excluded.value", key, value);
    return sql_exec(&s->q, text, err);
}

static int fill_new(struct sqlite_store *s, const struct store_options *o, struct err *err)
{
    char cluster[33], incarnation[33], created[24];
    int rc = random_id(cluster, err);
    if (!rc) rc = random_id(incarnation, err);
    if (rc) return rc;
    text_fmt(created, sizeof(created), "%lld", (long long)o->wall_ms);
    rc = put_meta(s, "cluster", cluster, err);
    if (!rc) rc = put_meta(s, "incarnation", incarnation, err);
    if (!rc) rc = put_meta(s, "created", created, err);
    if (!rc) rc = sqlite_put_first_rows(s, o, err);
    return rc;
}

static int renew(struct sqlite_store *s, struct err *err)
{
    char incarnation[33];
    int rc = random_id(incarnation, err);
    return rc ? rc : put_meta(s, "incarnation", incarnation, err);
}

/* A store that has lost its name is not a new one: its agents know another. */
static int check_new(struct sqlite_store *s, struct err *err)
{
    int64_t rows = 0;
    int rc = sql_number(&s->q, "SELECT (SELECT count(*) FROM user) + (SELECT count(*) FROM turn)",
                        &rows, err);
    if (rc || rows == 0) return rc;
    return err_set(err, ERR_CORRUPT, "store: its cluster id or incarnation is missing");
}

static int prepare_rows(struct sqlite_store *s, const struct store_options *o, struct err *err)
{
    int64_t have = 0;
    int rc = sql_exec(&s->q, "BEGIN IMMEDIATE", err);
    if (rc) return rc;
    rc = sql_number(&s->q, "SELECT count(*) FROM meta WHERE key = 'cluster'", &have, err);
    if (!rc && have == 0) rc = check_new(s, err);
    if (!rc && have == 0) rc = fill_new(s, o, err);
    else if (!rc && o->new_incarnation) rc = renew(s, err);
    if (!rc) rc = sql_exec(&s->q, "COMMIT", err);
    if (rc && !sqlite3_get_autocommit(s->q.db)) (void)sql_exec(&s->q, "ROLLBACK", NULL);
    return rc;
}

static int read_id(struct sqlite_store *s, const char *text, char ret[33], struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(s->q.db, text, -1, &st, NULL);
    if (rc != SQLITE_OK) return sql_fail(&s->q, rc, err, text);
    int more = sql_next(&s->q, st, err, text);
    struct str id = more > 0 ? sql_get_text(st, 0) : str_n(NULL, 0);
    bool good = more > 0 && id.n == 32 && text_set(ret, 33, id);
    sqlite3_finalize(st);
    if (more < 0) return more;
    return good ? 0 : err_set(err, ERR_CORRUPT, "store: its cluster id or incarnation is missing");
}

/* ---- copying ---- */

static int copy_pages(struct sql *from, struct sql *to, struct err *err)
{
    sqlite3_backup *b = sqlite3_backup_init(to->db, "main", from->db, "main");
    if (!b) return sql_fail(to, sqlite3_errcode(to->db), err, "backup");
    int rc = sqlite3_backup_step(b, -1);
    int end = sqlite3_backup_finish(b);
    if (rc == SQLITE_DONE && end == SQLITE_OK) return 0;
    return sql_fail(to, rc == SQLITE_DONE ? end : rc, err, "backup");
}

/* A connection of its own: one long read, which the writer does not wait for. */
static int backup(struct store *base, const char *path, struct err *err)
{
    struct sqlite_store *s = (struct sqlite_store *)base;
    struct sql from = {0}, to = {0};
    int rc = make_private(path, O_EXCL, err);
    if (rc) return rc;
    rc = sql_open(&from, s->path, SQLITE_OPEN_READONLY, err);
    if (!rc) rc = sql_open(&to, path, SQLITE_OPEN_READWRITE, err);
    if (!rc) rc = copy_pages(&from, &to, err);
    sql_close(&to);
    sql_close(&from);
    if (rc) (void)unlink(path);
    return rc;
}

/* ---- opening ---- */

static void set_fault(struct store *base, uint32_t n, enum store_fault_kind kind)
{
    struct sqlite_store *s = (struct sqlite_store *)base;
    s->fault.kind = kind;
    s->fault.left = n;
}

static uint32_t statements(const struct store *base)
{
    return ((const struct sqlite_store *)base)->counted;
}

static const struct store_ops ops = {
    .close = close_store, .commit = sqlite_commit, .last_turn = sqlite_last_turn,
    .load = sqlite_load, .backup = backup, .fault = set_fault, .statements = statements,
};

static int open_all(struct sqlite_store *s, const struct store_options *o, struct err *err)
{
    int rc = take_lock(s, err);
    if (!rc) rc = make_private(s->path, O_NOFOLLOW, err);
    if (!rc) rc = connect(s, err);
    if (!rc) rc = schema_migrate(&s->q, o->wall_ms, err);
    if (!rc) rc = prepare_rows(s, o, err);
    if (!rc) {
        rc = read_id(s, "SELECT value FROM meta WHERE key = 'cluster'", s->base.cluster, err);
    }
    if (!rc) {
        rc = read_id(s, "SELECT value FROM meta WHERE key = 'incarnation'", s->base.incarnation,
                     err);
    }
    if (rc) return rc;
    s->checkpoint = checkpoint_start(s->path);
    return s->checkpoint ? 0 : err_set(err, ERR_IO, "store: no thread for checkpoints");
}

int sqlite_store_open(const struct store_options *options, struct store **ret, struct err *err)
{
    struct sqlite_store *s = mem_alloc(sizeof(*s));
    s->base.ops = &ops;
    s->path = mem_strndup(options->path, strlen(options->path));
    s->lock_fd = -1;
    strbuf_init(&s->doc, 1u << 20);
    int rc = open_all(s, options, err);
    if (rc) {
        close_store(&s->base);
        return rc;
    }
    *ret = &s->base;
    return 0;
}
