/* probe/main.c - `rotad probe`: one line of JSON after another.
 *
 * This thread never calls a driver.  It writes what the reader has finished, at once
 * when an Xid was told, and says when the reader is held up.
 * docs/spec/node.md, "Devices" */
#include "probe/main.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "host/proc.h"
#include "probe/kmsg.h"
#include "probe/reader.h"
#include "probe/survey.h"
#include "probe/twice.h"

enum {
    SAY_MS = 5000,       /* the reader is held up this long: the devices are not readable */
    EVENT_MS = 2000,     /* an Xid waits for a whole report this long */
    ONCE_MS = 10000,     /* for the one report of --once */
    FILE_MS = 50,        /* between looks at a kernel log that is a plain file */
    LINE_MAX_BYTES = 1 << 20,
};

struct options {
    const char *proc, *sys, *dev, *nvml, *kmsg;
    int64_t interval_ms;
    bool once, help;
};

struct told { /* an Xid, not said yet */
    struct probe_event event;
    uint64_t begun;                 /* readings until then: a later one shows what became of it */
};

struct probe {
    struct options options;
    struct reader *reader;
    struct kmsg *kmsg;
    struct twice twice;
    VEC(struct told) events;
    int64_t events_ms;              /* when the first of them came */
    int64_t said_ms;
    uint64_t seq;
};

/* ---- flags ---- */

static void help(const char *program)
{
    printf("Usage: %s [FLAG...]\n\n"
           "Reads the GPUs of this machine and writes one report after another, each a line of\n"
           "JSON.  The agent runs it; it is the only program that loads a vendor's library.\n\n"
           "  --once            one report for people; 1 when it is not complete\n"
           "  --interval-ms N   between reports (%d)\n"
           "  --nvml PATH       NVIDIA's management library (libnvidia-ml.so.1 where there is\n"
           "                    such a GPU)\n"
           "  --kmsg PATH       the kernel's log; \"\" reads none (/dev/kmsg)\n"
           "  --root-proc DIR   instead of /proc\n"
           "  --root-sys DIR    instead of /sys\n"
           "  --root-dev DIR    instead of /dev\n",
           program, PROBE_INTERVAL_MS);
}

static int take_flag(struct options *o, const char *name, const char *value, struct err *err)
{
    const struct { const char *name, **to; } texts[] = {
        {"--root-proc", &o->proc}, {"--root-sys", &o->sys}, {"--root-dev", &o->dev},
        {"--nvml", &o->nvml},      {"--kmsg", &o->kmsg},
    };
    if (!value) return err_set(err, ERR_INVALID, "%.60s wants a value; see --help", name);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (strcmp(name, texts[i].name) != 0) continue;
        *texts[i].to = value;
        return 0;
    }
    if (strcmp(name, "--interval-ms") != 0)
        return err_set(err, ERR_INVALID, "%.60s is unknown; see --help", name);
    if (str_to_i64(str_of(value), &o->interval_ms) && o->interval_ms >= 50 &&
        o->interval_ms <= 60000) return 0;
    return err_set(err, ERR_INVALID, "--interval-ms: expected 50 to 60000, got \"%.40s\"", value);
}

static int take_flags(struct options *o, int argc, char **argv, struct err *err)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--once") == 0) {
            o->once = true;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            o->help = true;
        } else {
            int rc = take_flag(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL, err);
            if (rc < 0) return rc;
            i++;
        }
    }
    return 0;
}

/* ---- saying ---- */

/* False: nobody reads. */
static bool write_all(struct str s)
{
    while (s.n > 0) {
        ssize_t n = write(STDOUT_FILENO, s.p, s.n);
        struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
        if (n < 0 && errno == EAGAIN) (void)poll(&p, 1, -1);
        else if (n < 0 && errno != EINTR) return false;
        if (n > 0) s = str_n(s.p + n, s.n - (size_t)n);
    }
    return true;
}

static bool reads_back(struct str line, struct err *err)
{
    struct probe_report again;
    if (wire_parse(&wire_probe_report, line, &again, err) < 0) return false;
    wire_free(&wire_probe_report, &again);
    return true;
}

