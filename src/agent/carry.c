/* agent/carry.c - see carry.h.
 *
 * pump() is the only place that sends.  It runs while the connection takes bytes
 * and there is something to read, in bounded slices, and is woken by the
 * connection's drain, by inotify and by changes of the driver's list.
 * Invariant: the end of the container is looked up before the rest of its log is
 * read, so that nothing written before the end is missed. */
#include "agent/carry.h"
#include <errno.h>
#include <sys/inotify.h>
#include "agent/frames.h"
#include "agent/logread.h"
#include "base/check.h"
#include "net/log.h"
#include "wire/carry.h"
#include "wire/objects.h"

#define SLICE_BYTES (1024 * 1024) /* read in one go before others get their turn */
#define BATCH_BYTES (32 * 1024)   /* records of one stream share a frame up to this */
#define UNKNOWN_MS 10000          /* a member that nobody here has heard of is waited for */
#define COMMAND_MS 10000          /* exec: until its first frame */
#define INPUT_RETRY_MS 5          /* a job that does not read is asked again */

_Static_assert(BATCH_BYTES + SHIM_LOG_TEXT_MAX + 1 <= CARRY_PAYLOAD_MAX, "a frame holds a batch");

struct carry {
    struct carry_host *host;
    struct carry *next, *prev;
    struct net_conn *conn;
    struct carry_opts o;
    struct net_timer *again;
    struct logread *log;
    int wd; /* inotify watch, -1: none */
    char dir[512];
    bool blocked;  /* the connection takes no more for now */
    bool input_on; /* attach: reading from the client has begun */
    int64_t deadline_ms;
    struct frames in;
    struct frame pending; /* attach: of the input, not yet taken by the job; payload in `in` */
    bool input_refused;   /* the client has been told why */
    struct net_timer *retry;
    uint32_t n; /* batch: bytes, all of one stream */
    bool batch_err;
    char batch[BATCH_BYTES + SHIM_LOG_TEXT_MAX + 1];
};

/* ---- life ---- */

static void unwatch(struct carry *c)
{
    if (c->wd < 0) return;
    for (struct carry *o = c->host->first; o != NULL; o = o->next) {
        if (o != c && o->wd == c->wd) { /* inotify has one watch per directory */
            c->wd = -1;
            return;
        }
    }
    inotify_rm_watch(c->host->inotify_fd, c->wd);
    c->wd = -1;
}

static void carry_free(struct carry *c) /* the connection is somebody else's or gone */
{
    unwatch(c);
    if (c->prev != NULL) c->prev->next = c->next;
    else c->host->first = c->next;
    if (c->next != NULL) c->next->prev = c->prev;
    CHECK(c->host->live > 0);
    c->host->live--;
    net_timer_free(c->again);
    net_timer_free(c->retry);
    logread_free(c->log);
    mem_free(c);
}

static bool put_frame(struct carry *c, enum carry_type type, struct str payload)
{
    uint8_t head[CARRY_HEAD];
    carry_head_put(head, type, (uint32_t)payload.n);
    struct str v[2] = {str_n((const char *)head, sizeof(head)), payload};
    return net_conn_writev(c->conn, v, payload.n > 0 ? 2 : 1);
}

static void end_with(struct carry *c, enum carry_type type, struct str payload)
{
    put_frame(c, type, payload);
    net_conn_finish(c->conn);
    carry_free(c);
}

static void end_error(struct carry *c, const char *sentence)
{
    end_with(c, CARRY_ERROR, str_of(sentence));
}

static void end_exit(struct carry *c, const struct member_end *end)
{
    struct carry_end x = {.exit_code = end->exit_code, .signal = end->signal, .oom = end->oom,
                          .timed_out = end->timed_out};
    AUTO_STRBUF struct strbuf json;
    TEXT_CLIP(x.detail, str_of(end->detail));
    strbuf_init(&json, 4096);
    wire_print(&wire_carry_end, &x, &json);
    end_with(c, CARRY_END, strbuf_str(&json));
}

