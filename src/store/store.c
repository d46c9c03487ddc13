/* store/store.c - the doors of store.h onto whatever database is behind them.
 *
 * What every backend would have to check alike is checked here. */
#include "store/store.h"

#include "base/check.h"
#include "store/backend.h"

int store_open(const struct store_options *options, struct store **ret, struct err *err)
{
    CHECK(options->path != NULL);
    int rc = sqlite_store_open(options, ret, err);
    CHECK(rc != 0 || strlen((*ret)->cluster) == 32);
    return rc;
}

void store_close(struct store *s)
{
    if (s) s->ops->close(s);
}

const char *store_cluster(const struct store *s) { return s->cluster; }
const char *store_incarnation(const struct store *s) { return s->incarnation; }

int store_commit(struct store *s, const struct store_turn *turn, struct err *err)
{
    CHECK(turn->no > 0);
    CHECK(turn->leader[0] != '\0');
    return s->ops->commit(s, turn, err);
}

int store_last_turn(struct store *s, uint64_t *ret_no, struct err *err)
{
    return s->ops->last_turn(s, ret_no, err);
}

int store_load(struct store *s, struct world *w, struct err *err)
{
    CHECK(!w->ready);
    return s->ops->load(s, w, err);
}

int store_backup(struct store *s, const char *path, struct err *err)
{
    return s->ops->backup(s, path, err);
}

void store_fault(struct store *s, uint32_t n, enum store_fault_kind kind)
{
    CHECK((n == 0) == (kind == STORE_FAULT_NONE));
    s->ops->fault(s, n, kind);
}

uint32_t store_statements(const struct store *s) { return s->ops->statements(s); }

int store_reader_open(const char *path, struct store_reader **ret, struct err *err)
{
    return sqlite_reader_open(path, ret, err);
}

void store_reader_close(struct store_reader *r)
{
    if (r) r->ops->close(r);
}

int store_read_doc(struct store_reader *r, uint64_t session, char **ret_json, struct err *err)
{
    return r->ops->doc(r, session, ret_json, err);
}

int store_read_session(struct store_reader *r, uint64_t id, struct session_row *ret,
                       struct err *err)
{
    return r->ops->session(r, id, ret, err);
}

int store_read_session_named(struct store_reader *r, uint32_t user, struct str name,
                             struct session_row *ret, struct err *err)
{
    return r->ops->named(r, user, name, ret, err);
}

int store_read_sessions(struct store_reader *r, const struct store_filter *f,
                        struct store_sessions *ret, struct err *err)
{
    if (f->limit < 1 || f->limit > 1000) {
        err_set(err, ERR_INVALID, "limit: expected 1 to 1000, got %u", f->limit);
        err_field(err, "limit");
        return ERR_INVALID;
    }
    return r->ops->sessions(r, f, ret, err);
}

int store_read_history(struct store_reader *r, const struct store_after *after,
                       struct store_events *ret, struct err *err)
{
    CHECK(after->limit > 0);
    return r->ops->history(r, after, ret, err);
}

int store_read_last_turn(struct store_reader *r, uint64_t *ret_no, struct err *err)
{
    return r->ops->last_turn(r, ret_no, err);
}

int store_read_placements(struct store_reader *r, uint64_t session, struct store_placements *ret,
                          struct err *err)
{
    return r->ops->placements(r, session, ret, err);
}

int store_read_idem(struct store_reader *r, uint32_t user, struct str key, struct store_idem *ret,
                    struct err *err)
{
    return r->ops->idem(r, user, key, ret, err);
}

int store_read_tokens(struct store_reader *r, struct store_tokens *ret, struct err *err)
{
    return r->ops->tokens(r, ret, err);
}

int store_read_meta(struct store_reader *r, const char *key, struct store_meta *ret,
                    struct err *err)
{
    return r->ops->meta(r, key, ret, err);
}
