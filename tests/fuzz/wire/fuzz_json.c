/* JSON from anybody: the first byte chooses the table, the rest is the document.
 * What is accepted prints, reads back and prints the same. */
#include <stdint.h>

#include "base/check.h"
#include "wire/carry.h"
#include "wire/objects.h"
#include "wire/accounts.h"
#include "wire/rows.h"
#include "wire/sync.h"

static const struct wire_table *const tables[] = {
    &wire_session_spec, &wire_forget_request, &wire_stop_request, &wire_signal_request,
    &wire_ticket_request, &wire_ticket_answer, &wire_group_request, &wire_session_view,
    &wire_node_view,
    &wire_group_view, &wire_event_view, &wire_why_view, &wire_version_view, &wire_problem,
    &wire_session_list, &wire_queue_list, &wire_join_request, &wire_join_answer,
    &wire_exec_request, &wire_carry_end, &wire_sync_request, &wire_sync_answer, &wire_row_session,
    &wire_row_alloc, &wire_row_node, &wire_row_group, &wire_row_user, &wire_row_history,
    &wire_domain_request, &wire_project_request, &wire_user_request, &wire_token_request,
    &wire_quota_list, &wire_whoami_view,
};

static void accepted(const struct wire_table *t, void *obj)
{
    AUTO_STRBUF struct strbuf first, second;
    AUTO_FREE void *again = mem_alloc(t->size);
    struct err err = {0};
    strbuf_init(&first, (size_t)64 << 20);
    strbuf_init(&second, (size_t)64 << 20);
    wire_print(t, obj, &first);
    CHECK(!first.full);
    if (first.n <= (t->max_bytes ? t->max_bytes : WIRE_DOC_MAX)) {
        int rc = wire_parse(t, strbuf_str(&first), again, &err);
        CHECK(rc == 0);
        wire_print(t, again, &second);
        CHECK(str_eq(strbuf_str(&first), strbuf_str(&second)));
        wire_free(t, again);
    }
    wire_copy(t, obj, again);
    wire_free(t, again);
    wire_free(t, obj);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0) return 0;
    const struct wire_table *t = tables[data[0] % ARRAY_LEN(tables)];
    AUTO_FREE void *obj = mem_alloc(t->size);
    struct err err = {0};
    struct str json = str_n((const char *)data + 1, n - 1);
    int rc = wire_parse(t, json, obj, &err);
    if (rc == 0) {
        accepted(t, obj);
    } else {
        CHECK(err.code == rc);
        CHECK(err.text[0] != '\0');
    }
    enum carry_type type;
    uint32_t length;
    if (n >= CARRY_HEAD && carry_head_get(data, CARRY_FROM_CLIENT, &type, &length, NULL) == 0) {
        uint8_t head[CARRY_HEAD];
        carry_head_put(head, type, length);
        CHECK(memcmp(head, data, CARRY_HEAD) == 0);
    }
    return 0;
}
