/* agent/act.c - see act.h.
 *
 * Invariants: `wants`, `refused` and `waiting` are sorted by ref; a ref leaves the
 * latter two when it is wanted no more.  Should the driver list what was refused,
 * the driver is right.  A member that waits is reported, since one that was wished
 * for and is not in the list is gone for the manager. */
#include "agent/act.h"
#include "agent/gpu/inject.h"
#include "agent/hooks.h"
#include "agent/launch.h"
#include "base/check.h"
#include "net/log.h"

#define CREATE_ROOM 8192 /* most that one list of wishes may add before we look again */
#define ENDS_KEPT 4096 /* ends remembered for people who read logs after the end */

struct have { const struct member_report *v; uint32_t n; };

struct act {
    struct driver driver;
    struct bodies *bodies;
    const struct inject *inject; /* or NULL */
    struct hooks *hooks;         /* or NULL */
    char incarnation[33];
    bool known;     /* a list of wishes has come */
    bool sweep_due; /* something is gone: its body may be of no use any more */
    VEC(struct member_want) wants;
    VEC(struct member_report) refused;
    VEC(struct member_report) waiting; /* for a body or for room; PREPARING, sorted */
    VEC(struct made { struct member_ref ref; }) made; /* by this agent: never a second time */
    VEC(struct sync_need) needs;
    struct member_report *ends; /* ring */
    uint32_t ends_at, ends_n;
};

struct act *act_new(const struct driver *driver, struct bodies *bodies, const char *incarnation)
{
    struct act *a = mem_alloc(sizeof(*a));
    a->driver = *driver;
    a->bodies = bodies;
    TEXT_CLIP(a->incarnation, str_of(incarnation));
    driver->ops->set_incarnation(driver->self, a->incarnation);
    return a;
}

void act_set_inject(struct act *a, const struct inject *inject) { a->inject = inject; }

void act_set_hooks(struct act *a, struct hooks *hooks) { a->hooks = hooks; }

void act_free(struct act *a)
{
    if (a == NULL) return;
    VEC_DONE(&a->wants);
    VEC_DONE(&a->refused);
    VEC_DONE(&a->waiting);
    VEC_DONE(&a->made);
    VEC_DONE(&a->needs);
    mem_free(a->ends);
    mem_free(a);
}

void act_set_incarnation(struct act *a, const char *incarnation)
{
    TEXT_CLIP(a->incarnation, str_of(incarnation));
    a->known = false;
    VEC_CLEAR(&a->wants);
    VEC_CLEAR(&a->refused);
    VEC_CLEAR(&a->waiting);
    VEC_CLEAR(&a->made);
    VEC_CLEAR(&a->needs);
    a->driver.ops->set_incarnation(a->driver.self, a->incarnation);
}

/* Lower bound of ref; true when it is there.  Every kind of entry begins with ref. */
#define FIND(list, want_ref, ret_at) \
    ({ \
        uint32_t lo_ = 0, hi_ = (list)->n; \
        while (lo_ < hi_) { \
            uint32_t mid_ = lo_ + (hi_ - lo_) / 2; \
            if (member_ref_cmp((list)->v[mid_].ref, (want_ref)) < 0) lo_ = mid_ + 1; \
            else hi_ = mid_; \
        } \
        *(ret_at) = lo_; \
        lo_ < (list)->n && member_ref_cmp((list)->v[lo_].ref, (want_ref)) == 0; \
    })

/* Drops the entries that are wished for no more. */
#define KEEP_WANTED(a, list) \
    do { \
        uint32_t kept_ = 0, at_; \
        for (uint32_t i_ = 0; i_ < (list)->n; i_++) { \
            if (FIND(&(a)->wants, (list)->v[i_].ref, &at_)) (list)->v[kept_++] = (list)->v[i_]; \
        } \
        (list)->n = kept_; \
    } while (0)

bool act_wanted(const struct act *a, struct member_ref ref)
{
    uint32_t at;
    if (!a->known) return true;
    return FIND(&a->wants, ref, &at) && a->wants.v[at].act != WANT_STOP;
}

/* Two sorted lists as one; of a ref in both, the first list's entry counts.  Takes
 * over `own`. */
