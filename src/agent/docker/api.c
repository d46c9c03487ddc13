/* agent/docker/api.c - what we ask of a container engine.  docs/spec/node.md, "Engines" */
#include "agent/docker/api.h"
#include <poll.h>
#include <string.h>
#include "agent/docker/http.h"
#include "agent/docker/tar.h"
#include "base/mem.h"
#include "wire/table.h"

#define SHORT_MS 10000
#define LONG_MS 120000   /* what makes or starts something, on a busy machine */
#define PULL_MS 600000   /* without a word of progress */
#define ANSWER_MAX (16 * 1024 * 1024)
#define LINE_MAX (256 * 1024)
#define REMOVE_TRIES 20  /* another removal of the same is under way */
#define REMOVE_WAIT_MS 100

/* ---- what is read of its answers ---- */

struct problem { char *message; };
static const struct wire_field problem_fields[] = {
    WIRE_F_STRING(struct problem, message, "message", 65536)};
static const struct wire_table problem_table =
    WIRE_TABLE("error", struct problem, problem_fields, .lenient = true);

struct state { bool running, oom_killed; int64_t pid, exit_code; char *error; };
struct inspected { char id[DOCKER_ID]; struct state state; };
static const struct wire_field state_fields[] = {
    WIRE_F_BOOL(struct state, running, "Running"),
    WIRE_F_BOOL(struct state, oom_killed, "OOMKilled"),
    WIRE_F_I64(struct state, pid, "Pid"),
    WIRE_F_I64(struct state, exit_code, "ExitCode"),
    WIRE_F_STRING(struct state, error, "Error", 65536)};
static const struct wire_table state_table =
    WIRE_TABLE("state", struct state, state_fields, .lenient = true);
static const struct wire_field inspected_fields[] = {
    WIRE_F_TEXT(struct inspected, id, "Id", .flags = WIRE_REQUIRED),
    WIRE_F_OBJECT(struct inspected, state, "State", &state_table, .flags = WIRE_REQUIRED)};
static const struct wire_table inspected_table =
    WIRE_TABLE("container", struct inspected, inspected_fields, .lenient = true);

struct named { char id[DOCKER_ID]; };
static const struct wire_field named_fields[] = {
    WIRE_F_TEXT(struct named, id, "Id", .flags = WIRE_REQUIRED, .min = 1)};
static const struct wire_table named_table =
    WIRE_TABLE("object", struct named, named_fields, .lenient = true);

struct listed { struct wire_texts names; };
struct listing { VEC(struct listed) items; };
static const struct wire_field listed_fields[] = {
    WIRE_F_TEXTS(struct listed, names, "Names", 64, 16384, .flags = WIRE_REQUIRED)};
static const struct wire_table listed_table =
    WIRE_TABLE("container", struct listed, listed_fields, .lenient = true);
static const struct wire_field listing_fields[] = {
    WIRE_F_LIST(struct listing, items, "items", &listed_table, 100000)};
static const struct wire_table listing_table =
    WIRE_TABLE("containers", struct listing, listing_fields, .max_bytes = ANSWER_MAX + 64);

static const struct wire_field exec_fields[] = {
    WIRE_F_BOOL(struct docker_exec_state, running, "Running"),
    WIRE_F_I64(struct docker_exec_state, exit_code, "ExitCode"),
    WIRE_F_I64(struct docker_exec_state, pid, "Pid")};
static const struct wire_table exec_table =
    WIRE_TABLE("exec", struct docker_exec_state, exec_fields, .lenient = true);

struct progress { char *error; };
static const struct wire_field progress_fields[] = {
    WIRE_F_STRING(struct progress, error, "error", 65536)};
static const struct wire_table progress_table =
    WIRE_TABLE("progress", struct progress, progress_fields, .lenient = true);

/* ---- calls ---- */

static int code_of(int status)
{
    switch (status) {
    case 400: return ERR_INVALID;
    case 401:
    case 403: return ERR_DENIED;
    case 404: return ERR_NOT_FOUND;
    case 409: return ERR_CONFLICT;
    default: return ERR_IO;
    }
}

