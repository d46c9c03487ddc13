/* agent/netns/wall.c - see wall.h. */
#include "agent/netns/wall.h"
#include <fcntl.h>
#include <unistd.h>
#include "base/strbuf.h"
#include "host/file.h"
#include "net/child.h"

#define NFT_MS 10000
#define FORWARD_NOTE "forward"
#define FORWARD_FILE "/proc/sys/net/ipv4/ip_forward"
#define NUMBER_(n) #n
#define NUMBER(n) NUMBER_(n)

/* Added, deleted and made again: whatever an older agent left is replaced in one
 * transaction, and connections that are open go on (conntrack is not ours). */
static const char table[] =
    "table inet " WALL_TABLE "\n"
    "delete table inet " WALL_TABLE "\n"
    "table inet " WALL_TABLE " {\n"
    "  chain forward {\n"
    "    type filter hook forward priority filter; policy accept;\n"
    "    iifname \"" WALL_PREFIX "*\" jump out\n"
    "    oifname \"" WALL_PREFIX "*\" ct state established,related accept\n"
    "    oifname \"" WALL_PREFIX "*\" drop\n"
    "  }\n"
    "  chain out {\n"
    "    oifname \"" WALL_PREFIX "*\" drop\n"
    "    meta nfproto ipv6 drop\n"
    "    ip daddr 169.254.0.0/16 drop\n"
    "    ip daddr 198.18.0.0/15 drop\n"
    "    udp dport " NUMBER(WALL_GANG_PORT) " drop\n"
    "    accept\n"
    "  }\n"
    "  chain input {\n"
    "    type filter hook input priority filter; policy accept;\n"
    "    iifname \"" WALL_PREFIX "*\" ct state established,related accept\n"
    "    iifname \"" WALL_PREFIX "*\" drop\n"
    "  }\n"
    "  chain output {\n"
    "    type filter hook output priority filter; policy accept;\n"
    "    oifname \"" WALL_PREFIX "*\" meta l4proto icmp ct state related accept\n"
    "    oifname \"" WALL_PREFIX "*\" drop\n"
    "  }\n"
    "  chain leave {\n"
    "    type nat hook postrouting priority srcnat; policy accept;\n"
    "    ip saddr 198.19.0.0/16 oifname != \"" WALL_PREFIX "*\" masquerade\n"
    "  }\n"
    "}\n";

static const char *find_nft(void)
{
    static const char *const places[] = {"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (access(places[i], X_OK) == 0) return places[i];
    return NULL;
}

static int run_nft(const char *script, struct err *err)
{
    const char *nft = find_nft();
    const char *const argv[] = {"nft", "-f", "-", NULL};
    const char *const envp[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    struct child_spec spec = {.path = nft, .argv = argv, .envp = envp, .cwd = "/",
                              .input = str_of(script)};
    struct child_exit end = {0};
    AUTO_STRBUF struct strbuf said;
    strbuf_init(&said, 4096);
    if (!nft) return err_set(err, ERR_UNSUPPORTED, "nft is not installed");
    int rc = child_run(&spec, NFT_MS, &said, &end, err);
    if (rc < 0) return rc;
    if (end.code == 0 && end.signum == 0) return 0;
    struct str rest = strbuf_str(&said), line = {0};
    str_cut(&rest, '\n', &line);
    return err_set(err, ERR_UNSUPPORTED, "nft refused the table: %.*s",
                   (int)(line.n < 160 ? line.n : 160), line.p ? line.p : "");
}

int wall_load(struct err *err) { return run_nft(table, err); }

/* ---- forwarding ---- */

static int read_forward(bool *ret, struct err *err)
{
    char text[16];
    size_t n = 0;
    int rc = file_read(AT_FDCWD, FORWARD_FILE, text, sizeof(text), &n, err);
    if (rc == 0) *ret = n > 0 && text[0] != '0';
    return rc;
}

int wall_forward(int dir, bool *ret_set, struct err *err)
{
    bool on = false;
    int rc = read_forward(&on, err);
    if (rc < 0) return rc;
    /* The note first: a crash in between would leave on what nobody turns off. */
    if (!on) rc = file_write(dir, FORWARD_NOTE, "0\n", 2, FILE_ORDERED, err);
    if (!on && rc == 0) rc = file_put(AT_FDCWD, FORWARD_FILE, "1", err);
    if (rc == 0) *ret_set = !on;
    return rc;
}

int wall_remove(int dir, struct err *err)
{
    static const char script[] = "table inet " WALL_TABLE "\ndelete table inet " WALL_TABLE "\n";
    int rc = find_nft() ? run_nft(script, err) : 0;
    if (file_exists(dir, FORWARD_NOTE)) {
        int off = file_put(AT_FDCWD, FORWARD_FILE, "0", rc < 0 ? NULL : err);
        if (off == 0) off = file_remove_tree(dir, FORWARD_NOTE, rc < 0 ? NULL : err);
        if (rc == 0) rc = off;
    }
    return rc;
}
