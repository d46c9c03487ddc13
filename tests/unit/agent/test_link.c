/* The conversation with a scripted manager: lost, late, double and foreign answers. */
#include "test.h"

#include <unistd.h>

#include "agent/link.h"
#include "host/proc.h"
#include "net/http_server.h"
#include "net/log.h"

#define CLUSTER "0123456789abcdef0123456789abcdef"
#define INC "1111111111111111aaaaaaaaaaaaaaaa"
#define NEW "2222222222222222aaaaaaaaaaaaaaaa"
#define FOREIGN "ffffffffffffffffffffffffffffffff"
#define SLEEP "{\"command\":[\"sleep:100000\"]}"
#define HELD_MAX 16

struct fixture {
    struct net_loop *loop;
    struct http_server *server;
    struct driver d;
    struct driver_ops ops; /* the driver's, with answers taped */
    struct bodies *bodies;
    struct act *act;
    struct link *link;
    char url[64], saved[33];
    uint64_t epoch;
    int64_t retry_ms; /* 0: 10 */
    struct http_req *held[HELD_MAX]; /* in the order they came */
    struct sync_request rq[HELD_MAX];
    uint32_t n_held;
    bool arrived;
};

static int64_t answered_ms; /* of the newest answer, when its request was sent */
static uint32_t n_answered;

static void tape_answered(void *self, int64_t sent_boot_ms)
{
    (void)self;
    answered_ms = sent_boot_ms;
    n_answered++;
}

static void on_gone(struct http_req *r, void *arg)
{
    struct fixture *f = arg;
    for (uint32_t i = 0; i < f->n_held; i++) {
        if (f->held[i] == r) f->held[i] = NULL;
    }
}

static void on_request(void *arg, struct http_req *r)
{
    struct fixture *f = arg;
    struct err err;
    assert_true(str_eq(r->path, STR("/agent/v1/sync")));
    assert_true(f->n_held < HELD_MAX);
    if (wire_parse(&wire_sync_request, r->body, &f->rq[f->n_held], &err) != 0) {
        fail_msg("%s", err.text);
    }
    f->held[f->n_held++] = r;
    http_req_on_close(r, on_gone, f);
    f->arrived = true;
}

static void on_change(void *arg)
{
    struct fixture *f = arg;
    if (f->link != NULL) link_changed(f->link);
}

static void on_incarnation(void *arg, const struct identity *id)
{
    struct fixture *f = arg;
    TEXT_SET(f->saved, str_of(id->incarnation));
}

static void agent_start(struct fixture *f, const char *incarnation)
{
    struct err err = {0};
    struct link_opts o = {.manager = f->url, .boot_id = "boot", .epoch = ++f->epoch, .poll_ms = 300,
                          .slack_ms = 200, .retry_ms = f->retry_ms ? f->retry_ms : 10, .arg = f,
                          .on_incarnation = on_incarnation};
    TEXT_SET(o.identity.name, STR("n1"));
    TEXT_SET(o.identity.cluster, STR(CLUSTER));
    TEXT_SET(o.identity.incarnation, str_of(incarnation));
    TEXT_SET(o.info.group, STR("default"));
    TEXT_SET(o.info.data_addr, STR("127.0.0.1:9"));
    o.info.cpu_milli = 4000;
    assert_int_equal(bodies_open(NULL, &f->bodies, &err), 0);
    o.act = f->act = act_new(&f->d, f->bodies, incarnation);
    f->link = link_new(f->loop, &o, &err);
    assert_non_null(f->link);
}

static void agent_stop(struct fixture *f) /* the containers stay */
{
    link_free(f->link);
    f->link = NULL;
    act_free(f->act);
    bodies_free(f->bodies);
}

