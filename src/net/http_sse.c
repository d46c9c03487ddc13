/* net/http_sse.c - cutting a stream into server-sent events; see http_client.h. */
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/http_client.h"

struct http_sse {
    struct strbuf line, data, id, event;
    void (*on_event)(void *arg, struct str id, struct str event, struct str data);
    void *arg;
    bool after_cr; /* an LF that follows belongs to the CR before it */
    bool has_data;
};

struct http_sse *http_sse_new(size_t event_max,
                              void (*on_event)(void *arg, struct str id, struct str event,
                                               struct str data),
                              void *arg)
{
    struct http_sse *s = mem_alloc(sizeof(*s));
    strbuf_init(&s->line, event_max);
    strbuf_init(&s->data, event_max);
    strbuf_init(&s->id, 256);
    strbuf_init(&s->event, 256);
    s->on_event = on_event;
    s->arg = arg;
    return s;
}

void http_sse_free(struct http_sse *s)
{
    if (s == NULL) return;
    strbuf_done(&s->line);
    strbuf_done(&s->data);
    strbuf_done(&s->id);
    strbuf_done(&s->event);
    mem_free(s);
}

static void set(struct strbuf *b, struct str v)
{
    strbuf_reset(b);
    strbuf_put(b, v);
}

static void take_line(struct http_sse *s)
{
    struct str value = strbuf_str(&s->line), name;
    if (value.n == 0) {
        if (s->has_data)
            s->on_event(s->arg, strbuf_str(&s->id), strbuf_str(&s->event), strbuf_str(&s->data));
        strbuf_reset(&s->data);
        strbuf_reset(&s->event);
        s->has_data = false;
        return;
    }
    (void)str_cut(&value, ':', &name); /* name is empty for a comment */
    if (value.n > 0 && value.p[0] == ' ') value = str_n(value.p + 1, value.n - 1);
    if (str_eq(name, STR("data"))) {
        if (s->has_data) strbuf_putc(&s->data, '\n');
        strbuf_put(&s->data, value);
        s->has_data = true;
    } else if (str_eq(name, STR("event"))) {
        set(&s->event, value);
    } else if (str_eq(name, STR("id"))) {
        set(&s->id, value); /* stays for the events that follow */
    }
}

int http_sse_feed(struct http_sse *s, struct str data, struct err *err)
{
    for (size_t i = 0; i < data.n; i++) {
        char c = data.p[i];
        if (c == '\n' && s->after_cr) {
            s->after_cr = false;
            continue;
        }
        s->after_cr = c == '\r';
        if (c != '\n' && c != '\r') {
            strbuf_putc(&s->line, c);
            continue;
        }
        if (s->line.full || s->data.full || s->id.full || s->event.full)
            return err_set(err, ERR_LIMIT, "an event is larger than is taken");
        take_line(s);
        strbuf_reset(&s->line);
    }
    if (s->line.full) return err_set(err, ERR_LIMIT, "an event is larger than is taken");
    return 0;
}
