/* Keys, requests, certificates; files that are whole or not there. */
#include "net/pki.h"

#include <sys/stat.h>
#include <time.h>

#include "test.h"

static void ca_and_leaf(void **state)
{
    (void)state;
    for (int alg = PKI_P256; alg <= PKI_ED25519; alg++) {
        struct pki_pair ca = {0}, other = {0};
        struct err err = {0};
        assert_int_equal(pki_ca_create(STR("rota CA"), 3650, (enum pki_alg)alg, &ca, &err), 0);
        assert_int_equal(pki_ca_create(STR("other"), 1, (enum pki_alg)alg, &other, &err), 0);
        assert_int_equal(pki_pair_check(&ca, &err), 0);
        struct pki_info info;
        assert_int_equal(pki_cert_info(str_of(ca.cert), &info, &err), 0);
        assert_string_equal(info.cn, "rota CA");
        assert_true(info.is_ca);
        int64_t now = (int64_t)time(NULL);
        assert_true(info.not_before <= now);
        assert_in_range(info.not_after, now + 3649 * 86400, now + 3651 * 86400);

        char *key = NULL, *csr = NULL, *cert = NULL;
        assert_int_equal(pki_key_new((enum pki_alg)alg, &key, &err), 0);
        assert_int_equal(pki_csr_new(key, STR("asked-for"), &csr, &err), 0);
        const struct pki_leaf leaf = {.cn = STR("node-1"), .sans = {STR("node-1"), STR("10.0.0.7"),
                                      STR("::1")}, .n_sans = 3, .days = 30, .client = true};
        assert_int_equal(pki_csr_sign(&ca, str_of(csr), &leaf, &cert, &err), 0);
        assert_int_equal(pki_cert_info(str_of(cert), &info, &err), 0);
        assert_string_equal(info.cn, "node-1"); /* ours, not what was asked for */
        assert_false(info.is_ca);
        struct pki_pair mine = {cert, key};
        assert_int_equal(pki_pair_check(&mine, &err), 0);
        struct pki_pair mixed = {ca.cert, key};
        assert_int_equal(pki_pair_check(&mixed, &err), ERR_INVALID);
        /* Signing with a certificate that is no CA, or with another's key. */
        char *none = NULL;
        assert_int_equal(pki_csr_sign(&mine, str_of(csr), &leaf, &none, &err), ERR_INVALID);
        struct pki_pair forged = {ca.cert, other.key};
        assert_int_equal(pki_csr_sign(&forged, str_of(csr), &leaf, &none, &err), ERR_INVALID);
        assert_null(none);
        mem_free(csr);
        pki_pair_done(&mine);
        pki_pair_done(&other);
        pki_pair_done(&ca);
    }
}

static void refusals(void **state)
{
    (void)state;
    struct pki_pair ca = {0}, out = {0};
    struct err err = {0};
    assert_int_equal(pki_ca_create(STR("ca"), 10, PKI_P256, &ca, &err), 0);
    const struct { const char *name; struct pki_leaf leaf; } rows[] = {
        {"no name", {.days = 1, .client = true}},
        {"no days", {.cn = STR("a"), .client = true}},
        {"no use", {.cn = STR("a"), .days = 1}},
        {"for ever", {.cn = STR("a"), .days = 4000000, .client = true}},
        {"empty san", {.cn = STR("a"), .days = 1, .client = true, .n_sans = 1}},
        {"nul in name", {.cn = {"a\0b", 3}, .days = 1, .client = true}},
        {"bytes", {.cn = STR("\xff"), .days = 1, .client = true}},
        {"long name", {.cn = STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                 "a"), .days = 1, .client = true}},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (pki_leaf_create(&ca, PKI_P256, &rows[i].leaf, &out, &err) == 0)
            fail_msg("%s was signed", rows[i].name);
    assert_null(out.cert);
    const struct pki_leaf leaf = {.cn = STR("a"), .days = 1, .client = true};
    char *cert = NULL;
    assert_int_equal(pki_csr_sign(&ca, STR("nonsense"), &leaf, &cert, &err), ERR_INVALID);
    assert_int_equal(pki_csr_sign(&ca, STR(""), &leaf, &cert, &err), ERR_INVALID);
    assert_int_equal(pki_csr_sign(&ca, str_of(ca.cert), &leaf, &cert, &err), ERR_INVALID);

    /* A request whose bytes were changed after it was signed. */
    char *key = NULL, *csr = NULL;
    assert_int_equal(pki_key_new(PKI_ED25519, &key, &err), 0);
    assert_int_equal(pki_csr_new(key, STR("abcdefghi"), &csr, &err), 0);
    int refused = 0, n = 0;
    for (size_t i = 40; i + 40 < strlen(csr); i += 7) {
        if (csr[i] == '\n') continue;
        char old = csr[i];
        csr[i] = old == 'A' ? 'B' : 'A';
        n++;
        if (pki_csr_sign(&ca, str_of(csr), &leaf, &cert, &err) != 0) refused++;
        csr[i] = old;
    }
    assert_true(n > 10);
    assert_int_equal(refused, n);
    assert_null(cert);
    pki_key_free(key);
    mem_free(csr);
    pki_pair_done(&ca);
}

