/* Frames from a client, whatever the pieces they arrive in. */
#include "test.h"

#include "agent/frames.h"
#include "base/strbuf.h"

static void add(struct strbuf *b, enum carry_type type, const char *payload)
{
    uint8_t head[CARRY_HEAD];
    carry_head_put(head, type, (uint32_t)strlen(payload));
    strbuf_put(b, str_n((const char *)head, sizeof(head)));
    strbuf_puts(b, payload);
}

static void any_cut_gives_the_same_frames(void **state)
{
    struct strbuf in;
    (void)state;
    strbuf_init(&in, 4096);
    add(&in, CARRY_STDIN, "hello");
    add(&in, CARRY_STDIN_END, "");
    add(&in, CARRY_SIGNAL, "\x0f");
    add(&in, CARRY_STDIN, "x");
    for (size_t piece = 1; piece <= in.n; piece++) {
        struct frames *f = mem_alloc(sizeof(*f));
        char seen[64] = "";
        size_t n = 0;
        for (size_t at = 0; at < in.n; at += piece) {
            struct str data = str_n(in.p + at, in.n - at < piece ? in.n - at : piece);
            struct frame frame;
            struct err err;
            while (frames_next(f, &data, &frame, &err) > 0) {
                n += (size_t)text_fmt(seen + n, sizeof(seen) - n, "%c%zu ", (char)frame.type,
                                      frame.payload.n);
            }
            assert_int_equal(data.n, 0);
        }
        assert_string_equal(seen, "I5 Z0 K1 I1 ");
        mem_free(f);
    }
    strbuf_done(&in);
}

static void what_a_client_may_not_send(void **state)
{
    static const struct { const char *bytes; size_t n; } cases[] = {
        {"O\0\0\0\0\0\0\1", 8},         /* an agent's frame */
        {"q\0\0\0\0\0\0\0", 8},         /* unknown */
        {"I\1\0\0\0\0\0\1", 8},         /* not zero */
        {"I\0\0\0\0\1\0\1", 8},         /* 65,537 bytes */
        {"I\0\0\0\377\377\377\377", 8}, /* 4 GiB */
        {"R\0\0\0\0\0\0\3", 8},         /* a size of three bytes */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct frames *f = mem_alloc(sizeof(*f));
        struct str data = str_n(cases[i].bytes, cases[i].n);
        struct frame frame;
        struct err err = {0};
        if (frames_next(f, &data, &frame, &err) != ERR_INVALID) fail_msg("case %zu passed", i);
        assert_true(err.text[0] != '\0');
        mem_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_cut_gives_the_same_frames),
        cmocka_unit_test(what_a_client_may_not_send),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
