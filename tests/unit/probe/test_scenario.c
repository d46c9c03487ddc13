/* Scenarios of the fake library: what each line means, and what is said of wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "fakes/nvml/fake.h"

static const struct { const char *text, *error; } wrong[] = {
    {"lost 0", "line 1: `gpus` must come first, not 'lost'"},
    {"gpus", "line 1: expected: gpus N MODEL MEMORY"},
    {"gpus x A 1G", "line 1: how many GPUs is wanted, at most 32, not 'x'"},
    {"gpus 33 A 1G", "line 1: how many GPUs is wanted, at most 32, not '33'"},
    {"gpus 2 A lots", "line 1: their memory is wanted, as in 80G, not 'lots'"},
    {"gpus 2 A 1G\ngpus 2 A 1G", "line 2: `gpus` stands there twice"},
    {"gpus 2 A 1G\n\nlost 2", "line 3: a GPU's index is wanted, not '2'"},
    {"gpus 2 A 1G\nlost", "line 2: expected: lost GPU"},
    {"gpus 2 A 1G\nlost 0 1", "line 2: expected: lost GPU"},
    {"gpus 2 A 1G\nexplode 0", "line 2: a verb of docs/development.md is wanted, not 'explode'"},
    {"gpus 2 A 1G\nat", "line 2: expected: at MILLISECONDS VERB ..."},
    {"gpus 2 A 1G\nat x lost 0", "line 2: milliseconds since the start are wanted, not 'x'"},
    {"gpus 2 A 1G\nat 999 lost 7", "line 2: a GPU's index is wanted, not '7'"}, /* not due yet */
    {"gpus 2 A 1G\nlink 0 0 1", "line 2: two different GPUs are wanted"},
    {"gpus 2 A 1G\nlink 0 1 37", "line 2: how many links is wanted, not '37'"},
    {"gpus 2 A 1G\nlink 0 1 20\nlink 0 switch 20", "line 3: a GPU has at most 36 links"},
    {"gpus 2 A 1G\nnear 0 1 far", "line 2: single, multiple, host, node or system is wanted, "
                                  "not 'far'"},
    {"gpus 2 A 1G\nmig 0 perhaps", "line 2: on or off is wanted, not 'perhaps'"},
    {"gpus 2 A 1G\nxid 0 x", "line 2: an Xid is wanted, as in `xid 0 79`, not 'x'"},
    {"gpus 2 A 1G\nremap 0 x", "line 2: `failed` is wanted, not 'x'"},
    {"gpus 2 A 1G\necc 0 -1", "line 2: a count of errors is wanted, not '-1'"},
    {"gpus 2 A 1G\nstride 17", "line 2: 16, 24, 32, 40 or 48 is wanted, not '17'"},
    {"gpus 2 A 1G\nnuma 0 8", "line 2: a NUMA node is wanted, 0 to 7, not '8'"},
    {"gpus 2 A 1G\nfail x y", "line 2: the library's code is wanted, as in 999, not 'y'"},
    {"gpus 2 A 1G\nprocess 0 1 x", "line 2: its memory is wanted, as in 2G, not 'x'"},
    {"a a a a a a a a a a a a a a a a a", "line 1: too many words"},
    {"gpus 2 A 1G\nmissing aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "line 2: a shorter word is wanted, not "
     "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"},
};

static void wrong_lines_are_told(void **state)
{
    (void)state;
    AUTO_FREE struct fake *f = mem_alloc(sizeof(*f));
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = {0};
        f->n_gpus = 77;
        assert_int_equal(fake_parse(str_of(wrong[i].text), 0, f, &err), ERR_INVALID);
        assert_string_equal(err.text, wrong[i].error);
        assert_int_equal(f->n_gpus, 77);
    }
}

static void lines_mean_what_they_say(void **state)
{
    (void)state;
    AUTO_FREE struct fake *f = mem_alloc(sizeof(*f));
    struct err err = {0};
    static const char text[] =
        "# a comment\n\n  gpus   3  NVIDIA H100 80GB HBM3   80G # behind it\n"
        "link 0 1 2\nlink 2 switch 3\nmig 1 on\nat 100 lost 0\nat 200 gone 1\nat 300 back 0\n"
        "xid 0 79\nat 150 xid 1 31\nprocess 2 9 1.5G\nhang all\nat 100 hang nvmlInit_v2 2\n"
        "fail x 15 1\nmissing y\nstride 24\nfabric 2 5\ndriver 1.2\nat 0 mismatch\n";
    for (int64_t now = 99; now <= 300; now++) {
        assert_int_equal(fake_parse(str_of(text), now, f, &err), 0);
        assert_int_equal(f->gpu[0].lost, now >= 100 && now < 300);
        assert_int_equal(f->gpu[1].gone, now >= 200);
        assert_int_equal(f->n_xids, now >= 150 ? 2 : 1);
        assert_int_equal(f->n_hang, now >= 100 ? 2 : 1);
    }
    assert_int_equal(f->n_gpus, 3);
    assert_string_equal(f->gpu[2].model, "NVIDIA H100 80GB HBM3");
    assert_int_equal(f->gpu[2].mem, INT64_C(80) << 30);
    assert_int_equal(f->gpu[0].n_links, 2);
    assert_int_equal(f->gpu[1].peer[1], 0);
    assert_int_equal(f->gpu[2].peer[2], FAKE_SWITCH);
    assert_int_equal(f->process[0].mem, INT64_C(3) << 29);
    assert_int_equal(f->hang[1].gpu, 2);
    assert_int_equal(f->fail[0].code, 15);
    assert_true(f->mismatch && f->gpu[1].mig && f->gpu[2].has_fabric);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_lines_are_told),
        cmocka_unit_test(lines_mean_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