/* ---- output ---- */

static void flush(struct carry *c)
{
    if (c->n == 0) return;
    struct str payload = str_n(c->batch, c->n);
    c->n = 0;
    if (!put_frame(c, c->batch_err ? CARRY_STDERR : CARRY_STDOUT, payload)) c->blocked = true;
}

static void batch_add(struct carry *c, const struct shim_log_record *rec)
{
    if (c->n > 0 && c->batch_err != rec->err) flush(c);
    c->batch_err = rec->err;
    memcpy(c->batch + c->n, rec->text, rec->n);
    c->n += (uint32_t)rec->n;
    if (rec->newline) c->batch[c->n++] = '\n';
    if (c->n >= BATCH_BYTES) flush(c);
}

static void notice_lost(struct carry *c, uint64_t lost)
{
    char text[96];
    flush(c);
    int n = text_fmt(text, sizeof(text), "%llu pieces of output were lost before this point",
                     (unsigned long long)lost);
    put_frame(c, CARRY_NOTICE, str_n(text, (size_t)n));
}

/* Opens the log when there is one, or follows it to where it was moved.  True: there
 * may be something new to read. */
static bool find_log(struct carry *c)
{
    const struct driver *d = c->host->driver;
    char dir[sizeof(c->dir)];
    struct err err;
    int rc = ERR_NOT_FOUND;
    bool first = c->log == NULL;
    /* It may move between the question and the opening: once, then it stays. */
    for (int tries = 0; tries < 2 && rc == ERR_NOT_FOUND; tries++) {
        if (!d->ops->log_dir(d->self, c->o.ref, dir, sizeof(dir))) return false;
        if (c->log != NULL && strcmp(dir, c->dir) == 0) return false;
        rc = first ? logread_open(dir, &c->log, &err) : logread_move(c->log, dir, &err);
    }
    if (rc != 0) return false;
    if (first && c->o.has_tail) logread_tail(c->log, c->o.tail);
    TEXT_CLIP(c->dir, str_of(dir));
    unwatch(c);
    if (c->o.follow) {
        c->wd = inotify_add_watch(c->host->inotify_fd, dir, IN_MODIFY | IN_CREATE | IN_MOVED_TO);
    }
    return true;
}

enum pumped { PUMP_DRY, PUMP_BLOCKED, PUMP_SLICE };

static enum pumped pump_records(struct carry *c)
{
    struct shim_log_record rec;
    uint64_t lost = 0;
    size_t sent = 0;
    for (;;) {
        if (c->blocked) return PUMP_BLOCKED;
        if (sent > SLICE_BYTES) return PUMP_SLICE;
        if (c->log == NULL || !logread_next(c->log, &rec, &lost)) {
            if (!find_log(c)) break;
            continue;
        }
        if (lost > 0) notice_lost(c, lost);
        batch_add(c, &rec);
        sent += rec.n + 1;
    }
    flush(c);
    return c->blocked ? PUMP_BLOCKED : PUMP_DRY;
}

enum known { KNOWN_HERE, KNOWN_ENDED, KNOWN_GONE, KNOWN_NOT };

struct members { const struct member_report *v; uint32_t n; };

static enum known look_up(struct carry *c, const struct members *m, struct member_report *ret)
{
    if (act_find_in(c->host->act, m->v, m->n, c->o.ref, ret)) {
        bool ended = ret->phase == MEMBER_EXITED || ret->phase == MEMBER_FAILED;
        return ended ? KNOWN_ENDED : KNOWN_HERE;
    }
    if (act_wanted(c->host->act, c->o.ref)) return KNOWN_HERE;
    return c->log != NULL ? KNOWN_GONE : KNOWN_NOT;
}