static void fixture_init(struct fixture *f)
{
    struct err err = {0};
    memset(f, 0, sizeof(*f));
    f->loop = net_loop_new();
    f->server = http_server_listen(f->loop, STR("127.0.0.1:0"), NULL, on_request, f, &err);
    if (f->server == NULL) fail_msg("%s", err.text);
    text_fmt(f->url, sizeof(f->url), "http://127.0.0.1:%u", http_server_port(f->server));
    struct driver_config c = {.state_dir = "/nonexistent", .on_change = on_change, .arg = f};
    assert_int_equal(fake_driver_new(f->loop, &c, &f->d, &err), 0);
    f->ops = *f->d.ops;
    f->ops.answered = tape_answered;
    f->d.ops = &f->ops;
    n_answered = 0;
    agent_start(f, INC);
}

static void forget(struct fixture *f)
{
    for (uint32_t i = 0; i < f->n_held; i++) wire_free(&wire_sync_request, &f->rq[i]);
    f->n_held = 0;
}

static void fixture_done(struct fixture *f)
{
    agent_stop(f);
    http_server_free(f->server);
    forget(f);
    f->d.ops->free(f->d.self);
    net_loop_free(f->loop);
}

/* Runs until request number `n` (from 0) is here. */
static struct sync_request *request(struct fixture *f, uint32_t n)
{
    while (f->n_held <= n) {
        f->arrived = false;
        if (!net_loop_run_until(f->loop, &f->arrived, 8000)) fail_msg("request %u never came", n);
    }
    return &f->rq[n];
}

struct wish { uint64_t session; enum want_act act; const char *body; };
struct reply {
    const char *cluster, *incarnation;
    uint64_t turn;
    struct wish w[4];
    uint32_t n;
    uint64_t list_no, wants_no;
    bool same, again;
};

static void answer(struct fixture *f, uint32_t at, const struct reply *r)
{
    struct sync_answer a = {.protocol = SYNC_PROTOCOL, .turn = r->turn, .node_id = 1,
                            .list_no = r->list_no, .wants_no = r->wants_no, .same = r->same,
                            .again = r->again};
    struct strbuf json;
    TEXT_SET(a.cluster, str_of(r->cluster ? r->cluster : CLUSTER));
    TEXT_SET(a.incarnation, str_of(r->incarnation ? r->incarnation : INC));
    for (uint32_t i = 0; i < r->n; i++) {
        struct member_ref ref = {r->w[i].session, 1, 0};
        VEC_PUSH(&a.wants, ((struct member_want){.ref = ref, .act = r->w[i].act, .fresh = true}));
        if (r->w[i].body == NULL) continue;
        struct sync_body b = {.session = ref.session, .attempt = 1};
        b.spec = mem_strndup(r->w[i].body, strlen(r->w[i].body));
        TEXT_SET(b.owner, STR("alice"));
        VEC_PUSH(&a.bodies, b);
    }
    strbuf_init(&json, 1 << 20);
    wire_print(&wire_sync_answer, &a, &json);
    assert_non_null(f->held[at]);
    http_req_on_close(f->held[at], NULL, NULL);
    http_reply_json(f->held[at], 200, strbuf_str(&json));
    f->held[at] = NULL;
    strbuf_done(&json);
    wire_free(&wire_sync_answer, &a);
}

/* Drops the connection of a request: its answer is lost. */
static void lose(struct fixture *f, uint32_t at)
{
    http_req_on_close(f->held[at], NULL, NULL);
    http_stream_start(f->held[at], 200, "application/json");
    http_stream_abort(f->held[at]);
    f->held[at] = NULL;
}

static enum member_phase phase(struct fixture *f, uint64_t session)
{
    AUTO_FREE struct member_report *list = NULL;
    uint32_t n = act_list(f->act, &list);
    for (uint32_t i = 0; i < n; i++) {
        if (list[i].ref.session == session) return list[i].phase;
    }
    return MEMBER_NONE;
}

static void wait_phase(struct fixture *f, uint64_t session, enum member_phase want)
{
    const bool never = false;
    for (int i = 0; i < 400 && phase(f, session) != want; i++) {
        net_loop_run_until(f->loop, &never, 5);
    }
    assert_int_equal(phase(f, session), want);
}

