/* manager/idem.c - keys between decision and durability. */
#include "manager/idem.h"
#include "base/check.h"

#define FULL_KEY_MAX (IDEM_KEY_MAX + 16)

static struct str full_key(const struct store_idem *e, char buf[FULL_KEY_MAX])
{
    int n = text_fmt(buf, FULL_KEY_MAX, "%u/%s", e->user, e->key);
    CHECK(n > 0 && n < FULL_KEY_MAX);
    return str_n(buf, (size_t)n);
}

void idem_done(struct idem *i)
{
    map_str_done(&i->by_key);
    VEC_DONE(&i->entries);
    VEC_DONE(&i->free);
}

void idem_clear(struct idem *i) { idem_done(i); }

static enum idem_found judge(const struct store_idem *have, const struct store_idem *ask,
                             uint64_t *ret_session)
{
    if (!str_eq(str_of(have->body_hash), str_of(ask->body_hash))) return IDEM_OTHER_BODY;
    *ret_session = have->session;
    return IDEM_SAME;
}

int idem_find(const struct idem *i, struct store_reader *r, const struct store_idem *ask,
              enum idem_found *ret, uint64_t *ret_session, struct err *err)
{
    char buf[FULL_KEY_MAX];
    uint32_t at = map_str_get(&i->by_key, full_key(ask, buf));
    if (at != MAP_NONE) {
        *ret = judge(&i->entries.v[at], ask, ret_session);
        return 0;
    }
    struct store_idem have;
    int rc = store_read_idem(r, ask->user, str_of(ask->key), &have, err);
    if (rc == ERR_NOT_FOUND) {
        *ret = IDEM_NEW;
        return 0;
    }
    if (rc != 0) return rc;
    /* A clock that went back makes a key live longer, never shorter. */
    if (ask->wall_ms - have.wall_ms >= IDEM_KEEP_MS) *ret = IDEM_NEW;
    else *ret = judge(&have, ask, ret_session);
    return 0;
}

void idem_add(struct idem *i, const struct store_idem *e)
{
    char buf[FULL_KEY_MAX];
    struct str key = full_key(e, buf);
    CHECK(map_str_get(&i->by_key, key) == MAP_NONE);
    uint32_t at;
    if (i->free.n > 0) {
        at = VEC_POP(&i->free);
    } else {
        at = i->entries.n;
        VEC_ADD(&i->entries);
    }
    i->entries.v[at] = *e;
    map_str_put(&i->by_key, key, at);
}

void idem_durable(struct idem *i, const struct store_idem *e)
{
    char buf[FULL_KEY_MAX];
    struct str key = full_key(e, buf);
    uint32_t at = map_str_get(&i->by_key, key);
    if (at == MAP_NONE) return;
    map_str_del(&i->by_key, key);
    VEC_PUSH(&i->free, at);
}
