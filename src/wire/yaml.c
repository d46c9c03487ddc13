/* wire/yaml.c - a strict subset of YAML into an object.
 *
 * Events of libyaml become a jansson tree in which every scalar is a text, with
 * the place of each value kept beside it; what a plain scalar means is decided by
 * the field it lands on.  Anchors, aliases, tags, merge keys and second documents
 * do not exist, so the size of the tree is bounded by that of the text. */
#include <jansson.h>
#include <yaml.h>

#include "base/check.h"
#include "wire/decode.h"

#define YAML_DEPTH_MAX 16

struct level {
    json_t *container; /* borrowed from its parent; the root from the loader */
    char *key;         /* MAP: the key read, waiting for its value */
    yaml_mark_t key_mark;
};

struct loader {
    yaml_parser_t parser;
    const char *file;
    struct err *err;
    json_t *root;
    struct level stack[YAML_DEPTH_MAX];
    uint32_t depth;
    struct decode_marks marks;
};

static uint32_t from_one(size_t n) { return n < UINT32_MAX ? (uint32_t)n + 1 : UINT32_MAX; }

static int fail(struct loader *l, yaml_mark_t at, const char *what)
{
    return err_set(l->err, ERR_INVALID, "%s:%u:%u: %s", l->file, from_one(at.line),
                   from_one(at.column), what);
}

static void remember(struct loader *l, const json_t *v, const yaml_event_t *e,
                     const struct level *in)
{
    struct decode_mark mark = {
        .line = from_one(e->start_mark.line), .col = from_one(e->start_mark.column),
        .key_line = from_one(in->key_mark.line), .key_col = from_one(in->key_mark.column),
        .plain = e->type == YAML_SCALAR_EVENT &&
                 e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
    };
    VEC_PUSH(&l->marks.v, mark);
    map_u64_put(&l->marks.by_value, (uint64_t)(uintptr_t)v, l->marks.v.n - 1);
}

/* Hands v over to the container being read. */
static int attach(struct loader *l, json_t *v, const yaml_event_t *e)
{
    struct level top = {0};
    if (l->depth == 0) {
        CHECK(!l->root);
        l->root = v;
        remember(l, v, e, &top);
        return 0;
    }
    struct level *in = &l->stack[l->depth - 1];
    remember(l, v, e, in);
    if (json_is_array(in->container)) return json_array_append_new(in->container, v);
    CHECK(in->key);
    int rc = json_object_set_new(in->container, in->key, v);
    mem_free(STEAL(in->key));
    return rc;
}

static int take_key(struct loader *l, struct level *in, const yaml_event_t *e)
{
    struct str key = str_n((const char *)e->data.scalar.value, e->data.scalar.length);
    if (!str_is_utf8(key) || key.n == 0 || key.n > 256) {
        return fail(l, e->start_mark, "this is no possible key");
    }
    AUTO_FREE char *copy = mem_strndup(key.p, key.n);
    if (json_object_get(in->container, copy)) {
        return fail(l, e->start_mark, "this key stands here for the second time");
    }
    in->key = STEAL(copy);
    in->key_mark = e->start_mark;
    return 0;
}

static bool wants_key(const struct loader *l)
{
    const struct level *in = l->depth ? &l->stack[l->depth - 1] : NULL;
    return in && json_is_object(in->container) && !in->key;
}

static int scalar(struct loader *l, const yaml_event_t *e)
{
    if (e->data.scalar.anchor) return fail(l, e->start_mark, "anchors are not supported");
    if (e->data.scalar.tag) return fail(l, e->start_mark, "tags are not supported");
    if (wants_key(l)) return take_key(l, &l->stack[l->depth - 1], e);
    json_t *v = json_stringn((const char *)e->data.scalar.value, e->data.scalar.length);
    if (!v) return fail(l, e->start_mark, "expected UTF-8 text");
    return attach(l, v, e);
}

static int open_container(struct loader *l, const yaml_event_t *e, json_t *v)
{
    bool map = json_is_object(v);
    const yaml_char_t *anchor = map ? e->data.mapping_start.anchor : e->data.sequence_start.anchor;
    const yaml_char_t *tag = map ? e->data.mapping_start.tag : e->data.sequence_start.tag;
    const char *bad = anchor                         ? "anchors are not supported"
                      : tag                          ? "tags are not supported"
                      : wants_key(l)                 ? "a key must be a plain text"
                      : l->depth == YAML_DEPTH_MAX   ? "nested too deep"
                                                     : NULL;
    if (bad) {
        json_decref(v);
        return fail(l, e->start_mark, bad);
    }
    int rc = attach(l, v, e);
    if (!rc) l->stack[l->depth++] = (struct level){.container = v};
    return rc;
}

static int directives(struct loader *l, const yaml_event_t *e)
{
    bool some = e->data.document_start.version_directive ||
                e->data.document_start.tag_directives.start !=
                    e->data.document_start.tag_directives.end;
    return some ? fail(l, e->start_mark, "directives are not supported") : 0;
}

static int take(struct loader *l, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT: return scalar(l, e);
    case YAML_MAPPING_START_EVENT: return open_container(l, e, json_object());
    case YAML_SEQUENCE_START_EVENT: return open_container(l, e, json_array());
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        CHECK(l->depth > 0);
        l->depth--;
        return 0;
    case YAML_ALIAS_EVENT: return fail(l, e->start_mark, "aliases are not supported");
    case YAML_DOCUMENT_START_EVENT:
        if (l->root) return fail(l, e->start_mark, "only one document is expected");
        return directives(l, e);
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT: return 0;
    }
    UNREACHABLE();
}

static int load(struct loader *l)
{
    for (bool end = false; !end;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&l->parser, &e)) {
            yaml_mark_t at = l->parser.problem_mark;
            return fail(l, at, l->parser.problem ? l->parser.problem : "not YAML");
        }
        end = e.type == YAML_STREAM_END_EVENT;
        int rc = take(l, &e);
        yaml_event_delete(&e);
        if (rc) return rc;
    }
    if (!l->root) return fail(l, (yaml_mark_t){0}, "there is nothing in it");
    return 0;
}

int wire_parse_yaml(const struct wire_table *t, struct str text, const char *file, void *obj,
                    struct err *err)
{
    size_t max = t->max_bytes ? t->max_bytes : WIRE_DOC_MAX;
    if (text.n > max) {
        return err_set(err, ERR_LIMIT, "%s: expected at most %zu bytes, got %zu", file, max,
                       text.n);
    }
    struct loader l = {.file = file, .err = err, .marks = {.file = file}};
    int ok = yaml_parser_initialize(&l.parser);
    CHECK(ok);
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
    int rc = load(&l);
    if (!rc) rc = decode(t, l.root, &l.marks, true, obj, err);
    for (uint32_t i = 0; i < YAML_DEPTH_MAX; i++) mem_free(l.stack[i].key);
    json_decref(l.root);
    map_u64_done(&l.marks.by_value);
    VEC_DONE(&l.marks.v);
    yaml_parser_delete(&l.parser);
    return rc;
}