/* Whatever a driver has made of it, what is written can be read. */
static void print_report(struct probe_report *r, struct strbuf *out)
{
    struct err err = {0};
    wire_print(&wire_probe_report, r, out);
    if (!out->full && reads_back(strbuf_str(out), &err)) return;
    struct probe_report bad;
    survey_begin(&bad);
    bad.seq = r->seq;
    survey_fail(&bad, "the report does not read back: %s: %s", err.field, err.text);
    survey_end(&bad);
    strbuf_reset(out);
    wire_print(&wire_probe_report, &bad, out);
}

/* The kernel's log knows addresses alone, the library perhaps names alone. */
static void name_events(struct probe_report *r)
{
    VEC_EACH (e, &r->events) {
        for (uint32_t i = 0; i < r->n_devices; i++) {
            const struct probe_device *d = &r->devices[i];
            if (!twice_same_device(d->uuid, d->pci, e)) continue;
            (void)TEXT_SET(e->uuid, str_of(d->uuid));
            (void)TEXT_SET(e->pci, str_of(d->pci));
        }
    }
}

static void add_events(struct probe *p, struct probe_report *r, uint64_t number)
{
    uint32_t left = 0;
    VEC_EACH (t, &p->events) {
        if (t->begun < number) VEC_PUSH(&r->events, t->event);
        else p->events.v[left++] = *t;
    }
    p->events.n = left;
    name_events(r);
}

/* number: of the reading that the report is of. */
static bool say(struct probe *p, struct probe_report *r, uint64_t number)
{
    AUTO_STRBUF struct strbuf line;
    strbuf_init(&line, LINE_MAX_BYTES);
    r->seq = ++p->seq;
    r->xid_kmsg = p->kmsg != NULL;
    add_events(p, r, number);
    print_report(r, &line);
    strbuf_putc(&line, '\n');
    p->said_ms = proc_boot_ms();
    return write_all(strbuf_str(&line));
}

static bool say_stuck(struct probe *p, int64_t stuck_ms, const char *call)
{
    struct probe_report r;
    survey_begin(&r);
    survey_fail(&r, "%s has not answered for %lld s", call[0] ? call : "the kernel",
                (long long)(stuck_ms / 1000));
    bool ok = say(p, &r, UINT64_MAX);
    wire_free(&wire_probe_report, &r);
    return ok;
}

/* ---- Xids ---- */

static void take_event(struct probe *p, enum twice_source from, const struct probe_event *e)
{
    if (twice_told(&p->twice, from, e)) {
        VEC_EACH (old, &p->events) { /* the kernel's log says more than a number */
            struct probe_event *o = &old->event;
            if (o->xid == e->xid && !o->text[0] && twice_same_device(o->uuid, o->pci, e))
                TEXT_CLIP(o->text, str_of(e->text));
        }
        return;
    }
    if (p->events.n == 0) p->events_ms = proc_boot_ms();
    if (p->events.n == PROBE_EVENTS_MAX) VEC_REMOVE(&p->events, 0);
    struct told now = {.event = *e, .begun = reader_begun(p->reader)};
    VEC_PUSH(&p->events, now);
    reader_hurry(p->reader);
}

static void take_events(struct probe *p)
{
    struct probe_event e;
    while (reader_event(p->reader, &e)) take_event(p, TWICE_NVML, &e);
    for (int i = 0; p->kmsg && i < PROBE_EVENTS_MAX && kmsg_next(p->kmsg, &e); i++)
        take_event(p, TWICE_KMSG, &e);
}

/* ---- the loop ---- */

static int pause_ms(const struct probe *p)
{
    int64_t ms = p->options.interval_ms < 500 ? p->options.interval_ms : 500;
    if (p->kmsg && kmsg_fd(p->kmsg) < 0) ms = FILE_MS;
    return (int)ms;
}

/* True: go on. */
static bool turn(struct probe *p, int *ret_code)
{
    const char *call;
    struct probe_report r;
    uint64_t number;
    take_events(p);
    bool ok = true;
    if (reader_report(p->reader, &r, &number)) {
        ok = say(p, &r, number);
        wire_free(&wire_probe_report, &r);
    }
    int64_t now = proc_boot_ms(), stuck = reader_stuck_ms(p->reader, &call);
    bool waits = p->events.n > 0 && now - p->events_ms > EVENT_MS;
    if (ok && (waits || (stuck > SAY_MS && now - p->said_ms >= p->options.interval_ms)))
        ok = say_stuck(p, stuck, call);
    *ret_code = 0;
    if (ok && stuck > PROBE_STALL_MS) *ret_code = PROBE_EXIT_STALLED;
    return ok && *ret_code == 0;
}