static void one_line(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ') *p = ' ';
}

int docker_refused(int status, struct str body, struct err *err)
{
    struct problem p = {0};
    int code = code_of(status);
    if (wire_parse(&problem_table, body, &p, NULL) == 0 && p.message && p.message[0])
        err_set(err, code, "%.200s", p.message);
    else
        err_set(err, code, "the container engine answered %d", status);
    if (err) one_line(err->text);
    wire_free(&problem_table, &p);
    return code;
}

struct asked { const char *socket, *method, *target; struct str body; int64_t timeout_ms; };

/* 0 for every 2xx and for 304 (it is so already). */
static int ask(const struct asked *a, struct strbuf *answer, struct err *err)
{
    int status = 0;
    struct docker_call c = {.socket = a->socket, .method = a->method, .target = a->target,
                            .body = a->body, .timeout_ms = a->timeout_ms};
    int rc = docker_call(&c, &status, answer, err);
    if (rc < 0) return rc;
    if ((status >= 200 && status < 300) || status == 304) return 0;
    return docker_refused(status, strbuf_str(answer), err);
}

/* An answer that does not read is none. */
static int read_as(const struct wire_table *t, const struct strbuf *answer, void *obj,
                   struct err *err)
{
    if (wire_parse(t, strbuf_str(answer), obj, err) == 0) return 0;
    err_prefix(err, "the container engine's answer is unreadable");
    if (err) err->code = ERR_UNAVAILABLE;
    return ERR_UNAVAILABLE;
}

static int ask_for(const struct asked *a, const struct wire_table *t, void *obj, struct err *err)
{
    AUTO_STRBUF struct strbuf answer;
    strbuf_init(&answer, ANSWER_MAX);
    int rc = ask(a, &answer, err);
    return rc < 0 ? rc : read_as(t, &answer, obj, err);
}

static int just_ask(const struct asked *a, struct err *err)
{
    AUTO_STRBUF struct strbuf answer;
    strbuf_init(&answer, ANSWER_MAX);
    return ask(a, &answer, err);
}

/* "/containers/NAME/json" with the name escaped, in *b. */
static const char *path(struct strbuf *b, const char *before, const char *name, const char *after)
{
    strbuf_init(b, 8192);
    strbuf_puts(b, before);
    http_escape(b, str_of(name), false);
    strbuf_puts(b, after);
    return b->p;
}

/* "Docker/20.10.24+dfsg1 (linux)", "Libpod/4.3.1 (linux)" */
static int read_server(struct str server, struct docker_version *ret, struct err *err)
{
    struct docker_version v = {0};
    struct str name;
    if (!str_cut(&server, '/', &name)) name = server;
    if (str_eq(name, STR("Docker"))) v.kind = DOCKER_DOCKER;
    if (str_eq(name, STR("Libpod"))) v.kind = DOCKER_PODMAN;
    if (v.kind == DOCKER_UNKNOWN)
        return err_set(err, ERR_UNSUPPORTED, "'%.*s' is neither Docker nor Podman",
                       (int)name.n, name.p ? name.p : "");
    str_cut(&server, ' ', &name);
    TEXT_CLIP(v.version, name);
    *ret = v;
    return 0;
}

int docker_version(const char *socket, struct docker_version *ret, struct err *err)
{
    AUTO_FREE struct docker_stream *s = mem_alloc(sizeof(*s));
    /* Not /version: Podman asks the package manager for that, which takes seconds. */
    struct docker_call c = {.socket = socket, .method = "GET", .target = "/_ping",
                            .timeout_ms = SHORT_MS};
    int rc = docker_open(&c, s, err);
    if (rc < 0) return rc;
    docker_close(s);
    if (s->status != 200)
        return err_set(err, ERR_UNAVAILABLE, "the container engine answered %d", s->status);
    return read_server(str_of(s->server), ret, err);
}

