/* Words for enum values: each once, and the same as the core's own. */
#include "test.h"

#include "core/access.h"

#define SAME(names, type, first, end, core_name) \
    do { \
        for (int32_t v_ = (first); v_ < (int32_t)(end); v_++) { \
            const char *ours_ = wire_name_of((names), v_); \
            int32_t back_ = -1; \
            assert_non_null(ours_); \
            assert_string_equal(ours_, core_name((type)v_)); \
            assert_true(wire_name_find((names), str_of(ours_), &back_)); \
            assert_int_equal(back_, v_); \
        } \
        assert_null(wire_name_of((names), (int32_t)(end))); \
    } while (0)

static void words_are_those_of_the_core(void **state)
{
    (void)state;
    SAME(names_session_state, enum session_state, SESSION_PENDING, SESSION_STATES,
         session_state_name);
    SAME(names_session_outcome, enum session_outcome, OUTCOME_NONE, OUTCOMES,
         session_outcome_name);
    SAME(names_session_kind, enum session_kind, KIND_BATCH, SESSION_KINDS, session_kind_name);
    SAME(names_member_phase, enum member_phase, MEMBER_NONE, MEMBER_PHASES, member_phase_name);
    SAME(names_queue_order, enum queue_order, ORDER_FIFO, ORDER_LIFO + 1, queue_order_name);
    SAME(names_place_strategy, enum place_strategy, STRATEGY_CONCENTRATED, PLACE_STRATEGIES,
         place_strategy_name);
    SAME(names_preempt_mode, enum preempt_mode, PREEMPT_TERMINATE, PREEMPT_MODES,
         preempt_mode_name);
    SAME(names_preempt_scope, enum preempt_scope, SCOPE_USER, PREEMPT_SCOPES,
         preempt_scope_name);
    SAME(names_preempt_order, enum preempt_order, VICTIM_NEWEST, PREEMPT_ORDERS,
         preempt_order_name);
    SAME(names_on_blocked, enum on_blocked, BLOCKED_STOP, BLOCKED_KINDS, on_blocked_name);
    SAME(names_history, enum history_what, HISTORY_SUBMITTED, HISTORY_KINDS, history_name);
    SAME(names_device_health, enum device_health, DEVICE_UNREADABLE, DEVICE_HEALTHS,
         device_health_name);
    SAME(names_device_order, enum device_order, DEVICE_ORDER_NONE, DEVICE_ORDERS,
         device_order_name);
    SAME(names_why_kind, enum why_kind, WHY_NONE, WHY_KINDS, why_kind_name);
}

static void unknown_words_are_not_found(void **state)
{
    (void)state;
    static const char *const words[] = {"", "Pending", "pendin", "pending ", "pendingx"};
    int32_t v = 77;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        assert_false(wire_name_find(names_session_state, str_of(words[i]), &v));
    }
    assert_int_equal(v, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_the_core),
        cmocka_unit_test(unknown_words_are_not_found),
    };
    return RUN(tests);
}