static int run_always(struct probe *p)
{
    int code = 0;
    struct err err = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (p->options.kmsg[0]) p->kmsg = kmsg_open(p->options.kmsg, &err);
    if (err.code) (void)fprintf(stderr, "rotad probe: %s\n", err.text);
    while (turn(p, &code)) {
        struct pollfd fds[3] = {
            {.fd = STDOUT_FILENO}, /* an error when its reader is gone */
            {.fd = reader_fd(p->reader), .events = POLLIN},
            {.fd = p->kmsg ? kmsg_fd(p->kmsg) : -1, .events = POLLIN},
        };
        (void)poll(fds, 3, pause_ms(p));
        if (fds[0].revents & (POLLERR | POLLHUP | POLLNVAL)) break;
    }
    return code;
}

/* Two blanks for each level, as people read it. */
static void indent(struct str json, struct strbuf *out)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        bool opens = !quoted && (c == '{' || c == '['), closes = !quoted && (c == '}' || c == ']');
        bool empty = opens && i + 1 < json.n && (json.p[i + 1] == '}' || json.p[i + 1] == ']');
        if (closes && json.p[i - 1] != '{' && json.p[i - 1] != '[')
            strbuf_fmt(out, "\n%*s", 2 * (depth - 1), "");
        strbuf_putc(out, c);
        if (quoted && c == '\\' && i + 1 < json.n) strbuf_putc(out, json.p[++i]);
        else if (c == '"') quoted = !quoted;
        depth += opens - closes;
        if (!quoted && ((opens && !empty) || c == ',')) strbuf_fmt(out, "\n%*s", 2 * depth, "");
        if (!quoted && c == ':') strbuf_putc(out, ' ');
    }
    strbuf_putc(out, '\n');
}

static int run_once(struct probe *p)
{
    struct probe_report r;
    struct pollfd fd = {.fd = reader_fd(p->reader), .events = POLLIN};
    AUTO_STRBUF struct strbuf line, text;
    strbuf_init(&line, LINE_MAX_BYTES);
    strbuf_init(&text, 4 * LINE_MAX_BYTES);
    const char *call;
    uint64_t number;
    (void)poll(&fd, 1, ONCE_MS);
    if (!reader_report(p->reader, &r, &number)) {
        int64_t stuck = reader_stuck_ms(p->reader, &call);
        survey_begin(&r);
        survey_fail(&r, "%s has not answered for %lld s", call[0] ? call : "the kernel",
                    (long long)(stuck / 1000));
    }
    r.seq = 1;
    bool complete = r.complete;
    print_report(&r, &line);
    indent(strbuf_str(&line), &text);
    wire_free(&wire_probe_report, &r);
    return write_all(strbuf_str(&text)) && complete ? 0 : 1;
}

int probe_main(int argc, char **argv)
{
    struct probe p = {.options = {.proc = "/proc", .sys = "/sys", .dev = "/dev",
                                  .kmsg = "/dev/kmsg", .interval_ms = PROBE_INTERVAL_MS}};
    struct err err = {0};
    struct tree tree;
    if (take_flags(&p.options, argc, argv, &err) < 0) {
        (void)fprintf(stderr, "%s: %s\n", argv[0], err.text);
        return 2;
    }
    if (p.options.help) {
        help(argv[0]);
        return fflush(stdout) == 0 ? 0 : 1;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    int rc = tree_open(&tree, p.options.proc, p.options.sys, p.options.dev, &err);
    struct reader_spec spec = {.tree = tree, .nvml = p.options.nvml,
                               .interval_ms = p.options.interval_ms};
    if (rc == 0) p.reader = reader_start(&spec, &err);
    if (!p.reader) {
        (void)fprintf(stderr, "%s: %s\n", argv[0], err.text);
        return 1;
    }
    int code = p.options.once ? run_once(&p) : run_always(&p);
    _exit(code); /* the reader may be where it cannot be asked to leave */
}