static void reports_all_and_receives_all(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    struct sync_request *rq = request(&f, 0);
    assert_int_equal(rq->turn, 0);
    assert_int_equal(rq->epoch, 1);
    assert_int_equal(rq->seq, 1);
    assert_string_equal(rq->node, "n1");
    assert_string_equal(rq->cluster, CLUSTER);
    assert_string_equal(rq->boot_id, "boot");
    assert_int_equal(rq->info.cpu_milli, 4000);
    assert_int_equal(rq->members.n, 0);
    answer(&f, 0, &(struct reply){.turn = 7, .w = {{1, WANT_RUN, SLEEP}}, .n = 1});
    for (uint32_t i = 1;; i++) { /* the report that it runs comes without being asked */
        rq = request(&f, i);
        if (rq->members.n == 1 && rq->members.v[0].phase == MEMBER_RUNNING) break;
        answer(&f, i, &(struct reply){.turn = 7, .w = {{1, WANT_RUN, NULL}}, .n = 1});
    }
    assert_int_equal(rq->turn, 7);
    fixture_done(&f);
}

static void a_change_goes_out_beside_the_held_poll(void **state)
{
    struct fixture f;
    struct err err;
    const char *argv[] = {"sleep:100000", NULL};
    struct container_spec s = {.ref = {5, 1, 0}, .argv = argv};
    (void)state;
    fixture_init(&f);
    request(&f, 0); /* held */
    assert_int_equal(f.d.ops->create(f.d.self, &s, &err), 0);
    struct sync_request *rq = request(&f, 1);
    assert_true(rq->seq > f.rq[0].seq);
    assert_int_equal(rq->members.n, 1);
    assert_non_null(f.held[0]); /* the first is still under way */
    /* A third change waits for a free connection. */
    f.d.ops->go(f.d.self, s.ref);
    answer(&f, 0, &(struct reply){.turn = 0, .w = {{5, WANT_RUN, NULL}}, .n = 1});
    rq = request(&f, 2);
    assert_int_equal(rq->members.v[0].phase, MEMBER_RUNNING);
    fixture_done(&f);
}

/* The list travels until the manager has it, and again when it is another; wishes that
 * are only named are those that came last. */
static void what_is_known_is_named(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    struct sync_request *rq = request(&f, 0);
    assert_true(rq->full);
    assert_true(rq->list_no > 0);
    assert_int_equal(rq->wants_no, 0);
    answer(&f, 0, &(struct reply){.turn = 7, .w = {{1, WANT_RUN, SLEEP}}, .n = 1, .wants_no = 50,
                                  .list_no = rq->list_no});
    uint32_t i = 1;
    for (;; i++) {
        rq = request(&f, i);
        assert_int_equal(rq->wants_no, 50);
        if (rq->members.n == 1 && rq->members.v[0].phase == MEMBER_RUNNING) break;
        answer(&f, i, &(struct reply){.turn = 7, .same = true, .wants_no = 50, .list_no = 1});
    }
    assert_true(rq->full); /* nobody has said that it is known */
    uint64_t no = rq->list_no;
    answer(&f, i, &(struct reply){.turn = 7, .same = true, .wants_no = 50, .list_no = no});
    for (int k = 0; k < 3; k++) {
        rq = request(&f, ++i);
        assert_false(rq->full);
        assert_int_equal(rq->list_no, no);
        assert_int_equal(rq->members.n, 0);
        assert_int_equal(phase(&f, 1), MEMBER_RUNNING); /* wishes that are named still hold */
        answer(&f, i, &(struct reply){.turn = 8, .same = true, .wants_no = 50, .list_no = no});
    }
    rq = request(&f, ++i);
    assert_int_equal(rq->turn, 8);
    answer(&f, i, &(struct reply){.again = true}); /* the manager was restarted */
    rq = request(&f, ++i);
    assert_true(rq->full);
    assert_int_equal(rq->members.n, 1);
    /* Wishes that we do not have are an error, and come in full after it. */
    answer(&f, i, &(struct reply){.turn = 9, .same = true, .wants_no = 51, .list_no = no});
    rq = request(&f, ++i);
    assert_int_equal(rq->wants_no, 0);
    assert_int_equal(rq->turn, 8);
    assert_int_equal(phase(&f, 1), MEMBER_RUNNING);
    fixture_done(&f);
}

