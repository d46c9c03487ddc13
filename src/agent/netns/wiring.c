/* agent/netns/wiring.c - see wiring.h.
 *
 * The file `net`: "MODE ADDR MEMBER MEMBERS VNI PORT", then a line "MEMBER NODE VNI" for
 * each other member.  It needs no fsync: a reboot voids it with the container. */
#include "agent/netns/wiring.h"
#include <arpa/inet.h>
#include <string.h>
#include "base/check.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "host/file.h"

#define FILE_NAME "net"
#define GANG_FIRST 0xC6120001u /* 198.18.0.1 */
#define FNV_START UINT64_C(14695981039346656037)
#define FNV_PRIME UINT64_C(1099511628211)

void wiring_done(struct wiring *p) { VEC_DONE(&p->peers); }

void wiring_copy(const struct wiring *from, struct wiring *to)
{
    *to = *from;
    memset(&to->peers, 0, sizeof(to->peers));
    for (uint32_t i = 0; i < from->peers.n; i++) VEC_PUSH(&to->peers, from->peers.v[i]);
}

/* ---- numbers ---- */

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * FNV_PRIME;
    return h;
}

uint32_t wiring_vni(const char *incarnation, uint64_t session, uint32_t attempt, uint32_t member)
{
    uint64_t h = mix(FNV_START, incarnation, strlen(incarnation));
    h = mix(h, &session, sizeof(session));
    h = mix(h, &attempt, sizeof(attempt));
    h = mix(h, &member, sizeof(member));
    h ^= h >> 32;
    return (uint32_t)(h % 0xFFFFFEu) + 1; /* 0 and the last one stay free */
}

struct in_addr wiring_gang_addr(uint32_t member)
{
    CHECK(member < WIRING_MEMBERS_MAX);
    return (struct in_addr){htonl(GANG_FIRST + member)};
}

void wiring_mac(uint8_t kind, struct in_addr addr, uint8_t ret[6])
{
    uint32_t a = ntohl(addr.s_addr);
    ret[0] = 0x02; /* locally administered, of one device */
    ret[1] = kind;
    for (int i = 0; i < 4; i++) ret[2 + i] = (uint8_t)(a >> (24 - 8 * i));
}

/* ---- the file ---- */

int wiring_write(int dir, const struct wiring *p, struct err *err)
{
    char text[INET_ADDRSTRLEN];
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, WIRING_BYTES_MAX - 1);
    strbuf_fmt(&b, "%d %s %u %u %u %u\n", (int)p->mode,
               inet_ntop(AF_INET, &p->addr, text, sizeof(text)), p->member, p->members, p->vni,
               p->port);
    for (uint32_t i = 0; i < p->peers.n; i++) {
        const struct wiring_peer *e = &p->peers.v[i];
        strbuf_fmt(&b, "%u %s %u\n", e->member,
                   inet_ntop(AF_INET, &e->node, text, sizeof(text)), e->vni);
    }
    if (b.full) return err_set(err, ERR_LIMIT, "a gang of %u is too large", p->members);
    return file_write(dir, FILE_NAME, b.p, b.n, FILE_ORDERED, err);
}

static bool cut_number(struct str *line, uint64_t most, uint64_t *ret)
{
    struct str word;
    str_cut(line, ' ', &word);
    return str_to_u64(word, ret) && *ret <= most;
}

static bool cut_addr(struct str *line, struct in_addr *ret)
{
    struct str word;
    char text[INET_ADDRSTRLEN];
    str_cut(line, ' ', &word);
    return TEXT_SET(text, word) && inet_pton(AF_INET, text, ret) == 1;
}

static bool parse_head(struct str line, struct wiring *p)
{
    uint64_t mode, member, members, vni, port;
    if (!cut_number(&line, NETWORK_MODES - 1, &mode) || !cut_addr(&line, &p->addr) ||
        !cut_number(&line, WIRING_MEMBERS_MAX - 1, &member) ||
        !cut_number(&line, WIRING_MEMBERS_MAX, &members) || !cut_number(&line, 0xFFFFFF, &vni) ||
        !cut_number(&line, UINT16_MAX, &port))
        return false;
    p->mode = (enum network_mode)mode;
    p->member = (uint32_t)member;
    p->members = (uint32_t)members;
    p->vni = (uint32_t)vni;
    p->port = (uint16_t)port;
    return line.n == 0;
}

static bool parse_peer(struct str line, struct wiring_peer *e)
{
    uint64_t member, vni;
    if (!cut_number(&line, WIRING_MEMBERS_MAX - 1, &member) || !cut_addr(&line, &e->node) ||
        !cut_number(&line, 0xFFFFFF, &vni))
        return false;
    e->member = (uint32_t)member;
    e->vni = (uint32_t)vni;
    return line.n == 0;
}

int wiring_read(int dir, struct wiring *ret, struct err *err)
{
    AUTO_FREE char *buf = mem_alloc(WIRING_BYTES_MAX);
    struct wiring p = {0};
    size_t n = 0;
    int rc = file_read(dir, FILE_NAME, buf, WIRING_BYTES_MAX, &n, err);
    if (rc < 0) return rc;
    struct str rest = str_n(buf, n), line;
    bool good = n > 0 && buf[n - 1] == '\n' && str_cut(&rest, '\n', &line) && parse_head(line, &p);
    while (good && rest.n > 0) {
        struct wiring_peer e;
        str_cut(&rest, '\n', &line);
        good = parse_peer(line, &e) && p.peers.n < WIRING_MEMBERS_MAX;
        if (good) VEC_PUSH(&p.peers, e);
    }
    if (!good) {
        wiring_done(&p);
        return err_set(err, ERR_CORRUPT, "net: not as it was written");
    }
    *ret = p;
    return 0;
}
