/* agent/launch_gang.c - see launch_gang.h.
 *
 * Every member computes the same from the same body: names, addresses, the numbers of
 * the others' networks, and in the machine's network the port of member 0.  Another
 * attempt gives other numbers, so that a collision is met once. */
#include "agent/launch_gang.h"
#include <arpa/inet.h>
#include "base/check.h"

#define MASTER_PORT 29500
/* Below what the kernel gives to those who ask for no port (ip_local_port_range). */
#define PORT_FIRST 20000u
#define PORTS 10000u
#define HOSTS_MAX (128 * 1024)

static const struct sync_peer *peer_of(const struct body *b, uint32_t member)
{
    VEC_EACH(p, &b->sync.peers) {
        if (p->member == member) return p;
    }
    return NULL;
}

static bool is_loopback(struct in_addr a) { return ntohl(a.s_addr) >> 24 == IN_LOOPBACKNET; }

/* Where packets for a member on another node go. */
static int addr_of(const struct sync_peer *p, const struct sync_peer *own, struct in_addr *ret,
                   struct err *err)
{
    struct in_addr mine = {0};
    if (inet_pton(AF_INET, p->addr, ret) != 1 || ret->s_addr == 0)
        return err_set(err, ERR_INVALID, "node %s has told no address that other nodes reach: "
                       "start its agent with --net-addr", p->node);
    /* Two agents on one machine share its loopback; two machines do not. */
    if (is_loopback(*ret) && inet_pton(AF_INET, own->addr, &mine) == 1 && !is_loopback(mine))
        return err_set(err, ERR_INVALID, "node %s says it is reached at %s: start its agent with "
                       "--net-addr", p->node, p->addr);
    return 0;
}

static int wire_peers(const struct body *b, struct member_ref ref, const char *incarnation,
                      struct wiring *w, struct err *err)
{
    const struct sync_peer *own = peer_of(b, ref.member);
    for (uint32_t i = 0; i < w->members; i++) {
        const struct sync_peer *p = peer_of(b, i);
        struct wiring_peer e = {.member = i, .node = {htonl(INADDR_LOOPBACK)},
                                .vni = wiring_vni(incarnation, ref.session, ref.attempt, i)};
        if (i == ref.member) continue;
        if (!p || !own)
            return err_set(err, ERR_INVALID, "nothing was told about where member %u is", i);
        int rc = strcmp(p->node, own->node) == 0 ? 0 : addr_of(p, own, &e.node, err);
        if (rc < 0) return rc;
        VEC_PUSH(&w->peers, e);
    }
    return 0;
}

/* In the machine's network a name stands for its node. */
static struct in_addr named_addr(const struct body *b, const struct wiring *w, uint32_t member)
{
    struct in_addr a = {htonl(INADDR_LOOPBACK)};
    const struct sync_peer *p = peer_of(b, member);
    if (w->mode != NETWORK_HOST) return wiring_gang_addr(member);
    if (p) inet_pton(AF_INET, p->addr, &a);
    return a;
}

static void put_names(const struct body *b, struct launch *o)
{
    for (uint32_t i = 0; i < o->wiring.members; i++) {
        const struct role_spec *role = launch_role(&b->spec, i);
        char name[64], text[INET_ADDRSTRLEN];
        struct in_addr a = named_addr(b, &o->wiring, i);
        int64_t slots = role->gpu > 0 ? role->gpu : role->cpu_milli / 1000;
        launch_host_name(b, i, name);
        inet_ntop(AF_INET, &a, text, sizeof(text));
        strbuf_fmt(&o->hosts, "%s %s\n", text, name);
        strbuf_fmt(&o->hostfile, "%s slots=%lld\n", name, (long long)(slots > 0 ? slots : 1));
    }
}

int launch_gang_wire(const struct body *b, struct member_ref ref, const char *incarnation,
                     struct launch *ret, struct err *err)
{
    struct wiring *w = &ret->wiring;
    strbuf_init(&ret->hosts, HOSTS_MAX);
    strbuf_init(&ret->hostfile, HOSTS_MAX);
    w->mode = b->spec.network;
    w->member = ref.member;
    w->members = launch_members(&b->spec);
    CHECK(w->members <= WIRING_MEMBERS_MAX); /* the table of submissions keeps to it */
    w->vni = wiring_vni(incarnation, ref.session, ref.attempt, ref.member);
    if (w->mode == NETWORK_HOST)
        w->port = (uint16_t)(PORT_FIRST +
                             wiring_vni(incarnation, ref.session, ref.attempt, 0) % PORTS);
    if (w->members == 1) return 0;
    int rc = wire_peers(b, ref, incarnation, w, err);
    if (rc == 0) put_names(b, ret);
    return rc;
}

/* What people's programs look for: torchrun reads PET_*, others the short names; MPI has
 * its file; libraries that choose a device themselves are told which. */
static void env_known(struct wire_texts *env, const struct body *b, const struct wiring *w)
{
    if (w->members == 1) return;
    launch_offer(env, b, "OMPI_MCA_orte_default_hostfile", "/run/rota/hostfile");
    launch_offer(env, b, "HYDRA_HOST_FILE", "/run/rota/hostfile");
    if (w->mode == NETWORK_HOST) return;
    launch_offer(env, b, "NCCL_SOCKET_IFNAME", WIRING_GANG_LINK);
    launch_offer(env, b, "GLOO_SOCKET_IFNAME", WIRING_GANG_LINK);
}

void launch_gang_env(const struct body *b, uint32_t member, struct launch *o)
{
    static const char *const own[] = {"ROTA_RANK", "ROTA_NODES", "ROTA_MASTER_ADDR",
                                      "ROTA_MASTER_PORT"};
    static const char *const pet[] = {"PET_NODE_RANK", "PET_NNODES", "PET_MASTER_ADDR",
                                      "PET_MASTER_PORT"};
    static const char *const plain[] = {"NODE_RANK", "NNODES", "MASTER_ADDR", "MASTER_PORT"};
    const struct wiring *w = &o->wiring;
    char master[64], size[12], rank[12], port[12];
    if (w->members == 1) TEXT_CLIP(master, STR("127.0.0.1"));
    else if (w->mode != NETWORK_HOST) launch_host_name(b, 0, master);
    else {
        struct in_addr a = named_addr(b, w, 0);
        inet_ntop(AF_INET, &a, master, sizeof(master));
    }
    text_fmt(size, sizeof(size), "%u", w->members);
    text_fmt(rank, sizeof(rank), "%u", member);
    text_fmt(port, sizeof(port), "%u", w->port ? w->port : MASTER_PORT);
    const char *const values[] = {rank, size, master, port};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        launch_env(&o->env, own[i], values[i]);
        launch_offer(&o->env, b, pet[i], values[i]);
        launch_offer(&o->env, b, plain[i], values[i]);
    }
    env_known(&o->env, b, w);
}
