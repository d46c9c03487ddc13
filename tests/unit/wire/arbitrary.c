/* Random objects of any table; every value is one that the table allows. */
#include "test.h"

#include "base/check.h"
#include "wire/member.h"
#include "wire/probe.h"
#include "wire/reserve.h"

const struct wire_table *const all_tables[] = {
    &wire_session_spec, &wire_update_request, &wire_forget_request,
    &wire_stop_request, &wire_signal_request,
    &wire_ticket_request, &wire_ticket_answer, &wire_group_request, &wire_session_view,
    &wire_node_view,
    &wire_group_view, &wire_event_view, &wire_why_view, &wire_queue_entry_view,
    &wire_version_view, &wire_join_token_answer, &wire_problem, &wire_session_list,
    &wire_node_list, &wire_group_list, &wire_event_list, &wire_queue_list, &wire_join_request,
    &wire_join_answer, &wire_exec_request, &wire_carry_end, &wire_sync_request, &wire_sync_answer,
    &wire_use_row, &wire_use_device, &wire_session_use_view, &wire_session_use_list,
    &wire_node_use_view,
    &wire_sync_info, &wire_sync_body, &wire_row_session, &wire_row_alloc, &wire_row_node,
    &wire_domain_request, &wire_project_request, &wire_user_request, &wire_domain_view,
    &wire_project_view, &wire_user_view, &wire_domain_list, &wire_project_list, &wire_user_list,
    &wire_token_request, &wire_token_view, &wire_token_list, &wire_quota_view, &wire_quota_list,
    &wire_whoami_view, &wire_row_group, &wire_row_domain,
    &wire_row_project, &wire_row_user, &wire_row_history, &wire_row_reservation,
    &wire_reservation_view, &wire_reservation_list, &wire_probe_report, NULL,
};

/* A text of min..max bytes; plain: of lower-case letters alone. */
static void put_text(struct rng *rng, struct strbuf *b, size_t min, size_t max, bool plain)
{
    static const char *const pieces[] = {"a",  "\"", "\\", "\n", "\x01", "\xc3\xa9", "\xe2\x82\xac",
                                         "\xf0\x9f\x98\x80", "/", " ", "\x7f", "0"};
    size_t want = min + rng_below(rng, (max - min < 40 ? max - min : 40) + 1);
    while (b->n < want) {
        const char *p = plain ? "q" : pieces[rng_below(rng, ARRAY_LEN(pieces))];
        if (b->n + strlen(p) > max) p = "z";
        strbuf_puts(b, p);
    }
}

static int64_t number(const struct wire_field *f, struct rng *rng)
{
    int64_t min, max;
    member_range(f, &min, &max);
    switch (rng_below(rng, 4)) {
    case 0: return min;
    case 1: return max;
    case 2:
        if ((f->flags & WIRE_OMIT) || (f->def >= min && f->def <= max)) return f->def;
        break;
    default: break;
    }
    uint64_t span = (uint64_t)max - (uint64_t)min;
    uint64_t at = span == UINT64_MAX ? rng_next(rng) : rng_below(rng, span + 1);
    return (int64_t)((uint64_t)min + at);
}

static int64_t enum_value(const struct wire_field *f, struct rng *rng)
{
    uint64_t n = 0;
    while (f->names[n].name) n++;
    return f->names[rng_below(rng, n)].value;
}

static void items(const struct wire_field *f, struct rng *rng, void *obj)
{
    bool fixed = f->type == WIRE_ARRAY;
    uint64_t most = fixed ? f->size / f->table->size : (uint64_t)f->max;
    uint32_t n = (uint32_t)rng_below(rng, (most < 3 ? most : 3) + 1);
    char *v = member_of(f, obj);
    if (fixed) {
        *(uint32_t *)(void *)((char *)obj + f->count_offset) = n;
    } else {
        struct wire_vec vec = {n ? mem_array(n, f->table->size) : NULL, n, n};
        *(struct wire_vec *)(void *)v = vec;
        v = vec.v;
    }
    for (uint32_t i = 0; i < n; i++) arbitrary(f->table, rng, v + (size_t)i * f->table->size);
}

static void map(const struct wire_field *f, struct rng *rng, struct wire_map *m)
{
    uint32_t n = (uint32_t)rng_below(rng, 4);
    for (uint32_t i = 0; i < n; i++) {
        AUTO_STRBUF struct strbuf value;
        char key[16];
        strbuf_init(&value, 4096);
        put_text(rng, &value, 0, 100, false);
        text_fmt(key, sizeof(key), f->flags & WIRE_ENV ? "K_%u" : "k-%u", i);
        wire_map_add(m, str_of(key), strbuf_str(&value));
    }
}

