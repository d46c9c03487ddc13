/* The rig of rig.h: whatever goes wrong in it fails the test that uses it. */
#include "rig.h"

#include "base/check.h"
#include "base/mem.h"

void rig_init(struct rig *r)
{
    *r = (struct rig){.now_ms = 1000};
    text_fmt(r->dir, sizeof(r->dir), "/tmp/rota-store-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    text_fmt(r->path, sizeof(r->path), "%s/store.db", r->dir);
}

void rig_done(struct rig *r)
{
    static const char *const names[] = {"store.db", "store.db-wal", "store.db-shm",
                                        "store.db.lock", "copy.db", "copy.db-wal", "copy.db-shm",
                                        "copy.db.lock"};
    rig_close(r);
    effects_done(&r->fx);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];
        text_fmt(path, sizeof(path), "%s/%s", r->dir, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(r->dir), 0);
}

void rig_reload(struct rig *r)
{
    world_free(r->world);
    r->world = world_new();
    OK(r, store_load(r->store, r->world, &r->err));
    assert_null(world_audit(r->world));
}

void rig_open(struct rig *r)
{
    struct store_options o = {.path = r->path, .wall_ms = RIG_WALL};
    OK(r, store_open(&o, &r->store, &r->err));
    OK(r, store_reader_open(r->path, &r->reader, &r->err));
    rig_reload(r);
}

void rig_close(struct rig *r)
{
    store_reader_close(r->reader);
    store_close(r->store);
    world_free(r->world);
    r->reader = NULL;
    r->store = NULL;
    r->world = NULL;
}

char *rig_dump(struct rig *r)
{
    struct strbuf b;
    strbuf_init(&b, (size_t)64 << 20);
    world_dump(r->world, &b);
    assert_false(b.full);
    return strbuf_steal(&b);
}

struct store_turn rig_turn(struct rig *r)
{
    struct store_turn t = {.core_ms = r->now_ms, .wall_ms = RIG_WALL + r->now_ms};
    TEXT_CLIP(t.leader, STR(RIG_LEADER));
    uint64_t last = 0;
    OK(r, store_last_turn(r->store, &last, &r->err));
    t.no = last + 1;
    return t;
}

struct store_turn rig_step_turn(struct rig *r, struct event *ev)
{
    struct store_turn t = rig_turn(r);
    r->now_ms += 10;
    ev->now_ms = r->now_ms;
    ev->wall_ms = RIG_WALL + r->now_ms;
    t.core_ms = ev->now_ms;
    r->world->turn = t.no;
    step(r->world, ev, &r->fx);
    VEC_EACH(c, &r->fx.changes) store_turn_change(&t, c);
    return t;
}

int rig_step(struct rig *r, struct event *ev)
{
    struct store_turn t = rig_step_turn(r, ev);
    int rc = t.ops.n ? store_commit(r->store, &t, &r->err) : 0;
    store_turn_done(&t);
    return rc;
}

struct event rig_join(const char *name, uint32_t gpus)
{
    struct event ev = {.kind = EVENT_NODE_JOIN};
    struct node *n = &ev.u.join.node;
    TEXT_CLIP(n->name, str_of(name));
    n->group = 1;
    n->capacity = (struct slots){{8000, 64 * INT64_C(1) << 30, gpus}};
    n->n_devices = gpus;
    for (uint32_t i = 0; i < gpus; i++) {
        text_fmt(n->devices[i].uuid, sizeof(n->devices[i].uuid), "gpu-%s-%u", name, i);
        TEXT_CLIP(n->devices[i].model, STR("h100"));
        n->devices[i].mem_bytes = INT64_C(80) << 30;
        n->devices[i].health = DEVICE_HEALTHY;
        n->devices[i].simulated = true;
    }
    TEXT_CLIP(n->boot_id, STR("boot"));
    TEXT_CLIP(n->data_addr, STR("127.0.0.1:7413"));
    TEXT_CLIP(n->facts, STR("says \"hello\"\n"));
    n->epoch = 1;
    return ev;
}

struct event rig_submit(const char *name, uint32_t members)
{
    struct event ev = {.kind = EVENT_SUBMIT, .actor = 1};
    struct session *s = &ev.u.submit.session;
    TEXT_CLIP(s->name, str_of(name));
    s->user = s->project = s->group = 1;
    s->kind = KIND_BATCH;
    s->priority = 10;
    s->stop_on_member = true;
    s->n_roles = 1;
    s->members = members;
    TEXT_CLIP(s->roles[0].name, STR("main"));
    s->roles[0].count = members;
    s->roles[0].slots = (struct slots){{1000, INT64_C(1) << 30, 0}};
    s->grace_ms = 30000;
    s->time_limit_ms = 3600000;
    return ev;
}

struct event rig_stop(uint64_t session)
{
    return (struct event){.kind = EVENT_STOP, .actor = 1,
                          .u.stop = {session, OUTCOME_CANCELLED, -1}};
}

struct session rig_session(uint64_t id)
{
    struct session s = rig_submit("x", 1).u.submit.session;
    s.id = id;
    s.state = SESSION_PENDING;
    text_fmt(s.name, sizeof(s.name), "n%llu", (unsigned long long)id);
    return s;
}