static void input_begin(struct carry *c, enum known known, enum member_phase phase)
{
    if (c->input_on) return;
    /* Before the command runs its standard input is not there; what the client
     * sends waits in its own socket. */
    if (c->o.action == TICKET_ATTACH && (known != KNOWN_HERE || phase != MEMBER_RUNNING)) return;
    c->input_on = true;
    net_conn_resume(c->conn);
}

/* More of the log has come; nothing else is known to have changed. */
static void pump_more(struct carry *c)
{
    if (pump_records(c) == PUMP_SLICE) net_timer_set(c->again, 0, 0);
}

/* May free c. */
static void pump_with(struct carry *c, const struct members *m)
{
    struct member_report r = {0};
    static const struct member_end untold = {
        .exit_code = -1, .detail = "it ended before this agent started; see the session"};
    enum known known = look_up(c, m, &r);
    input_begin(c, known, r.phase);
    switch (pump_records(c)) {
    case PUMP_BLOCKED: return; /* on_drain goes on */
    case PUMP_SLICE: net_timer_set(c->again, 0, 0); return;
    case PUMP_DRY: break;
    }
    if (known == KNOWN_ENDED) {
        end_exit(c, &r.end);
    } else if (known == KNOWN_GONE || (known == KNOWN_NOT && c->log != NULL)) {
        end_exit(c, &untold);
    } else if (!c->o.follow) {
        net_conn_finish(c->conn);
        carry_free(c);
    } else if (known == KNOWN_NOT) {
        int64_t left = c->deadline_ms - net_now_ms();
        if (left > 0) net_timer_set(c->again, left, 0); /* its order may be on the way */
        else end_error(c, "this container is not on this node");
    }
}

static void pump(struct carry *c)
{
    AUTO_FREE struct member_report *list = NULL;
    struct members m = {.n = act_list(c->host->act, &list)};
    m.v = list;
    pump_with(c, &m);
}

static void on_again(void *arg) { pump(arg); }

static void on_drain(struct net_conn *conn, void *arg)
{
    struct carry *c = arg;
    (void)conn;
    c->blocked = false;
    pump(c);
}

/* ---- input ---- */

/* Hands the connection to the driver; c is gone afterwards. */
static void run_exec(struct carry *c, struct str payload, struct str rest)
{
    const struct driver *d = c->host->driver;
    struct exec_request rq;
    struct wire_texts argv = {0};
    struct err err = {0};
    if (wire_parse(&wire_exec_request, payload, &rq, &err) != 0) {
        end_error(c, err.text);
        return;
    }
    if (rq.env.n > 0) wire_texts_add(&argv, STR("/usr/bin/env"));
    for (uint32_t i = 0; i < rq.env.n; i++) {
        AUTO_STRBUF struct strbuf pair;
        strbuf_init(&pair, CARRY_PAYLOAD_MAX);
        strbuf_fmt(&pair, "%s=%s", rq.env.v[i].name, rq.env.v[i].value);
        wire_texts_add(&argv, strbuf_str(&pair));
    }
    for (uint32_t i = 0; i < rq.argv.n; i++) wire_texts_add(&argv, str_of(rq.argv.v[i]));
    net_conn_pause(c->conn);
    net_conn_set_idle(c->conn, 0);
    if (rest.n > 0) net_conn_unread(c->conn, rest);
    int rc = rq.argv.n == 0
                 ? err_set(&err, ERR_INVALID, "no command")
                 : d->ops->exec(d->self, c->o.ref, (const char *const *)argv.v, rq.tty, c->conn,
                                &err);
    if (rc != 0) end_error(c, err.text);
    else carry_free(c);
    wire_texts_free(&argv);
    wire_free(&wire_exec_request, &rq);
}

/* Gives the job as much of the pending frame as it takes.  False: it takes no more for
 * now; the client's socket has to wait, not our memory. */
