/* agent/image/digest.c - SHA-256.  docs/spec/node.md, "Images" */
#include "agent/image/digest.h"
#include <openssl/evp.h>
#include <stdint.h>
#include <string.h>
#include "base/check.h"

#define PREFIX "sha256:"

bool digest_is(struct str text)
{
    if (text.n != DIGEST_TEXT - 1 || !str_starts(text, STR(PREFIX))) return false;
    for (size_t i = sizeof(PREFIX) - 1; i < text.n; i++) {
        char c = text.p[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f')) return false;
    }
    return true;
}

void digest_hex(const char *digest, char ret[DIGEST_HEX])
{
    CHECK(digest_is(str_of(digest)));
    memcpy(ret, digest + sizeof(PREFIX) - 1, DIGEST_HEX);
}

void digest_begin(struct digest_sum *d)
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    CHECK(c != NULL);
    int rc = EVP_DigestInit_ex(c, EVP_sha256(), NULL);
    CHECK(rc == 1);
    d->state = c;
}

void digest_add(struct digest_sum *d, const void *data, size_t n)
{
    int rc = EVP_DigestUpdate(d->state, data, n);
    CHECK(rc == 1);
}

void digest_end(struct digest_sum *d, char ret[DIGEST_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    int rc = EVP_DigestFinal_ex(d->state, sum, &n);
    CHECK(rc == 1);
    CHECK(n == 32);
    memcpy(ret, PREFIX, sizeof(PREFIX) - 1);
    char *p = ret + sizeof(PREFIX) - 1;
    for (unsigned i = 0; i < n; i++) {
        *p++ = digits[sum[i] >> 4];
        *p++ = digits[sum[i] & 15];
    }
    *p = '\0';
    digest_drop(d);
}

void digest_drop(struct digest_sum *d)
{
    EVP_MD_CTX_free(d->state);
    d->state = NULL;
}

void digest_of(struct str data, char ret[DIGEST_TEXT])
{
    struct digest_sum d;
    digest_begin(&d);
    digest_add(&d, data.p, data.n);
    digest_end(&d, ret);
}
