/* agent/frames.c - see frames.h. */
#include "agent/frames.h"
#include "base/check.h"

static void gather(struct frames *f, struct str *data, uint32_t until)
{
    CHECK(f->n <= until && until <= sizeof(f->buf));
    size_t n = until - f->n;
    if (n > data->n) n = data->n;
    if (n == 0) return;
    memcpy(f->buf + f->n, data->p, n);
    f->n += (uint32_t)n;
    data->p += n;
    data->n -= n;
}

int frames_next(struct frames *f, struct str *data, struct frame *ret, struct err *err)
{
    enum carry_type type;
    uint32_t len;
    if (f->n < CARRY_HEAD) gather(f, data, CARRY_HEAD);
    if (f->n < CARRY_HEAD) return 0;
    int rc = carry_head_get(f->buf, CARRY_FROM_CLIENT, &type, &len, err);
    if (rc != 0) return rc;
    gather(f, data, CARRY_HEAD + len);
    if (f->n < CARRY_HEAD + len) return 0;
    f->n = 0;
    *ret = (struct frame){.type = type, .payload = str_n((const char *)f->buf + CARRY_HEAD, len)};
    return 1;
}
