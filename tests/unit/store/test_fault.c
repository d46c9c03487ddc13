/* Every statement of a turn fails in turn: nothing of it is stored, or all, and
 * the store says which, or says that it does not know. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "rig.h"

#include "base/mem.h"

/* One operation of each kind. */
static void fill_turn(struct store_turn *t, uint64_t mark)
{
    struct session s = rig_session(mark);
    store_turn_op(t, STORE_PUT_SESSION)->u.session = s;
    store_turn_doc(t, mark, STR("{\"command\":[\"true\"]}"));
    struct alloc a = {.ref = {mark, 1, 0}, .node = 1, .slots = {{1000, 1, 0}}, .turn = t->no,
                      .phase = MEMBER_RUNNING};
    store_turn_op(t, STORE_PUT_ALLOC)->u.alloc = a;
    store_turn_op(t, STORE_RELEASE_ALLOC)->u.alloc = a;
    struct event join = rig_join("n1", 1);
    struct node *n = mem_alloc(sizeof(*n));
    *n = join.u.join.node;
    n->id = 1;
    n->epoch = mark;
    store_turn_op(t, STORE_PUT_NODE)->u.node = n;
    struct node *other = mem_alloc(sizeof(*n));
    *other = *n;
    other->id = 2;
    TEXT_CLIP(other->name, STR("n2"));
    store_turn_op(t, STORE_PUT_NODE)->u.node = other;
    store_turn_op(t, STORE_REMOVE_NODE)->u.node_id = 2;
    struct group g = group_make(1, "default", BLOCKED_SKIP);
    g.time_limit_ms[KIND_BATCH] = (int64_t)mark;
    store_turn_op(t, STORE_PUT_GROUP)->u.group = g;
    struct reservation reserved = {.id = 1, .group = 1, .user = 1, .slots = {{1000, 1, 2}},
                                   .n_parts = 1, .parts = {{1, 5}}, .start_ms = 10,
                                   .end_ms = 20 + (int64_t)mark};
    store_turn_op(t, STORE_PUT_RESERVATION)->u.reservation = reserved;
    reserved.id = 2;
    store_turn_op(t, STORE_PUT_RESERVATION)->u.reservation = reserved;
    store_turn_op(t, STORE_REMOVE_RESERVATION)->u.reservation_id = 2;
    store_turn_op(t, STORE_PUT_DOMAIN)->u.domain = (struct domain){.id = 1, .name = "default"};
    store_turn_op(t, STORE_PUT_PROJECT)->u.project = (struct project){.id = 1, .domain = 1,
                                                                      .name = "default"};
    struct user u = {.id = 1, .domain = 1, .name = "admin", .role = ROLE_ADMIN,
                     .uid = (uint32_t)mark, .gid = 5};
    store_turn_op(t, STORE_PUT_USER)->u.user = u;
    struct history h = {.what = HISTORY_SUBMITTED, .session = mark, .state = SESSION_PENDING,
                        .wall_ms = t->wall_ms, .text = "two\nlines"};
    store_turn_op(t, STORE_ADD_HISTORY)->u.history = h;
    struct store_token token = {.kind = STORE_TOKEN_API, .user = 1, .name = "t"};
    text_fmt(token.hash, sizeof(token.hash), "%064llx", (unsigned long long)mark);
    store_turn_op(t, STORE_PUT_TOKEN)->u.token = token;
    struct store_op *gone = store_turn_op(t, STORE_REMOVE_TOKEN);
    text_fmt(gone->u.token_hash, sizeof(gone->u.token_hash), "%064llx",
             (unsigned long long)mark - 1);
    struct store_idem idem = {.user = 1, .session = mark, .wall_ms = t->wall_ms};
    text_fmt(idem.key, sizeof(idem.key), "key %llu", (unsigned long long)mark);
    store_turn_op(t, STORE_PUT_IDEM)->u.idem = idem;
    struct store_meta m = {.key = "probe"};
    text_fmt(m.value, sizeof(m.value), "%llu", (unsigned long long)mark);
    store_turn_op(t, STORE_PUT_META)->u.meta = m;
}