static uint32_t merge(struct member_report *own, uint32_t n, const struct member_report *more,
                      uint32_t n_more, struct member_report **ret)
{
    if (n_more == 0) {
        *ret = own;
        return n;
    }
    struct member_report *all = mem_array(n + n_more, sizeof(*all));
    uint32_t i = 0, k = 0, out = 0;
    while (i < n || k < n_more) {
        int c = i == n        ? 1
                : k == n_more ? -1
                              : member_ref_cmp(own[i].ref, more[k].ref);
        if (c == 0) k++;
        all[out++] = c <= 0 ? own[i++] : more[k++];
    }
    mem_free(own);
    *ret = all;
    return out;
}

/* What was begun here, or will never be.  Should the driver list what was refused, it
 * lives after all. */
static uint32_t list_begun(const struct act *a, struct member_report **ret)
{
    struct member_report *own = NULL;
    uint32_t n = a->driver.ops->list(a->driver.self, &own);
    return merge(own, n, a->refused.v, a->refused.n, ret);
}

/* Whose epilog has not ended is not gone: its devices are not free.  Takes over `all`. */
static uint32_t list_hooks(const struct act *a, struct member_report *all, uint32_t n,
                           struct member_report **ret)
{
    AUTO_FREE struct member_report *held = NULL;
    uint32_t n_held = hooks_list(a->hooks, &held);
    for (uint32_t i = 0; i < n; i++) {
        if (all[i].phase < MEMBER_EXITED || !hooks_holds(a->hooks, all[i].ref)) continue;
        all[i].phase = MEMBER_STOPPING;
        memset(&all[i].end, 0, sizeof(all[i].end));
        all[i].end.exit_code = -1;
        TEXT_CLIP(all[i].end.detail, STR("its epilog runs"));
    }
    return merge(all, n, held, n_held, ret);
}

uint32_t act_list(struct act *a, struct member_report **ret)
{
    struct member_report *begun = NULL, *all = NULL;
    uint32_t n = list_begun(a, &begun);
    n = merge(begun, n, a->waiting.v, a->waiting.n, &all);
    return a->hooks != NULL ? list_hooks(a, all, n, ret) : (*ret = all, n);
}

/* It is coming: what is wished for and not in the list counts as gone.  For people it
 * says what it waits for. */
static void wait_for(struct act *a, struct member_ref ref, const char *why)
{
    uint32_t at;
    struct member_report r = {.ref = ref, .phase = MEMBER_PREPARING, .end.exit_code = -1};
    if (!FIND(&a->waiting, ref, &at)) VEC_INSERT(&a->waiting, at, r);
    TEXT_CLIP(a->waiting.v[at].end.detail, str_of(why));
}

static void wait_over(struct act *a, struct member_ref ref)
{
    uint32_t at;
    if (FIND(&a->waiting, ref, &at)) VEC_REMOVE(&a->waiting, at);
}

static void refuse(struct act *a, struct member_ref ref, bool fatal, const char *why)
{
    uint32_t at;
    if (FIND(&a->refused, ref, &at)) return;
    struct member_report r = {.ref = ref, .phase = MEMBER_FAILED, .end.exit_code = -1};
    r.end.fatal = fatal;
    TEXT_CLIP(r.end.detail, str_of(why));
    VEC_INSERT(&a->refused, at, r);
    wait_over(a, ref);
    log_event(LOG_WARN, "member.refused", LOG_U("session", ref.session),
              LOG_U("attempt", ref.attempt), LOG_U("member", ref.member), LOG_S("error", why));
}

static void need(struct act *a, uint64_t session)
{
    if (a->needs.n > 0 && a->needs.v[a->needs.n - 1].session == session) return;
    VEC_PUSH(&a->needs, ((struct sync_need){.session = session}));
}

/* What is not possible here may be elsewhere. */
static int begin(struct act *a, const struct body *body, struct launch *launch,
                 struct grant *grant, struct err *err)
{
    struct hooks_ask ask = {launch->spec.ref, body->sync.owner, launch->spec.claim.devices};
    if (launch->spec.fence_ms != 0 && a->driver.ops->answered == NULL)
        return err_set(err, ERR_UNSUPPORTED, "on_disconnect requeue: this node's containers "
                       "cannot end by themselves");
    int rc = a->hooks != NULL ? hooks_ready(a->hooks, &ask, err) : 0;
    if (rc != 0) return rc;
    if (a->inject != NULL && inject_make(a->inject, &launch->ask, grant, err) != 0) return ERR_IO;
    launch_grant(launch, grant);
    rc = a->driver.ops->create(a->driver.self, &launch->spec, err);
    if (rc == 0 && a->hooks != NULL) hooks_made(a->hooks, ask.ref);
    return rc;
}