/* Both slots are taken when something happens; the older call then fails, which
 * matters to nobody, but what happened leaves in its slot. */
static void a_change_takes_the_slot_of_a_call_that_failed(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    request(&f, 0);
    answer(&f, 0, &(struct reply){.turn = 1, .w = {{7, WANT_RUN, SLEEP}}, .n = 1});
    wait_phase(&f, 7, MEMBER_RUNNING);
    request(&f, 2); /* 1: the poll, 2: what came about meanwhile */
    assert_non_null(f.held[1]);
    f.d.ops->stop(f.d.self, (struct member_ref){7, 1, 0}, 0, false);
    wait_phase(&f, 7, MEMBER_EXITED);
    bool never = false;
    net_loop_run_until(f.loop, &never, 20); /* its change is told, and finds no slot */
    assert_int_equal(f.n_held, 3);
    http_req_on_close(f.held[1], NULL, NULL);
    http_reply_problem(f.held[1], 409, "conflict", "a newer request of this node was seen");
    f.held[1] = NULL;
    struct sync_request *rq = request(&f, 3);
    assert_non_null(f.held[2]); /* long before the poll is over */
    assert_int_equal(rq->members.n, 1);
    assert_int_equal(rq->members.v[0].phase, MEMBER_EXITED);
    fixture_done(&f);
}

/* The manager is there after all: what waits does not wait out the pause. */
static void an_answer_ends_the_pause_after_a_failure(void **state)
{
    struct fixture f;
    struct link_state st = {0};
    bool never = false;
    (void)state;
    fixture_init(&f);
    agent_stop(&f);
    f.retry_ms = 20000;
    agent_start(&f, INC);
    request(&f, 0);
    answer(&f, 0, &(struct reply){.turn = 1, .w = {{7, WANT_RUN, SLEEP}}, .n = 1});
    wait_phase(&f, 7, MEMBER_RUNNING);
    request(&f, 2);
    lose(&f, 2);
    for (; st.failures == 0; link_state_get(f.link, &st)) net_loop_run_until(f.loop, &never, 1);
    assert_non_null(f.held[1]);
    answer(&f, 1, &(struct reply){.turn = 1, .w = {{7, WANT_RUN, NULL}}, .n = 1});
    assert_int_equal(request(&f, 3)->members.n, 1);
    fixture_done(&f);
}

static void late_and_double_answers_change_nothing(void **state)
{
    struct fixture f;
    struct err err;
    const char *argv[] = {"sleep:100000", NULL};
    struct container_spec s = {.ref = {5, 1, 0}, .argv = argv};
    (void)state;
    fixture_init(&f);
    request(&f, 0);
    assert_int_equal(f.d.ops->create(f.d.self, &s, &err), 0);
    request(&f, 1);
    answer(&f, 1, &(struct reply){.turn = 9, .w = {{5, WANT_RUN, NULL}}, .n = 1});
    wait_phase(&f, 5, MEMBER_RUNNING);
    answer(&f, 0, &(struct reply){.turn = 8, .n = 0}); /* older: would end it */
    request(&f, 2);
    answer(&f, 2, &(struct reply){.turn = 9, .w = {{5, WANT_RUN, NULL}}, .n = 1}); /* again */
    request(&f, 3);
    assert_int_equal(phase(&f, 5), MEMBER_RUNNING);
    struct link_state st;
    link_state_get(f.link, &st);
    assert_int_equal(st.turn, 9);
    fixture_done(&f);
}

