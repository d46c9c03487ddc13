/* tests/unit/wire/test_prom.c - the text that Prometheus reads. */
#include "test.h"

#include "wire/prom.h"

static void samples(void **state)
{
    (void)state;
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 4096);
    const struct prom_label labels[] = {{"a", "x\\y\"z\n"}, {"b", ""}, {NULL, NULL}};
    prom_family(&b, "n_total", "counter", "Help.");
    prom_put(&b, "n_total", labels, 7);
    prom_put(&b, "n_total", NULL, INT64_MAX);
    prom_put(&b, "n_total", NULL, -1); /* not known: no sample */
    prom_put_micro(&b, "n_total", NULL, 1000001);
    prom_put_micro(&b, "n_total", NULL, -1);
    prom_one(&b, "g", "gauge", "One.", 0);
    const char *want = "# HELP n_total Help.\n# TYPE n_total counter\n"
                       "n_total{a=\"x\\\\y\\\"z\\n\",b=\"\"} 7\n"
                       "n_total 9223372036854775807\n"
                       "n_total 1.000001\n"
                       "# HELP g One.\n# TYPE g gauge\ng 0\n";
    assert_true(str_eq(strbuf_str(&b), str_of(want)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(samples)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
