/* Following a session against a manager and a proxy of paper: output once and in order,
 * whatever breaks in between, and the exit code that docker run would give. */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/follow.h"
#include "net/http_server.h"
#include "wire/carry.h"

enum { STEPS = 8 };

struct frame { char type; const char *text; };

struct script {
    const char *views[STEPS];            /* answers to polls, the last one repeated */
    int fail[STEPS];                     /* an HTTP status instead of the view */
    struct frame streams[STEPS][STEPS];  /* of each connection in turn; type 0: cut off */
    uint32_t members;
    const char *out;
    int code;
};

static const char *const X0 = "{\"exit_code\":0}";

struct paper {
    const struct script *s;
    struct http_server *server;
    char url[64];
    uint32_t polls, streams, tickets;
};

#define VIEW(state, more) "{\"id\":\"s1\",\"name\":\"s1\",\"state\":\"" state "\"" more "}"
#define STARTED ",\"started_at\":\"2026-01-02T03:04:05.000Z\",\"attempt\":1"
#define ENDED(outcome, more) VIEW("ended", STARTED ",\"outcome\":\"" outcome "\"" more)

static void make_view(const struct paper *p, const char *text, struct strbuf *b)
{
    struct session_view v;
    struct err err = {0};
    if (wire_parse(&wire_session_view, str_of(text), &v, &err) < 0) fail_msg("%s", err.text);
    v.members = p->s->members;
    wire_print(&wire_session_view, &v, b);
    wire_free(&wire_session_view, &v);
}

static void send_frames(struct net_conn *c, const struct frame *f)
{
    for (; f->type; f++) {
        uint8_t head[CARRY_HEAD];
        uint32_t n = (uint32_t)strlen(f->text);
        carry_head_put(head, (enum carry_type)f->type, n);
        (void)net_conn_write(c, str_n((const char *)head, sizeof(head)));
        (void)net_conn_write(c, str_n(f->text, n));
    }
    net_conn_finish(c);
}

static void on_request(void *arg, struct http_req *r)
{
    struct paper *p = arg;
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 65536);
    if (str_starts(r->path, STR("/carry/"))) {
        uint32_t n = p->streams++;
        struct net_conn *c = http_upgrade(r, CARRY_UPGRADE);
        send_frames(c, p->s->streams[n < STEPS ? n : STEPS - 1]);
    } else if (str_ends(r->path, STR("/tickets"))) {
        p->tickets++;
        strbuf_fmt(&b, "{\"ticket\":\"t\",\"proxy_url\":\"%s\",\"expires_at\":\"\"}", p->url);
        http_reply_json(r, 200, strbuf_str(&b));
    } else {
        uint32_t n = p->polls++;
        while (n > 0 && !p->s->views[n] && !p->s->fail[n]) n--;
        if (p->s->fail[n]) {
            http_reply_problem(r, p->s->fail[n], "unavailable", "away");
            return;
        }
        make_view(p, p->s->views[n], &b);
        http_reply_json(r, 200, strbuf_str(&b));
    }
}

/* Standard output goes to a file while f runs. */
static void capture_start(int saved[2], int *ret_file)
{
    char path[] = "/tmp/rota-follow-XXXXXX";
    *ret_file = mkostemp(path, O_CLOEXEC);
    assert_true(*ret_file >= 0);
    unlink(path);
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) saved[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(*ret_file, 1);
    dup2(null, 2);
    close(null);
}

static void capture_end(int saved[2], int file, struct strbuf *out)
{
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
    }
    char buf[4096];
    ssize_t n;
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    while ((n = read(file, buf, sizeof(buf))) > 0) strbuf_put(out, str_n(buf, (size_t)n));
    close(file);
}