int docker_create(const char *socket, const char *name, struct str spec, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    struct named made = {0};
    struct asked a = {socket, "POST", path(&b, "/containers/create?name=", name, ""), spec,
                      LONG_MS};
    return ask_for(&a, &named_table, &made, err);
}

/* ---- directories ---- */

struct dirs { const char *path; size_t from; uint32_t uid, gid; };

/* The path's prefixes from the first that is missing on, without the first slash. */
static int write_dirs(struct docker_stream *s, void *arg, struct err *err)
{
    static const char end[2 * TAR_BLOCK];
    const struct dirs *d = arg;
    size_t n = strlen(d->path);
    for (size_t i = d->from; i <= n; i++) {
        char name[TAR_NAME_MAX + 1], head[TAR_BLOCK];
        if (d->path[i] && d->path[i] != '/') continue;
        text_fmt(name, sizeof(name), "%.*s/", (int)i - 1, d->path + 1);
        tar_head(&(struct tar_entry){.name = name, .mode = 0755, .uid = d->uid, .gid = d->gid},
                 head);
        int rc = docker_send(s, str_n(head, sizeof(head)), err);
        if (rc < 0) return rc;
    }
    return docker_send(s, str_n(end, sizeof(end)), err);
}

static int has_path(const char *socket, const char *name, struct str dir, struct err *err)
{
    AUTO_STRBUF struct strbuf b, answer;
    int status = 0;
    strbuf_init(&answer, LINE_MAX);
    path(&b, "/containers/", name, "/archive?path=");
    http_escape(&b, dir, false);
    struct docker_call c = {.socket = socket, .method = "HEAD", .target = b.p,
                            .timeout_ms = SHORT_MS};
    int rc = docker_call(&c, &status, &answer, err);
    if (rc < 0) return rc;
    return status == 200 || status == 404 ? status == 200
                                          : docker_refused(status, (struct str){0}, err);
}

int docker_mkdir(const char *socket, const char *name, const char *dir, uint32_t uid, uint32_t gid,
                 struct err *err)
{
    AUTO_STRBUF struct strbuf b, answer;
    struct dirs d = {.path = dir, .uid = uid, .gid = gid};
    size_t n = strlen(dir);
    int status = 0, rc = 1;
    strbuf_init(&answer, LINE_MAX);
    path(&b, "/containers/", name, "/archive?path=%2F");
    while (n > 1 && dir[n - 1] == '/') n--;
    for (size_t i = 2; i <= n && rc == 1; i++) {
        if (i < n && dir[i] != '/') continue;
        rc = has_path(socket, name, str_n(dir, i), err);
        d.from = i;
    }
    if (rc != 0) return rc < 0 ? rc : 0;
    if (n >= TAR_NAME_MAX)
        return err_set(err, ERR_LIMIT, "'%.60s...' is too long for an engine to make", dir);
    struct docker_call c = {.socket = socket, .method = "PUT", .target = b.p,
                            .timeout_ms = LONG_MS, .write_body = write_dirs, .arg = &d};
    rc = docker_call(&c, &status, &answer, err);
    if (rc < 0 || status == 200) return rc;
    return docker_refused(status, strbuf_str(&answer), err);
}

int docker_start(const char *socket, const char *name, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    struct asked a = {socket, "POST", path(&b, "/containers/", name, "/start"), {0}, LONG_MS};
    return just_ask(&a, err);
}

int docker_inspect(const char *socket, const char *name, struct docker_state *ret, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    struct inspected i = {0};
    struct asked a = {socket, "GET", path(&b, "/containers/", name, "/json"), {0}, SHORT_MS};
    int rc = ask_for(&a, &inspected_table, &i, err);
    if (rc < 0) return rc;
    *ret = (struct docker_state){.pid = i.state.pid, .exit_code = i.state.exit_code,
                                 .running = i.state.running, .oom_killed = i.state.oom_killed};
    TEXT_CLIP(ret->id, str_of(i.id));
    TEXT_CLIP(ret->error, str_of(i.state.error ? i.state.error : ""));
    one_line(ret->error);
    wire_free(&inspected_table, &i);
    return 0;
}

