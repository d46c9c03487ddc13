/* manager/api_admin.c - what this manager is, whether it is well, and its figures. */
#include "base/check.h"
#include "manager/api.h"
#include "wire/objects.h"
#include "wire/snapshot.h"

#define DUMP_MAX ((size_t)256 << 20)

void api_version(struct api_call *c)
{
    struct version_view v;
    wire_init(&wire_version_view, &v);
    TEXT_CLIP(v.version, STR(ROTA_VERSION));
    v.protocol = WIRE_PROTOCOL;
    TEXT_CLIP(v.cluster, str_of(c->m->cluster));
    TEXT_CLIP(v.incarnation, str_of(c->m->incarnation));
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 4096);
    wire_print(&wire_version_view, &v, &b);
    c->m->http.by_class[2]++;
    http_reply_json(c->req, 200, strbuf_str(&b));
}

void api_dump(struct api_call *c)
{
    struct answer *a = answer_new(c->m, c->req, 200);
    strbuf_done(&a->body);
    strbuf_init(&a->body, DUMP_MAX);
    a->content_type = "text/plain; charset=utf-8";
    world_dump(turns_world(c->m->turns), &a->body);
    answer_send(a);
}

void api_snapshot(struct api_call *c)
{
    struct answer *a = answer_new(c->m, c->req, 200);
    struct snapshot_rows rows;
    strbuf_done(&a->body);
    strbuf_init(&a->body, SNAPSHOT_MAX);
    snapshot_take(turns_world(c->m->turns), net_wall_ms(), &rows);
    rows.core_ms = turns_core_ms(c->m->turns);
    wire_print(&wire_snapshot, &rows, &a->body);
    wire_free(&wire_snapshot, &rows);
    answer_send(a);
}

void api_health(struct api_call *c)
{
    c->m->http.by_class[2]++;
    http_reply(c->req, 200, "text/plain", STR("ok\n"));
}

void api_ready(struct api_call *c)
{
    if (turns_accepting(c->m->turns)) {
        api_health(c);
        return;
    }
    answer_now(c->m, c->req, 503, "unavailable", "", "the manager is not taking work now");
}