static int commit_mark(struct rig *r, uint64_t mark)
{
    struct store_turn t = rig_turn(r);
    fill_turn(&t, mark);
    int rc = store_commit(r->store, &t, &r->err);
    store_turn_done(&t);
    return rc;
}

/* All that fill_turn wrote is there under that mark, and nothing of it is under the next. */
static void expect_mark(struct rig *r, uint64_t mark)
{
    uint64_t last = 0;
    OK(r, store_last_turn(r->store, &last, &r->err));
    assert_int_equal(last, mark);
    rig_reload(r);
    assert_int_equal(r->world->turn, mark);
    assert_int_equal(r->world->last_session, mark);
    assert_non_null(world_session(r->world, mark));
    assert_int_equal(world_node(r->world, 1)->epoch, mark);
    assert_int_equal(world_group(r->world, 1)->time_limit_ms[KIND_BATCH], mark);
    assert_int_equal(world_user(r->world, 1)->uid, mark);
    assert_int_equal(r->world->reservations.n, 1);
    assert_int_equal(world_reservation(r->world, 1)->end_ms, 20 + mark);
    assert_int_equal(world_reservation(r->world, 1)->parts[0].devices, 5);
    struct store_meta m;
    OK(r, store_read_meta(r->reader, "probe", &m, &r->err));
    uint64_t value = 0;
    assert_true(str_to_u64(str_of(m.value), &value));
    assert_int_equal(value, mark);
    struct store_tokens tokens = {0};
    OK(r, store_read_tokens(r->reader, &tokens, &r->err));
    assert_int_equal(tokens.v.n, 1);
    VEC_DONE(&tokens.v);
    struct store_events events = {0};
    struct store_after after = {.limit = 1000};
    OK(r, store_read_history(r->reader, &after, &events, &r->err));
    assert_int_equal(events.v.n, mark);
    assert_int_equal(events.v.v[mark - 1].turn, mark);
    VEC_DONE(&events.v);
    char *doc = NULL;
    OK(r, store_read_doc(r->reader, mark, &doc, &r->err));
    mem_free(doc);
    assert_int_equal(store_read_doc(r->reader, mark + 1, &doc, NULL), ERR_NOT_FOUND);
    struct store_placements places = {0};
    OK(r, store_read_placements(r->reader, mark, &places, &r->err));
    assert_int_equal(places.v.n, 1);
    assert_true(places.v.v[0].released);
    VEC_DONE(&places.v);
}

/* QTA10: what failed half way is not there. */
static void QTA10_every_statement_fails_once(void **state)
{
    (void)state;
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    OK(&r, commit_mark(&r, 1));
    uint32_t statements = store_statements(r.store);
    assert_true(statements >= 18);
    for (uint32_t n = 1; n <= statements; n++) {
        store_fault(r.store, n, STORE_FAULT_FAIL);
        assert_int_equal(commit_mark(&r, 2), ERR_IO);
        assert_int_equal(store_statements(r.store), n);
        expect_mark(&r, 1);
    }
    OK(&r, commit_mark(&r, 2));
    assert_int_equal(store_statements(r.store), statements);
    expect_mark(&r, 2);
    rig_close(&r);
    rig_open(&r);
    expect_mark(&r, 2);
    rig_done(&r);
}

static void an_unknown_commit_is_one_of_the_two(void **state)
{
    (void)state;
    static const struct { enum store_fault_kind kind; bool stored; } rows[] = {
        {STORE_FAULT_UNKNOWN_LOST, false},
        {STORE_FAULT_UNKNOWN_STORED, true},
        {STORE_FAULT_UNKNOWN_LOST, false},
    };
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    OK(&r, commit_mark(&r, 1));
    uint64_t mark = 1;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        store_fault(r.store, 1, rows[i].kind);
        assert_int_equal(commit_mark(&r, mark + 1), ERR_UNKNOWN);
        if (rows[i].stored) mark++;
        expect_mark(&r, mark);
    }
    store_fault(r.store, 2, STORE_FAULT_UNKNOWN_LOST); /* the second commit from now */
    OK(&r, commit_mark(&r, ++mark));
    assert_int_equal(commit_mark(&r, mark + 1), ERR_UNKNOWN);
    expect_mark(&r, mark);
    rig_done(&r);
}