static void create(struct act *a, const struct have *have, struct member_ref ref)
{
    struct launch launch;
    struct err err = {0};
    uint32_t at;
    if (FIND(&a->refused, ref, &at) || FIND(&a->made, ref, &at)) return;
    const struct body *body = bodies_get(a->bodies, ref.session, ref.attempt);
    if (body == NULL) {
        need(a, ref.session);
        wait_for(a, ref, "");
        return;
    }
    if (have->n + CREATE_ROOM > SYNC_MEMBERS_MAX) { /* a list that is cut is a lie */
        refuse(a, ref, false, "this node holds as many containers as it can report");
        return;
    }
    if (launch_make(body, ref, a->incarnation, &launch, &err) != 0) {
        refuse(a, ref, true, err.text);
        return;
    }
    struct grant grant = {0};
    int rc = begin(a, body, &launch, &grant, &err);
    if (rc == 0) {
        bool known = FIND(&a->made, ref, &at);
        CHECK(!known);
        VEC_INSERT(&a->made, at, ((struct made){ref}));
        wait_over(a, ref);
    } else if (rc == ERR_UNAVAILABLE) {
        wait_for(a, ref, err.text);
    } else {
        refuse(a, ref, err.code == ERR_INVALID || err.code == ERR_UNSUPPORTED, err.text);
    }
    grant_done(&grant);
    launch_done(&launch);
}

static void remember_end(struct act *a, const struct member_report *r)
{
    if (r->phase != MEMBER_EXITED && r->phase != MEMBER_FAILED) return;
    if (a->ends == NULL) a->ends = mem_array(ENDS_KEPT, sizeof(*a->ends));
    a->ends[a->ends_at] = *r;
    a->ends_at = (a->ends_at + 1) % ENDS_KEPT;
    if (a->ends_n < ENDS_KEPT) a->ends_n++;
}

static void clean(struct act *a, const struct have *have, struct member_ref ref)
{
    uint32_t at;
    if (FIND(have, ref, &at)) remember_end(a, &have->v[at]);
    a->sweep_due = true;
    if (FIND(&a->refused, ref, &at)) VEC_REMOVE(&a->refused, at);
    else a->driver.ops->clean(a->driver.self, ref);
}

static void carry_out(struct act *a, const struct have *have, const struct plan_step *s)
{
    static const char *const names[] = {
        [PLAN_CREATE] = "create", [PLAN_GO] = "go", [PLAN_SIGNAL] = "signal", [PLAN_STOP] = "stop",
        [PLAN_CLEAN] = "clean",
    };
    void *self = a->driver.self;
    log_event(LOG_DEBUG, "act", LOG_S("step", names[s->act]), LOG_U("session", s->ref.session),
              LOG_U("attempt", s->ref.attempt), LOG_U("member", s->ref.member));
    switch (s->act) {
    case PLAN_CREATE: create(a, have, s->ref); break;
    case PLAN_GO: a->driver.ops->go(self, s->ref); break;
    case PLAN_SIGNAL: a->driver.ops->signal(self, s->ref, s->signal_no, s->signal); break;
    case PLAN_STOP: a->driver.ops->stop(self, s->ref, s->grace_ms, s->preempted); break;
    case PLAN_CLEAN: clean(a, have, s->ref); break;
    }
}

/* Bodies serve until the session is neither wanted nor here. */
static void sweep(struct act *a, const struct have *have)
{
    a->sweep_due = false;
    bodies_sweep_begin(a->bodies);
    VEC_EACH(w, &a->wants) bodies_mark(a->bodies, w->ref.session);
    for (uint32_t i = 0; i < have->n; i++) bodies_mark(a->bodies, have->v[i].ref.session);
    bodies_sweep_end(a->bodies);
}

