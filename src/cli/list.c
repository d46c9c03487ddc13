/* cli/list.c - see list.h.
 *
 * Every list begins with its items, so that one loop serves them all. */
#include "cli/list.h"

#include "base/check.h"
#include "base/mem.h"
#include "cli/say.h"

enum { TEXT_MAX = 256 * 1024 * 1024 };

union any_list {
    struct node_list nodes;
    struct group_list groups;
    struct event_list events;
    struct queue_list queue;
    struct { VEC(char) items; } any;
};

void list_print_table(const struct common *c, const struct table *t)
{
    AUTO_STRBUF struct strbuf out;
    strbuf_init(&out, TEXT_MAX);
    bool wide = c->output == OUTPUT_WIDE;
    table_print(t, wide ? 0 : term_width(), wide, term_color_on(1), &out);
    say_out(strbuf_str(&out));
}

static int print_list(const struct common *c, const struct list_look *look,
                      const union any_list *list)
{
    AUTO_STRBUF struct strbuf text;
    struct table t;
    int code = 0;
    strbuf_init(&text, TEXT_MAX);
    table_init(&t, look->columns);
    for (uint32_t i = 0; i < list->any.items.n; i++) {
        const char *item = list->any.items.v + (size_t)i * look->item->size;
        if (c->output == OUTPUT_NAME) strbuf_fmt(&text, "%s\n", item + look->name_at);
        else if (c->output >= OUTPUT_JSON) verb_list_item(&text, look->item, item);
        else look->row(&t, item);
    }
    if (c->output == OUTPUT_NAME) {
        say_out(strbuf_str(&text));
    } else if (c->output >= OUTPUT_JSON) {
        strbuf_puts(&text, text.n > 0 ? "]" : "[]");
        code = verb_print_text(c, strbuf_str(&text));
    } else if (list->any.items.n == 0 && look->empty) {
        say("%s", look->empty);
    } else {
        list_print_table(c, &t);
    }
    table_done(&t);
    return code;
}

int list_run(struct common *c, const char *target, const struct list_look *look)
{
    union any_list list;
    struct err err = {0};
    int code;
    CHECK(look->list->size <= sizeof(list));
    if (!verb_open(c)) return EXIT_FAILED;
    if (api_get(c->api, target, look->list, &list, &err) < 0) {
        code = say_err(&err, EXIT_FAILED);
    } else {
        code = print_list(c, look, &list);
        wire_free(look->list, &list);
    }
    verb_close(c);
    return code;
}

int list_one_run(struct common *c, const char *target, const struct list_one_look *look)
{
    struct err err = {0};
    int code = 0;
    if (!verb_open(c)) return EXIT_FAILED;
    AUTO_STRBUF struct strbuf text;
    char *object = mem_alloc(look->object->size);
    strbuf_init(&text, TEXT_MAX);
    if (api_get(c->api, target, look->object, object, &err) < 0) {
        code = say_err(&err, EXIT_FAILED);
    } else {
        bool data = c->output == OUTPUT_JSON || c->output == OUTPUT_YAML;
        if (data) code = verb_print(c, look->object, object);
        else if (c->output == OUTPUT_NAME) strbuf_fmt(&text, "%s\n", object + look->name_at);
        else look->text(object, &text);
        if (!data) say_out(strbuf_str(&text));
        wire_free(look->object, object);
    }
    mem_free(object);
    verb_close(c);
    return code;
}