int docker_remove(const char *socket, const char *name, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    struct asked a = {socket, "DELETE", path(&b, "/containers/", name, "?force=1&v=1"), {0},
                      30000};
    struct docker_state s;
    for (int i = 0;; i++) {
        int rc = just_ask(&a, err);
        if (rc == ERR_NOT_FOUND) return 0;
        if (rc < 0 && (rc != ERR_CONFLICT || i == REMOVE_TRIES)) return rc;
        /* Accepted is not done: only its absence is. */
        if (rc == 0 && docker_inspect(socket, name, &s, err) == ERR_NOT_FOUND) return 0;
        if (rc == 0 && i == REMOVE_TRIES)
            return err_set(err, ERR_UNAVAILABLE, "the container engine still has %s", name);
        poll(NULL, 0, REMOVE_WAIT_MS);
    }
}

int docker_list(const char *socket, const char *label, struct docker_list *ret, struct err *err)
{
    AUTO_STRBUF struct strbuf filter, target, answer, wrapped;
    struct listing l = {0};
    strbuf_init(&filter, 4096);
    strbuf_init(&target, 16384);
    strbuf_init(&answer, ANSWER_MAX);
    strbuf_init(&wrapped, ANSWER_MAX + 64);
    strbuf_puts(&filter, "{\"label\":[");
    strbuf_json(&filter, str_of(label));
    strbuf_puts(&filter, "]}");
    strbuf_puts(&target, "/containers/json?all=1&filters=");
    http_escape(&target, strbuf_str(&filter), false);
    struct asked a = {socket, "GET", target.p, {0}, SHORT_MS};
    int rc = ask(&a, &answer, err);
    if (rc < 0) return rc;
    strbuf_fmt(&wrapped, "{\"items\":");
    strbuf_put(&wrapped, strbuf_str(&answer));
    strbuf_putc(&wrapped, '}');
    rc = read_as(&listing_table, &wrapped, &l, err);
    if (rc < 0) return rc;
    *ret = (struct docker_list){0};
    for (uint32_t i = 0; i < l.items.n; i++)
        for (uint32_t k = 0; k < l.items.v[i].names.n; k++) {
            const char *name = l.items.v[i].names.v[k];
            TEXT_CLIP(VEC_ADD(&ret->items)->name, str_of(name[0] == '/' ? name + 1 : name));
        }
    wire_free(&listing_table, &l);
    return 0;
}

void docker_list_done(struct docker_list *l) { VEC_DONE(&l->items); }

int docker_image(const char *socket, const char *name, char ret_id[DOCKER_ID], struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    struct named n = {0};
    struct asked a = {socket, "GET", path(&b, "/images/", name, "/json"), {0}, SHORT_MS};
    int rc = ask_for(&a, &named_table, &n, err);
    if (rc == 0) text_clip(ret_id, DOCKER_ID, str_of(n.id));
    return rc;
}

int docker_image_remove(const char *socket, const char *name, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    struct asked a = {socket, "DELETE", path(&b, "/images/", name, "?force=1"), {0}, 30000};
    int rc = just_ask(&a, err);
    return rc == ERR_NOT_FOUND ? 0 : rc;
}

static int write_nothing(struct docker_stream *s, void *arg, struct err *err)
{
    static const char end[1024]; /* of an archive: two empty blocks */
    (void)arg;
    return docker_send(s, str_n(end, sizeof(end)), err);
}

int docker_image_empty(const char *socket, const char *repo, const char *tag, struct err *err)
{
    AUTO_STRBUF struct strbuf b, answer;
    int status = 0;
    strbuf_init(&answer, ANSWER_MAX);
    path(&b, "/images/create?fromSrc=-&repo=", repo, "&tag=");
    strbuf_puts(&b, tag);
    struct docker_call c = {.socket = socket, .method = "POST", .target = b.p,
                            .timeout_ms = LONG_MS, .write_body = write_nothing};
    int rc = docker_call(&c, &status, &answer, err);
    if (rc < 0 || (status >= 200 && status < 300)) return rc;
    return docker_refused(status, strbuf_str(&answer), err);
}