static void play(const char *name, const struct script *s)
{
    struct net_loop *l = net_loop_new();
    struct paper p = {.s = s};
    struct err err = {0};
    p.server = http_server_listen(l, STR("127.0.0.1:0"), NULL, on_request, &p, &err);
    assert_non_null(p.server);
    text_fmt(p.url, sizeof(p.url), "http://127.0.0.1:%u", http_server_port(p.server));
    struct api *a = api_open_at(l, p.url, "token", "", &err);
    assert_non_null(a);
    struct strbuf first, out;
    strbuf_init(&first, 65536);
    strbuf_init(&out, 65536);
    make_view(&p, VIEW("allocated", ",\"attempt\":1"), &first);
    struct session_view v;
    assert_int_equal(wire_parse(&wire_session_view, strbuf_str(&first), &v, &err), 0);
    struct follow_spec spec = {.quiet = true};
    int saved[2], file;
    capture_start(saved, &file);
    int code = follow_session(a, &spec, &v);
    capture_end(saved, file, &out);
    if (strcmp(out.p ? out.p : "", s->out) != 0)
        fail_msg("row \"%s\": output \"%s\", expected \"%s\"", name, out.p, s->out);
    if (code != s->code) fail_msg("row \"%s\": code %d, expected %d", name, code, s->code);
    wire_free(&wire_session_view, &v);
    strbuf_done(&first);
    strbuf_done(&out);
    api_close(a);
    http_server_free(p.server);
    net_loop_free(l);
}

static void scenes(void **state)
{
    (void)state;
    const struct { const char *name; struct script s; } rows[] = {
        {"plain", {.views = {VIEW("running", STARTED), ENDED("succeeded", ",\"exit_code\":0")},
                   .streams = {{{'O', "hello\n"}, {'2', "err\n"}, {'X', X0}}},
                   .members = 1, .out = "hello\n", .code = 0}},
        {"cut in the middle: nothing twice, nothing lost",
         {.views = {VIEW("running", STARTED), ENDED("succeeded", ",\"exit_code\":0")},
          .streams = {{{'O', "one\ntw"}}, {{'O', "one\n"}, {'O', "two\nthree\n"}, {'X', X0}}},
          .members = 1, .out = "one\ntwo\nthree\n", .code = 0}},
        {"cut again and again",
         {.views = {ENDED("failed", ",\"exit_code\":3")},
          .streams = {{{0}}, {{'O', "a"}}, {{'O', "a"}, {'O', "b"}}, {{'E', "not yet"}},
                      {{'O', "abc"}, {'X', X0}}},
          .members = 1, .out = "abc", .code = 3}},
        {"the manager is away for a while",
         {.views = {[3] = ENDED("failed", ",\"exit_code\":7")}, .fail = {503, 503, 503},
          .streams = {{{'O', "x\n"}, {'X', X0}}}, .members = 1, .out = "x\n", .code = 7}},
        {"killed", {.views = {ENDED("failed", ",\"signal\":9")},
                    .streams = {{{'X', X0}}}, .members = 1, .out = "", .code = 137}},
        {"cancelled while running", {.views = {ENDED("cancelled", ",\"signal\":15")},
                                     .streams = {{{'X', X0}}},
                                     .members = 1, .out = "", .code = 143}},
        {"never ran", {.views = {VIEW("ended", ",\"outcome\":\"failed\",\"detail\":\"no image\"")},
                       .members = 1, .out = "", .code = 125}},
        {"gone from the manager", {.fail = {404}, .members = 1, .out = "", .code = 125}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        play(rows[i].name, &rows[i].s);
    }
}

static void gang_lines(void **state)
{
    (void)state;
    struct script s = {.views = {ENDED("succeeded", ",\"exit_code\":0")},
                       .streams = {{{'O', "a\nb"}, {'X', X0}}, {{'O', "a\nb"}, {'X', X0}}},
                       .members = 2, .out = "[0] a\n[0] b\n[1] a\n[1] b\n", .code = 0};
    play("gang", &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes),
        cmocka_unit_test(gang_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