/* MGR2: a process that writes turn after turn dies at any moment: what it was told
 * is durable is there, and the turn under way is whole or absent. */
static void MGR2_a_kill_at_any_moment(void **state)
{
    (void)state;
    struct rng rng = {5};
    struct rig r;
    rig_init(&r);
    rig_open(&r);
    OK(&r, commit_mark(&r, 1));
    rig_close(&r);
    uint64_t mark = 1;
    for (int round = 0; round < 8; round++) {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        pid_t pid = fork();
        if (pid == 0) {
            rig_open(&r);
            for (uint64_t next = mark + 1;; next++) {
                if (commit_mark(&r, next) != 0) _exit(1);
                if (write(fds[1], "x", 1) != 1) _exit(1);
            }
        }
        close(fds[1]);
        uint64_t wait = 1 + rng_below(&rng, 10), acked = 0;
        char byte;
        while (acked < wait && read(fds[0], &byte, 1) == 1) acked++;
        for (uint64_t spin = rng_below(&rng, 200000); spin > 0; spin--) __asm__ volatile("");
        kill(pid, SIGKILL);
        while (read(fds[0], &byte, 1) == 1) acked++;
        close(fds[0]);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        assert_true(acked >= wait);
        rig_open(&r);
        uint64_t last = r.world->turn;
        assert_in_range(last, mark + acked, mark + acked + 1);
        mark = last;
        expect_mark(&r, mark);
        rig_close(&r);
    }
    rig_done(&r);
}

static void grow(struct rig *r, uint64_t no, int *ret_rc)
{
    struct store_turn t = rig_turn(r);
    char big[4000];
    memset(big, 'x', sizeof(big));
    memcpy(big, "{\"a\":\"", 6);
    memcpy(big + sizeof(big) - 2, "\"}", 2);
    for (uint64_t i = 0; i < 16; i++) {
        uint64_t id = no * 100 + i;
        store_turn_op(&t, STORE_PUT_SESSION)->u.session = rig_session(id);
        store_turn_doc(&t, id, str_n(big, sizeof(big)));
    }
    *ret_rc = store_commit(r->store, &t, &r->err);
    store_turn_done(&t);
}

/* The disk is full (the largest file that may be written is small): each turn is
 * whole or absent, and when there is room again the store goes on. */
static void a_full_disk_loses_only_what_was_refused(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        struct rig r;
        rig_init(&r);
        rig_open(&r);
        struct rlimit all, small = {1 << 20, RLIM_INFINITY};
        getrlimit(RLIMIT_FSIZE, &all);
        small.rlim_max = all.rlim_max;
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &small);
        uint64_t good = 0;
        int rc = 0;
        for (uint64_t i = 1; i < 100 && rc == 0; i++) {
            grow(&r, i, &rc);
            if (rc == 0) good = i;
        }
        assert_true(good > 0);
        assert_true(rc == ERR_IO || rc == ERR_LIMIT || rc == ERR_UNKNOWN);
        uint64_t last = 0;
        OK(&r, store_last_turn(r.store, &last, &r.err));
        assert_true(rc == ERR_UNKNOWN ? last <= good + 1 : last == good);
        setrlimit(RLIMIT_FSIZE, &all);
        grow(&r, last + 1, &rc);
        OK(&r, rc);
        rig_reload(&r);
        assert_int_equal(r.world->n_sessions, 16 * (last + 1));
        rig_done(&r);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(QTA10_every_statement_fails_once),
        cmocka_unit_test(an_unknown_commit_is_one_of_the_two),
        cmocka_unit_test(MGR2_a_kill_at_any_moment),
        cmocka_unit_test(a_full_disk_loses_only_what_was_refused),
    };
    return RUN(tests);
}
