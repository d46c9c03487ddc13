/* load/submit.c - submits sessions as fast as the manager takes them, and waits until
 * every one has its node as the API tells it.
 *
 *     submit --port N --token-file F [--count N] [--conns N] [--body JSON] [--no-keys]
 *
 * An answer is only sent once its turn is durable, and says the state that the
 * session has by then: one that is past "pending" counts as allocated at the time
 * of its answer; all others are asked for until they are.  Prints one line
 *     COUNT SECONDS P50_MS P99_MS LATER
 * where LATER is how many were not allocated by their first answer. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/check.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "load/client.h"

struct load {
    struct client client;
    char token[256];
    struct str body;
    uint32_t count, sent, answered;
    bool keys, asking;
    uint32_t *took_us;
    VEC(uint64_t) later;         /* ids not allocated yet */
    uint32_t asked;
    struct strbuf request;
};

static void put_head(struct load *l, const char *method, uint64_t id)
{
    strbuf_reset(&l->request);
    strbuf_fmt(&l->request, "%s /api/v1/sessions", method);
    if (id) strbuf_fmt(&l->request, "/s%llu?wait=placed", (unsigned long long)id);
    strbuf_fmt(&l->request, " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n",
               l->token);
}

static void send_submit(struct load *l, struct client_conn *conn)
{
    put_head(l, "POST", 0);
    if (l->keys)
        strbuf_fmt(&l->request, "Idempotency-Key: load-%d-%u\r\n", (int)getpid(), l->sent);
    strbuf_fmt(&l->request, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
               l->body.n);
    strbuf_put(&l->request, l->body);
    CHECK(!l->request.full);
    l->sent++;
    client_send(&l->client, conn, strbuf_str(&l->request));
}

static void send_ask(struct load *l, struct client_conn *conn)
{
    put_head(l, "GET", l->later.v[l->asked++]);
    strbuf_puts(&l->request, "\r\n");
    client_send(&l->client, conn, strbuf_str(&l->request));
}

static bool has(struct str body, const char *text)
{
    return memmem(body.p, body.n, text, strlen(text)) != NULL;
}

static uint64_t id_of(struct str body)
{
    const char *p = memmem(body.p, body.n, "\"id\":\"s", 7);
    return p ? strtoull(p + 7, NULL, 10) : 0;
}

static void on_answer(void *arg, struct client_conn *conn, const struct client_answer *a)
{
    struct load *l = arg;
    if (a->status != (l->asking ? 200 : 201) || id_of(a->body) == 0) {
        fprintf(stderr, "submit: status %d: %.*s\n", a->status, (int)a->body.n, a->body.p);
        exit(1);
    }
    bool placed = !has(a->body, "\"state\":\"pending\"");
    if (l->asking) {
        if (!placed) VEC_PUSH(&l->later, id_of(a->body));
        if (l->asked < l->later.n) send_ask(l, conn);
        return;
    }
    l->took_us[l->answered++] = (uint32_t)a->took_us;
    if (!placed) VEC_PUSH(&l->later, id_of(a->body));
    if (l->sent < l->count) send_submit(l, conn);
}

static void wait_all(struct load *l)
{
    while (l->client.busy > 0) {
        if (client_wait(&l->client, on_answer, l)) continue;
        fprintf(stderr, "submit: no answer came for 30 s\n");
        exit(1);
    }
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void run(struct load *l)
{
    int64_t began_us = client_now_us();
    for (uint32_t i = 0; i < l->client.n_conns && l->sent < l->count; i++)
        send_submit(l, &l->client.conns[i]);
    wait_all(l);
    CHECK(l->answered == l->count);
    uint32_t later = l->later.n;
    l->asking = true;
    for (uint32_t i = 0; i < l->client.n_conns && l->asked < l->later.n; i++)
        send_ask(l, &l->client.conns[i]);
    wait_all(l);
    int64_t took_us = client_now_us() - began_us;
    qsort(l->took_us, l->count, sizeof(l->took_us[0]), by_value);
    printf("%u %.4f %.3f %.3f %u\n", l->count, (double)took_us / 1e6,
           l->took_us[l->count / 2] / 1e3, l->took_us[(uint64_t)l->count * 99 / 100] / 1e3, later);
}

static uint32_t number(const char *name, const char *text, uint32_t max)
{
    uint64_t v = 0;
    if (str_to_u64(str_of(text), &v) && v > 0 && v <= max) return (uint32_t)v;
    fprintf(stderr, "submit: --%s: expected 1 to %u, got \"%s\"\n", name, max, text);
    exit(2);
}

static void read_token(struct load *l, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, l->token, sizeof(l->token) - 1);
    if (n <= 0) {
        perror(path);
        exit(2);
    }
    close(fd);
    l->token[strcspn(l->token, "\n")] = '\0';
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"port", required_argument, NULL, 'p'},  {"token-file", required_argument, NULL, 't'},
        {"count", required_argument, NULL, 'n'}, {"conns", required_argument, NULL, 'c'},
        {"body", required_argument, NULL, 'b'},  {"no-keys", no_argument, NULL, 'k'},
        {0}};
    static const char body[] = "{\"command\":[\"sleep:3600000\"],\"cpu_milli\":100,"
                               "\"mem_bytes\":16777216}";
    struct load l = {.body = str_of(body), .count = 20000, .keys = true};
    uint32_t port = 0, conns = 64;
    int opt;
    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (opt) {
        case 'p': port = number("port", optarg, UINT16_MAX); break;
        case 't': read_token(&l, optarg); break;
        case 'n': l.count = number("count", optarg, 1000000); break;
        case 'c': conns = number("conns", optarg, CLIENT_CONNS_MAX); break;
        case 'b': l.body = str_of(optarg); break;
        case 'k': l.keys = false; break;
        default: return 2;
        }
    }
    if (port == 0 || l.token[0] == '\0') {
        fprintf(stderr, "submit: --port and --token-file are needed\n");
        return 2;
    }
    strbuf_init(&l.request, 64u * 1024);
    l.took_us = mem_array(l.count, sizeof(l.took_us[0]));
    client_open(&l.client, (uint16_t)port, conns);
    run(&l);
    client_close(&l.client);
    VEC_DONE(&l.later);
    strbuf_done(&l.request);
    mem_free(l.took_us);
    return 0;
}