static bool push_input(struct carry *c)
{
    const struct driver *d = c->host->driver;
    struct frame *f = &c->pending;
    struct err err = {0};
    do {
        uint32_t n = f->payload.n < SHIM_DATA_MAX ? (uint32_t)f->payload.n : SHIM_DATA_MAX;
        int rc = d->ops->attach_input(d->self, c->o.ref, (uint8_t)f->type, f->payload.p, n, &err);
        if (rc == ERR_UNAVAILABLE) return false;
        if (rc != 0 && !c->input_refused) {
            c->input_refused = true;
            put_frame(c, CARRY_NOTICE, str_of(err.text));
        }
        f->payload.p += n;
        f->payload.n -= n;
    } while (f->payload.n > 0);
    return true;
}

static void on_retry(void *arg)
{
    struct carry *c = arg;
    if (push_input(c)) net_conn_resume(c->conn);
    else net_timer_set(c->retry, INPUT_RETRY_MS, 0);
}

/* False: no more frames for now, or c is gone. */
static bool take_frame(struct carry *c, const struct frame *f, struct str rest)
{
    if (c->o.action == TICKET_EXEC) {
        if (f->type == CARRY_COMMAND) run_exec(c, f->payload, rest);
        else end_error(c, "the first frame of an exec names the command");
        return false;
    }
    if (c->o.action != TICKET_ATTACH) return true; /* readers have nothing to say */
    c->pending = *f;
    if (push_input(c)) return true;
    net_conn_pause(c->conn);
    net_conn_unread(c->conn, rest);
    net_timer_set(c->retry, INPUT_RETRY_MS, 0);
    return false;
}

static void on_data(struct net_conn *conn, struct str data, void *arg)
{
    struct carry *c = arg;
    struct frame f;
    struct err err = {0};
    int rc;
    (void)conn;
    while ((rc = frames_next(&c->in, &data, &f, &err)) > 0) {
        if (!take_frame(c, &f, data)) return;
    }
    if (rc < 0) end_error(c, err.text);
}

static void on_close(struct net_conn *conn, const struct err *why, void *arg)
{
    (void)conn, (void)why;
    carry_free(arg);
}

static const struct net_conn_ops conn_ops = {
    .on_data = on_data, .on_drain = on_drain, .on_close = on_close,
};

/* ---- the node's carries ---- */

void carry_start(struct carry_host *h, struct net_conn *conn, const struct carry_opts *o)
{
    struct carry *c = mem_alloc(sizeof(*c));
    c->host = h;
    c->conn = conn;
    c->o = *o;
    if (o->action == TICKET_ATTACH) c->o.follow = true;
    c->wd = -1;
    c->deadline_ms = net_now_ms() + UNKNOWN_MS;
    c->again = net_timer_new(h->loop, on_again, c);
    c->retry = net_timer_new(h->loop, on_retry, c);
    c->next = h->first;
    if (h->first != NULL) h->first->prev = c;
    h->first = c;
    h->live++;
    net_conn_set_ops(conn, &conn_ops, c);
    if (o->action == TICKET_EXEC) {
        net_conn_set_idle(conn, COMMAND_MS);
        net_conn_resume(conn);
    } else {
        net_timer_set(c->again, 0, 0);
    }
}

void carry_wake_log(struct carry_host *h, int wd)
{
    for (struct carry *c = h->first; c != NULL; c = c->next) {
        if (c->wd == wd && !c->blocked) pump_more(c);
    }
}

void carry_wake_all(struct carry_host *h)
{
    AUTO_FREE struct member_report *list = NULL;
    struct carry *next;
    if (h->first == NULL) return;
    struct members m = {.n = act_list(h->act, &list)};
    m.v = list;
    for (struct carry *c = h->first; c != NULL; c = next) {
        next = c->next;
        if (c->o.action != TICKET_EXEC && !c->blocked) pump_with(c, &m);
    }
}

void carry_end_all(struct carry_host *h)
{
    while (h->first != NULL) {
        net_conn_close(h->first->conn);
        carry_free(h->first);
    }
}