void act_end_orphans(struct act *a, const struct member_ref *refs, uint32_t n)
{
    AUTO_FREE struct member_report *list = NULL;
    if (n == 0) return;
    uint32_t listed = a->driver.ops->list(a->driver.self, &list);
    const struct have have = {.v = list, .n = listed};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at;
        if (!FIND(&have, refs[i], &at) || !list[at].orphan) continue;
        log_event(LOG_INFO, "orphan.end", LOG_U("session", refs[i].session),
                  LOG_U("attempt", refs[i].attempt), LOG_U("member", refs[i].member));
        a->driver.ops->clean(a->driver.self, refs[i]);
    }
}

void act_answered(struct act *a, int64_t sent_boot_ms)
{
    if (a->driver.ops->answered) a->driver.ops->answered(a->driver.self, sent_boot_ms);
}

static bool hooks_wanted(const void *a, struct member_ref ref) { return act_wanted(a, ref); }

/* Also while the manager is away: what has ended is cleaned up after. */
static void run_hooks(struct act *a)
{
    AUTO_FREE struct member_report *list = NULL;
    if (a->hooks == NULL) return;
    uint32_t n = a->driver.ops->list(a->driver.self, &list);
    hooks_settle(a->hooks, list, n, hooks_wanted, a);
}

void act_run(struct act *a)
{
    struct plan plan = {0};
    AUTO_FREE struct member_report *list = NULL;
    run_hooks(a);
    if (!a->known) return;
    VEC_CLEAR(&a->needs);
    struct have have = {.n = list_begun(a, &list)};
    have.v = list;
    /* The manager has heard of what waits here; it may still be made. */
    VEC_EACH(r, &a->waiting) {
        uint32_t at;
        if (FIND(&a->wants, r->ref, &at)) a->wants.v[at].fresh = true;
    }
    if (a->sweep_due) sweep(a, &have);
    plan_node(a->wants.v, a->wants.n, have.v, have.n, &plan);
    VEC_EACH(s, &plan.steps) carry_out(a, &have, s);
    plan_done(&plan);
}

static void take_bodies(struct act *a, const struct sync_answer *answer,
                        const struct member_want *wants, uint32_t n)
{
    VEC_EACH(b, &answer->bodies) {
        struct err err = {0};
        if (bodies_put(a->bodies, b, &err) == 0) continue;
        log_event(LOG_ERROR, "body.malformed", LOG_U("session", b->session), LOG_ERR(&err));
        for (uint32_t i = 0; i < n; i++) {
            struct member_ref ref = wants[i].ref;
            if (ref.session == b->session && ref.attempt == b->attempt)
                refuse(a, ref, true, err.text);
        }
    }
}

void act_apply_same(struct act *a, const struct sync_answer *answer)
{
    CHECK(a->known);
    take_bodies(a, answer, a->wants.v, a->wants.n);
    act_run(a);
}

void act_apply(struct act *a, struct sync_answer *answer)
{
    take_bodies(a, answer, answer->wants.v, answer->wants.n);
    VEC_DONE(&a->wants);
    a->wants.v = STEAL(answer->wants.v);
    a->wants.n = answer->wants.n;
    a->wants.cap = answer->wants.cap;
    answer->wants.n = answer->wants.cap = 0;
    a->known = true;
    a->sweep_due = true;
    KEEP_WANTED(a, &a->waiting);
    KEEP_WANTED(a, &a->made);
    VEC_EACH(w, &a->wants) /* what was never begun is gone by not being listed */
        if (w->act == WANT_STOP) wait_over(a, w->ref);
    act_run(a);
}

const struct sync_need *act_needs(const struct act *a, uint32_t *ret_n)
{
    *ret_n = a->needs.n;
    return a->needs.v;
}

bool act_find(struct act *a, struct member_ref ref, struct member_report *ret)
{
    AUTO_FREE struct member_report *list = NULL;
    uint32_t n = act_list(a, &list);
    return act_find_in(a, list, n, ref, ret);
}

bool act_find_in(const struct act *a, const struct member_report *list, uint32_t n,
                 struct member_ref ref, struct member_report *ret)
{
    const struct have have = {.v = list, .n = n};
    uint32_t at;
    if (FIND(&have, ref, &at)) {
        *ret = have.v[at];
        return true;
    }
    for (uint32_t i = 0; i < a->ends_n; i++) {
        if (member_ref_cmp(a->ends[i].ref, ref) != 0) continue;
        *ret = a->ends[i];
        return true;
    }
    return false;
}