static void MGR_away_touches_nothing_and_is_asked_again(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    request(&f, 0);
    answer(&f, 0, &(struct reply){.turn = 3, .w = {{5, WANT_RUN, SLEEP}}, .n = 1});
    wait_phase(&f, 5, MEMBER_RUNNING);
    uint32_t at = 1;
    for (int i = 0; i < 3; i++) {
        request(&f, at);
        lose(&f, at++);
    }
    request(&f, at);
    http_req_on_close(f.held[at], NULL, NULL);
    http_reply_problem(f.held[at], 503, "unavailable", "not now");
    f.held[at++] = NULL;
    struct sync_request *rq = request(&f, at);
    assert_int_equal(rq->members.n, 1); /* the whole list, whatever got lost */
    assert_int_equal(rq->members.v[0].phase, MEMBER_RUNNING);
    struct link_state st;
    link_state_get(f.link, &st);
    assert_false(st.connected);
    assert_true(st.failures >= 2); /* the older of two calls does not count */
    answer(&f, at, &(struct reply){.turn = 4, .w = {{5, WANT_RUN, NULL}}, .n = 1});
    request(&f, at + 1);
    link_state_get(f.link, &st);
    assert_true(st.connected);
    assert_int_equal(phase(&f, 5), MEMBER_RUNNING);
    fixture_done(&f);
}

static void an_unanswered_call_is_given_up(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    request(&f, 0); /* never answered: 500 ms, then a back-off */
    request(&f, 1);
    struct link_state st;
    link_state_get(f.link, &st);
    assert_int_equal(st.failures, 1);
    fixture_done(&f);
}

static void a_missing_body_is_asked_for_at_once(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    request(&f, 0);
    answer(&f, 0, &(struct reply){.turn = 2, .w = {{5, WANT_RUN, NULL}}, .n = 1});
    struct sync_request *rq = request(&f, 1);
    assert_int_equal(rq->need.n, 1);
    assert_int_equal(rq->need.v[0].session, 5);
    answer(&f, 1, &(struct reply){.turn = 2, .w = {{5, WANT_RUN, SLEEP}}, .n = 1});
    wait_phase(&f, 5, MEMBER_RUNNING);
    fixture_done(&f);
}

static void other_clusters_have_no_say(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    request(&f, 0);
    answer(&f, 0, &(struct reply){.turn = 3, .w = {{5, WANT_RUN, SLEEP}}, .n = 1});
    wait_phase(&f, 5, MEMBER_RUNNING);
    for (uint32_t i = 1; i <= 4; i++) {
        request(&f, i);
        answer(&f, i, &(struct reply){.cluster = FOREIGN, .turn = 99});
    }
    request(&f, 5);
    assert_int_equal(phase(&f, 5), MEMBER_RUNNING);
    assert_int_equal(f.rq[5].turn, 3);
    fixture_done(&f);
}

static void a_new_incarnation_is_believed_when_it_stays(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    request(&f, 0);
    answer(&f, 0, &(struct reply){.turn = 30, .w = {{5, WANT_RUN, SLEEP}}, .n = 1});
    wait_phase(&f, 5, MEMBER_RUNNING);
    request(&f, 1);
    answer(&f, 1, &(struct reply){.incarnation = NEW, .turn = 1});
    request(&f, 2);
    answer(&f, 2, &(struct reply){.turn = 30, .w = {{5, WANT_RUN, NULL}}, .n = 1}); /* ours again */
    for (uint32_t i = 3; i < 6; i++) {
        assert_string_equal(request(&f, i)->incarnation, INC);
        answer(&f, i, &(struct reply){.incarnation = NEW, .turn = 2});
        assert_int_equal(phase(&f, 5), MEMBER_RUNNING);
    }
    struct sync_request *rq = request(&f, 6);
    assert_string_equal(rq->incarnation, NEW);
    assert_string_equal(f.saved, NEW);
    assert_int_equal(rq->turn, 0);
    fixture_done(&f);
}

/* Killed at any point: the next agent finds the containers, reports them all under a
 * higher epoch, and touches none until it is told. */
/* What keeps containers alive is that an answer came, and counts from when its request left:
 * not from when the answer came, however late. */