static void fingerprints(void **state)
{
    (void)state;
    uint8_t sha[32], back[32] = {0};
    char text[PKI_FINGERPRINT_TEXT];
    for (int i = 0; i < 32; i++) sha[i] = (uint8_t)(i * 9);
    pki_fingerprint_format(sha, text);
    assert_int_equal(strlen(text), 64);
    assert_true(pki_fingerprint_parse(str_of(text), back));
    assert_memory_equal(sha, back, 32);
    text[0] = 'F';
    assert_true(pki_fingerprint_parse(str_of(text), back));
    assert_int_equal(back[0] >> 4, 15);
    text[5] = 'g';
    assert_false(pki_fingerprint_parse(str_of(text), back));
    assert_false(pki_fingerprint_parse(str_n(text, 62), back));
}

static void files(void **state)
{
    (void)state;
    char dir[] = "/tmp/rota-test-pki-XXXXXX", cert[80], key[80];
    struct pki_pair ca = {0}, back = {0};
    struct err err = {0};
    struct stat st;
    assert_non_null(mkdtemp(dir));
    text_fmt(cert, sizeof(cert), "%s/ca.pem", dir);
    text_fmt(key, sizeof(key), "%s/ca.key", dir);
    assert_int_equal(pki_pair_read(cert, key, &back, &err), ERR_NOT_FOUND);
    assert_int_equal(pki_ca_create(STR("ca"), 10, PKI_ED25519, &ca, &err), 0);
    assert_int_equal(pki_pair_write(&ca, cert, key, &err), 0);
    assert_int_equal(stat(key, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(pki_pair_read(cert, key, &back, &err), 0);
    assert_string_equal(back.cert, ca.cert);
    assert_string_equal(back.key, ca.key);
    pki_pair_done(&back);
    assert_int_equal(pki_file_write(cert, STR("cut"), 0644, &err), 0); /* replaces */
    assert_int_equal(pki_pair_read(cert, key, &back, &err), ERR_INVALID);
    assert_null(back.cert);
    char *text = NULL, *big = mem_array(PKI_PEM_MAX + 1, 1);
    memset(big, 'a', PKI_PEM_MAX + 1);
    assert_int_equal(pki_file_write(cert, str_n(big, PKI_PEM_MAX), 0644, &err), 0);
    assert_int_equal(pki_file_read(cert, &text, &err), 0);
    assert_int_equal(strlen(text), PKI_PEM_MAX);
    mem_free(text);
    assert_int_equal(pki_file_write(cert, str_n(big, PKI_PEM_MAX + 1), 0644, &err), 0);
    assert_int_equal(pki_file_read(cert, &text, &err), ERR_LIMIT);
    assert_int_equal(pki_file_write(cert, str_n("a\0b", 3), 0644, &err), 0);
    assert_int_equal(pki_file_read(cert, &text, &err), ERR_INVALID);
    assert_int_equal(pki_file_read(dir, &text, &err), ERR_IO);
    assert_int_equal(pki_file_write("/nonexistent/x", STR("a"), 0600, &err), ERR_IO);
    mem_free(big);
    unlink(cert);
    unlink(key);
    assert_int_equal(rmdir(dir), 0); /* nothing half-written is left */
    pki_pair_done(&ca);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ca_and_leaf), cmocka_unit_test(refusals), cmocka_unit_test(fingerprints),
        cmocka_unit_test(files),
    };
    return RUN(tests);
}