static void member(const struct wire_field *f, struct rng *rng, void *obj)
{
    void *m = member_of(f, obj);
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 1 << 20);
    bool must = f->flags & WIRE_REQUIRED;
    if (f->type == WIRE_BOOL) {
        member_set(f, m, (int64_t)rng_below(rng, 2));
    } else if (f->type == WIRE_ENUM) {
        member_set(f, m, enum_value(f, rng));
    } else if (member_is_number(f)) {
        member_set(f, m, number(f, rng));
    } else if (f->type == WIRE_TEXT) {
        put_text(rng, &b, (size_t)f->min, f->size - 1, f->flags & WIRE_NAME);
        text_clip(m, f->size, strbuf_str(&b));
    } else if (f->type == WIRE_STRING && (must || rng_below(rng, 2))) {
        put_text(rng, &b, 0, (size_t)f->max, false);
        *(char **)m = mem_strndup(b.p, b.n);
    } else if (f->type == WIRE_RAW && (must || rng_below(rng, 2))) {
        strbuf_puts(&b, "{\"a\":[1,true,null,{\"b\":\"\xc3\xa9\"}]}");
        *(char **)m = mem_strndup(b.p, b.n);
    } else if (f->type == WIRE_OBJECT) {
        arbitrary(f->table, rng, m);
    } else if (f->type == WIRE_TEXTS) {
        uint64_t n = (uint64_t)f->min + rng_below(rng, 4);
        for (uint64_t i = 0; i < n; i++) {
            strbuf_reset(&b);
            put_text(rng, &b, 1, 60, false);
            wire_texts_add(m, strbuf_str(&b));
        }
    } else if (f->type == WIRE_MAP) {
        map(f, rng, m);
    } else if (f->type == WIRE_ARRAY || f->type == WIRE_LIST) {
        items(f, rng, obj);
    }
}

static void make_fit_probe(struct probe_report *r)
{
    if (r->mismatch) r->complete = false;
    for (uint32_t i = 0; i < r->n_devices; i++) {
        text_fmt(r->devices[i].uuid, sizeof(r->devices[i].uuid), "GPU-%u", i);
        text_fmt(r->devices[i].pci, sizeof(r->devices[i].pci), "0000:%02x:00.0", i);
    }
    if (r->n_devices < 2) VEC_CLEAR(&r->links);
    if (r->links.n > 1) r->links.n = 1;
    VEC_EACH (l, &r->links) {
        l->a = 0;
        l->b = 1;
    }
    VEC_EACH (e, &r->events) TEXT_CLIP(e->pci, STR("0000:3b:00.0"));
}

/* What the tables' own checks ask for. */
static void make_fit(const struct wire_table *t, void *obj)
{
    if (t == &wire_session_spec) {
        struct session_spec *s = obj;
        s->cpu_milli = s->mem_bytes = s->gpu = -1;
        s->containers = 0;
        if (s->n_roles == 0) {
            s->n_roles = 1;
            s->roles[0].cpu_milli = s->roles[0].mem_bytes = s->roles[0].gpu = 1;
        }
        for (uint32_t i = 0; i < s->n_roles; i++) {
            text_fmt(s->roles[i].name, sizeof(s->roles[i].name), "role%u", i);
            s->roles[i].count = i + 1;
        }
        wire_texts_free(&s->after);
        wire_texts_add(&s->after, STR("s17:end"));
        TEXT_CLIP(s->array, STR("0-9%3"));
        s->start_at[0] = '\0';
        TEXT_CLIP(s->gpu_models, STR("a100|NVIDIA H100"));
        wire_map_free(&s->node_labels);
        wire_map_add(&s->node_labels, STR("zone"), STR("a"));
        wire_map_add(&s->node_labels, STR("disk"), STR("ssd"));
        if (s->node[0]) s->prefer_node[0] = '\0';
        if (s->kind == KIND_SERVICE) s->preemptible = CHOICE_NO;
        if (s->command.n == 0) wire_texts_add(&s->command, STR("true"));
        if (s->workdir) {
            mem_free(s->workdir);
            s->workdir = mem_strndup("/tmp/\xc3\xa9", 7);
        }
    } else if (t == &wire_signal_request) {
        struct signal_request *r = obj;
        TEXT_CLIP(r->signal, STR("SIGINT"));
    } else if (t == &wire_ticket_request) {
        struct ticket_request *r = obj;
        TEXT_CLIP(r->action, STR("exec"));
    } else if (t == &wire_sync_request) {
        struct sync_request *r = obj;
        for (uint32_t i = 0; i < r->members.n; i++) r->members.v[i].ref.session = i + 1;
        for (uint32_t i = 0; i < r->used.n; i++) r->used.v[i].ref.session = i + 1;
        if (r->info.data_addr[0] == '\0') r->full = false;
    } else if (t == &wire_sync_answer) {
        struct sync_answer *a = obj;
        for (uint32_t i = 0; i < a->wants.n; i++) a->wants.v[i].ref.session = i + 1;
    } else if (t == &wire_probe_report) {
        make_fit_probe(obj);
    }
}

void arbitrary(const struct wire_table *t, struct rng *rng, void *obj)
{
    wire_init(t, obj);
    for (uint32_t i = 0; i < t->n_fields; i++) member(&t->fields[i], rng, obj);
    make_fit(t, obj);
}