static void agt7_an_answer_counts_from_its_request(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    int64_t before = proc_boot_ms();
    request(&f, 0);
    int64_t sent = proc_boot_ms();
    usleep(150000);
    answer(&f, 0, &(struct reply){.turn = 3});
    request(&f, 1);
    assert_int_equal(n_answered, 1);
    assert_in_range(answered_ms, before > 1000 ? before - 1000 : 0, sent);
    lose(&f, 1);
    request(&f, 2);
    http_req_on_close(f.held[2], NULL, NULL);
    http_reply_problem(f.held[2], 503, "unavailable", "not now");
    f.held[2] = NULL;
    request(&f, 3);
    answer(&f, 3, &(struct reply){.incarnation = NEW, .turn = 1});
    request(&f, 4);
    answer(&f, 4, &(struct reply){.cluster = FOREIGN, .turn = 9});
    request(&f, 5);
    assert_int_equal(n_answered, 1); /* none of these was an answer of our manager */
    answer(&f, 5, &(struct reply){.turn = 2}); /* no news, but it heard us */
    request(&f, 6);
    assert_int_equal(n_answered, 2);
    fixture_done(&f);
}

static void a_restarted_agent_reports_and_converges(void **state)
{
    struct fixture f;
    (void)state;
    fixture_init(&f);
    request(&f, 0);
    answer(&f, 0, &(struct reply){.turn = 3, .w = {{5, WANT_RUN, SLEEP}, {6, WANT_HOLD, SLEEP}},
                                  .n = 2});
    wait_phase(&f, 5, MEMBER_RUNNING);
    agent_stop(&f);
    for (uint32_t i = 0; i < f.n_held; i++) {
        if (f.held[i] == NULL) continue;
        http_req_on_close(f.held[i], NULL, NULL);
        http_reply_problem(f.held[i], 503, "unavailable", "too late");
    }
    forget(&f);
    agent_start(&f, INC);
    struct sync_request *rq = request(&f, 0);
    assert_int_equal(rq->epoch, 2);
    assert_int_equal(rq->seq, 1);
    assert_int_equal(rq->turn, 0);
    assert_int_equal(rq->members.n, 2);
    assert_int_equal(phase(&f, 5), MEMBER_RUNNING);
    answer(&f, 0, &(struct reply){.turn = 4, .w = {{6, WANT_RUN, NULL}}, .n = 1});
    wait_phase(&f, 5, MEMBER_NONE);
    wait_phase(&f, 6, MEMBER_RUNNING);
    fixture_done(&f);
}

/* Lists are full: of a node that holds thousands they leave less often. */
static void a_long_list_leaves_seldom(void **state)
{
    (void)state;
    struct fixture f;
    struct err err = {0};
    const char *argv[] = {"sleep:100000", NULL}, *envp[] = {NULL};
    struct container_spec spec = {.argv = argv, .envp = envp, .cpu_milli = 1, .mem_bytes = 1};
    fixture_init(&f);
    int64_t began = net_now_ms();
    for (uint64_t id = 1; id <= 9601; id++) {
        if (id == 9601) request(&f, 0);
        spec.ref = (struct member_ref){id, 1, 0};
        assert_int_equal(f.d.ops->create(f.d.self, &spec, &err), 0);
    }
    assert_int_equal(f.rq[0].members.n, 9600);
    /* Usually with the last one; a machine that took the pause to read the first, without. */
    assert_in_range(request(&f, 1)->members.n, 9600, 9601);
    assert_true(net_now_ms() - began >= 300);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_all_and_receives_all),
        cmocka_unit_test(a_change_goes_out_beside_the_held_poll),
        cmocka_unit_test(what_is_known_is_named),
        cmocka_unit_test(a_change_takes_the_slot_of_a_call_that_failed),
        cmocka_unit_test(an_answer_ends_the_pause_after_a_failure),
        cmocka_unit_test(late_and_double_answers_change_nothing),
        cmocka_unit_test(MGR_away_touches_nothing_and_is_asked_again),
        cmocka_unit_test(an_unanswered_call_is_given_up),
        cmocka_unit_test(a_missing_body_is_asked_for_at_once),
        cmocka_unit_test(other_clusters_have_no_say),
        cmocka_unit_test(a_new_incarnation_is_believed_when_it_stays),
        cmocka_unit_test(agt7_an_answer_counts_from_its_request),
        cmocka_unit_test(a_restarted_agent_reports_and_converges),
        cmocka_unit_test(a_long_list_leaves_seldom),
    };
    log_setup(LOG_ERROR, LOG_LOGFMT, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
