/* bench/step.c - the core alone: what a pass, a submission and a completion cost with
 * very many sessions pending, and what the world weighs.
 *
 *     step [--pending N] [--nodes N]
 *
 * Every node is full.  A completion frees one node, for which the next session
 * waits.  A full pass comes when one node opens and all that wait need two: each
 * shape has to be searched for again, over all nodes, in vain.  The last line has
 * the slowest of both (of 1,000 shapes, the longest step of the pass); the exit
 * status says whether they keep to the targets. */
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/check.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/step.h"

#define COMPLETIONS 400u
#define PASSES 10u
#define SHAPES_AT_ONCE 64u
#define PASS_TARGET_US 10000
#define COMPLETION_TARGET_US 500
#define SESSION_TARGET_BYTES 1024
#define NODE_TARGET_BYTES 4096
#define DEVICES 8

struct bench {
    struct world *w;
    struct effects fx;
    uint32_t nodes, pending, shapes, members;
    enum on_blocked blocked;
    int64_t now_ms, slice_us; /* slice_us: the longest step of a pass that goes on */
    size_t empty_bytes, node_bytes, session_bytes; /* of the heap: at first, a node, a session */
};

struct figures {
    int64_t submit_us, pass_us, slice_us, median_us, p99_us;
};

static int64_t now_us(void)
{
    struct timespec t;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static size_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

static void take(struct bench *b, struct event *ev)
{
    b->w->turn++;
    ev->now_ms = ev->wall_ms = b->now_ms;
    step(b->w, ev, &b->fx);
    CHECK(b->fx.verdict == VERDICT_OK);
}

/* Ticks until the pass has looked at all it wants to. */
static void finish_pass(struct bench *b)
{
    while (b->fx.more) {
        int64_t began = now_us();
        take(b, &(struct event){.kind = EVENT_TICK});
        int64_t took = now_us() - began;
        if (took > b->slice_us) b->slice_us = took;
    }
}

static void join(struct bench *b, uint32_t i, int64_t cpu)
{
    struct event ev = {.kind = EVENT_NODE_JOIN};
    struct node *n = &ev.u.join.node;
    n->group = 1;
    n->capacity = (struct slots){{cpu, INT64_C(1) << 40, DEVICES}};
    n->n_devices = DEVICES;
    for (uint32_t d = 0; d < DEVICES; d++) n->devices[d].health = DEVICE_HEALTHY;
    text_fmt(n->name, sizeof(n->name), "n%u", i);
    take(b, &ev);
}

static void submit(struct bench *b, uint32_t shape, uint32_t members)
{
    struct event ev = {.kind = EVENT_SUBMIT};
    struct session *s = &ev.u.submit.session;
    s->user = s->project = s->group = 1;
    s->kind = KIND_BATCH;
    s->priority = 10;
    s->n_roles = 1;
    s->members = s->roles[0].count = members;
    s->grace_ms = 30000;
    TEXT_SET(s->roles[0].name, STR("main"));
    s->roles[0].slots = (struct slots){{8000, (INT64_C(1) << 30) + shape, DEVICES}};
    take(b, &ev);
}

static void open_world(struct bench *b)
{
    const char *why = NULL;
    b->w = world_new();
    b->now_ms = 1;
    struct group g = group_make(1, "g", b->blocked);
    bool fine = world_put_domain(b->w, &(struct domain){.id = 1, .name = "d"}) &&
                world_put_project(b->w, &(struct project){.id = 1, .domain = 1, .name = "p"}) &&
                world_put_user(b->w, &(struct user){.id = 1, .domain = 1, .name = "u"}) &&
                world_put_group(b->w, &g);
    CHECK(fine);
    fine = world_ready(b->w, &why);
    CHECK(fine);
    b->empty_bytes = heap_bytes();
    for (uint32_t i = 0; i < b->nodes; i++) join(b, i, 8000);
    b->node_bytes = (heap_bytes() - b->empty_bytes) / b->nodes;
    for (uint32_t i = 0; i < b->nodes; i++) submit(b, 0, 1); /* all nodes full */
    CHECK(b->w->queues.v[0].n == 0);
}

/* One more node opens, again and again; nobody fits. */
static int64_t time_pass(struct bench *b)
{
    int64_t sum = 0;
    join(b, b->nodes, 8000);
    finish_pass(b);
    uint32_t extra = b->fx.node ? b->fx.node : b->nodes + 1;
    for (uint32_t i = 0; i < PASSES; i++) {
        struct event ev = {.kind = EVENT_NODE_CORDON, .u.cordon = {extra, true}};
        take(b, &ev);
        finish_pass(b);
        b->now_ms++;
        ev.u.cordon.on = false;
        int64_t began = now_us();
        take(b, &ev);
        int64_t first = now_us() - began;
        if (i == 0) b->slice_us = first;
        finish_pass(b);
        sum += now_us() - began;
    }
    CHECK(b->w->queues.v[0].n == b->pending);
    return sum / PASSES;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* What a node held ends; the pass starts the next one there. */
static int64_t complete(struct bench *b, uint32_t i)
{
    const struct node *n = world_node(b->w, 1 + i * 7 % b->nodes);
    const struct alloc *a = world_allocs_of_node(b->w, n);
    CHECK(a != NULL);
    struct member_report gone = {.ref = a->ref, .phase = MEMBER_EXITED};
    struct event ev = {.kind = EVENT_NODE_REPORT};
    ev.u.report = (struct event_report){.node = n->id, .seq = 1 + i, .members = &gone,
                                        .n_members = 1};
    b->now_ms++;
    int64_t began = now_us();
    take(b, &ev);
    finish_pass(b);
    int64_t took = now_us() - began;
    CHECK(world_allocs_of_node(b->w, n) != NULL);
    return took;
}

static void fill(struct bench *b, uint32_t members)
{
    b->members = members;
    open_world(b);
    size_t before = heap_bytes();
    for (uint32_t i = 0; i < b->pending; i++) submit(b, i % b->shapes, members);
    CHECK(b->w->queues.v[0].n == b->pending);
    b->session_bytes = (heap_bytes() - before) / b->pending;
}

static void empty(struct bench *b)
{
    world_free(b->w);
    effects_done(&b->fx);
    b->fx = (struct effects){0};
}

static struct figures measure(struct bench *b)
{
    struct figures f = {0};
    fill(b, 2);
    f.pass_us = time_pass(b);
    f.slice_us = b->slice_us;
    empty(b);
    int64_t began = now_us();
    fill(b, 1);
    f.submit_us = (now_us() - began) / (b->pending + b->nodes);
    int64_t *took = mem_array(COMPLETIONS, sizeof(*took));
    for (uint32_t i = 0; i < COMPLETIONS; i++) took[i] = complete(b, i);
    qsort(took, COMPLETIONS, sizeof(*took), by_value);
    f.median_us = took[COMPLETIONS / 2];
    f.p99_us = took[COMPLETIONS * 99 / 100];
    mem_free(took);
    empty(b);
    return f;
}

static void print(const struct bench *b, const char *name, const struct figures *f)
{
    printf("%u pending, %u nodes, %s: submit %lld us; full pass %lld us, its longest step "
           "%lld us; completion and pass median %lld us, p99 %lld us; %zu bytes a session, "
           "%zu a node\n",
           b->pending, b->nodes, name, (long long)f->submit_us, (long long)f->pass_us,
           (long long)f->slice_us, (long long)f->median_us, (long long)f->p99_us,
           b->session_bytes, b->node_bytes);
}

static uint32_t number(const char *text)
{
    uint64_t v = 0;
    if (str_to_u64(str_of(text), &v) && v > 0 && v <= 1000000) return (uint32_t)v;
    fprintf(stderr, "step: expected 1 to 1000000, got \"%s\"\n", text);
    exit(2);
}

static const struct { enum on_blocked blocked; uint32_t shapes; const char *name; } KINDS[] = {
    {BLOCKED_STOP, 1, "stop, one shape"},
    {BLOCKED_SKIP, 1, "skip, one shape"},
    {BLOCKED_SKIP, 64, "skip, 64 shapes"},
    {BLOCKED_SKIP, 1000, "skip, 1,000 shapes"},
};

int main(int argc, char **argv)
{
    static const struct option options[] = {{"pending", required_argument, NULL, 'p'},
                                            {"nodes", required_argument, NULL, 'n'},
                                            {0}};
    setvbuf(stdout, NULL, _IOLBF, 0);
    uint32_t pending = 100000, sizes[2] = {1000, 10000}, n_sizes = 2;
    int opt;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'p') pending = number(optarg);
        else if (opt == 'n') sizes[0] = number(optarg), n_sizes = 1;
        else return 2;
    }
    bool held = true;
    struct figures worst = {0};
    for (uint32_t i = 0; i < n_sizes * ARRAY_LEN(KINDS); i++) {
        size_t k = i % ARRAY_LEN(KINDS);
        struct bench b = {.nodes = sizes[i / ARRAY_LEN(KINDS)], .pending = pending,
                          .shapes = KINDS[k].shapes, .blocked = KINDS[k].blocked};
        struct figures f = measure(&b);
        print(&b, KINDS[k].name, &f);
        /* With more shapes than that a pass is cut into steps, which must be short. */
        int64_t pass_us = b.shapes <= SHAPES_AT_ONCE ? f.pass_us : f.slice_us;
        if (pass_us > worst.pass_us) worst.pass_us = pass_us;
        if (f.median_us > worst.median_us) worst.median_us = f.median_us;
        held = held && b.session_bytes < SESSION_TARGET_BYTES && b.node_bytes < NODE_TARGET_BYTES;
    }
    held = held && worst.pass_us < PASS_TARGET_US && worst.median_us < COMPLETION_TARGET_US;
    printf("full pass %.1f ms (target 10), completion and pass %.3f ms (target 0.5)\n",
           (double)worst.pass_us / 1e3, (double)worst.median_us / 1e3);
    return held ? 0 : 1;
}