int docker_exec_create(const char *socket, const char *name, struct str spec,
                       char ret_id[DOCKER_ID], struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    struct named n = {0};
    struct asked a = {socket, "POST", path(&b, "/containers/", name, "/exec"), spec, LONG_MS};
    int rc = ask_for(&a, &named_table, &n, err);
    if (rc == 0) text_clip(ret_id, DOCKER_ID, str_of(n.id));
    return rc;
}

int docker_exec_inspect(const char *socket, const char *id, struct docker_exec_state *ret,
                        struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    struct asked a = {socket, "GET", path(&b, "/exec/", id, "/json"), {0}, SHORT_MS};
    return ask_for(&a, &exec_table, ret, err);
}

int docker_exec_resize(const char *socket, const char *id, uint16_t rows, uint16_t cols,
                       struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    char size[48];
    text_fmt(size, sizeof(size), "/resize?h=%u&w=%u", rows, cols);
    struct asked a = {socket, "POST", path(&b, "/exec/", id, size), {0}, SHORT_MS};
    return just_ask(&a, err);
}

/* ---- pull ---- */

/* The engine says "200" and tells in the stream what went wrong. */
static int pull_failed(const char *why, struct err *err)
{
    static const struct { const char *says; int code; } known[] = {
        {"not found", ERR_NOT_FOUND},       {"manifest unknown", ERR_NOT_FOUND},
        {"does not exist", ERR_NOT_FOUND},  {"denied", ERR_DENIED},
        {"unauthorized", ERR_DENIED},
    };
    int code = ERR_IO;
    for (size_t i = 0; i < ARRAY_LEN(known) && code == ERR_IO; i++)
        if (strstr(why, known[i].says)) code = known[i].code;
    err_set(err, code, "%.200s", why);
    if (err) one_line(err->text);
    return code;
}

static int take_lines(struct strbuf *in, struct err *err)
{
    const char *nl;
    while (in->n && (nl = memchr(in->p, '\n', in->n)) != NULL) {
        size_t n = (size_t)(nl - in->p) + 1;
        struct progress p = {0};
        int rc = 0;
        /* A line we do not understand is no failure: the image is looked for at the end. */
        if (wire_parse(&progress_table, str_n(in->p, n), &p, NULL) == 0 && p.error && p.error[0])
            rc = pull_failed(p.error, err);
        wire_free(&progress_table, &p);
        if (rc < 0) return rc;
        strbuf_drop(in, n);
    }
    if (in->full) return err_set(err, ERR_UNAVAILABLE, "the container engine babbles");
    return 0;
}

int docker_pull(const char *socket, const char *name, struct err *err)
{
    AUTO_STRBUF struct strbuf b, in;
    AUTO_FREE struct docker_stream *s = mem_alloc(sizeof(*s));
    const char *slash = strrchr(name, '/'), *last = slash ? slash : name;
    /* Without a tag the engine would fetch every one there is. */
    bool tagged = strchr(last, ':') || strchr(last, '@');
    struct docker_call c = {.socket = socket, .method = "POST", .timeout_ms = PULL_MS,
                            .target = path(&b, "/images/create?fromImage=", name,
                                           tagged ? "" : "&tag=latest")};
    struct str part = {0};
    strbuf_init(&in, LINE_MAX);
    int rc = docker_open(&c, s, err);
    if (rc < 0) return rc;
    bool good = s->status >= 200 && s->status < 300;
    do {
        rc = docker_read(s, PULL_MS, &part, err);
        strbuf_put(&in, part);
        if (rc == 0 && good) rc = take_lines(&in, err);
    } while (rc == 0 && part.n > 0 && !in.full);
    docker_close(s);
    if (rc < 0 || good) return rc;
    struct err why = {0};
    docker_refused(s->status, strbuf_str(&in), &why);
    return pull_failed(why.text, err);
}
