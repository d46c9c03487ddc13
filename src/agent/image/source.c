/* agent/image/source.c - where an image's bytes come from.
 *
 * skopeo speaks with registries: it knows their dialects, tokens and mirrors.  It
 * gets credentials as a file's name, and what it brings is checked here against
 * its digest.  docs/spec/node.md, "Images" */
#include "agent/image/source.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/image/say.h"
#include "base/mem.h"
#include "host/file.h"
#include "net/child.h"

#define ASK_MS 60000 /* for a small document */
#define LOOK_MS 500
#define LOG_MAX 16384
#define POLICY "/etc/containers/policy.json"

int source_open(struct source *s, const struct fetch_opts *o, const struct image_store *store,
                struct err *err)
{
    struct source made = {.o = o, .store = store, .layout = -1};
    int rc = image_ref_parse(o->image, &made.ref, err);
    if (rc < 0) return rc;
    if (made.ref.kind == IMAGE_OCI) rc = layout_open(&made, err);
    else if (made.ref.kind == IMAGE_DOCKER) made.loop = net_loop_new();
    else rc = err_set(err, ERR_INVALID, "image %.100s needs no fetching", o->image);
    if (rc == 0) *s = made;
    return rc;
}

void source_close(struct source *s)
{
    file_close(&s->layout);
    if (s->loop) net_loop_free(s->loop);
    s->loop = NULL;
}

/* ---- skopeo ---- */

struct call {
    struct source *s;
    struct child *child;
    struct net_timer *timer;
    struct strbuf *out;
    struct strbuf log;
    const char *tmp;       /* layout that layers come into, or NULL */
    int64_t since_ms, limit_ms, seen_bytes;
    struct child_exit end;
    bool done, late;
};

static void on_output(void *arg, int stream, struct str data)
{
    struct call *c = arg;
    if (stream == 1 && c->out) strbuf_put(c->out, data);
    /* The last words count. */
    if (stream == 2 && c->log.n + data.n > LOG_MAX) strbuf_reset(&c->log);
    if (stream == 2) strbuf_put(&c->log, data);
}

static void on_exit_(void *arg, const struct child_exit *e)
{
    struct call *c = arg;
    c->end = *e;
    c->done = true;
    c->child = NULL;
}

/* Sum of what lies half fetched in the layout. */
static int64_t half_fetched(const struct call *c)
{
    AUTO_FD int dir = file_open_dir(c->s->store->tmp, c->tmp, NULL);
    return dir < 0 ? 0 : file_dir_bytes(dir);
}

static void look(void *arg)
{
    struct call *c = arg;
    const struct image_doc *doc = c->s->wanted;
    int64_t now = net_now_ms(), all = 0, have = 0;
    uint32_t done = 0;
    char text[160];
    if (c->tmp) {
        have = half_fetched(c);
        for (uint32_t i = 0; i < doc->layers.n; i++) {
            const struct image_part *p = &doc->layers.v[i];
            bool here = image_store_has_layer(c->s->store, p->digest) ||
                        image_store_has_blob(c->s->store, p->digest);
            all += p->size;
            have += here ? p->size : 0;
            done += here;
        }
        text_fmt(text, sizeof(text), "%u of %u layers, %lld of %lld MiB", done, doc->layers.n,
                 (long long)(have >> 20), (long long)(all >> 20));
        if (have != c->seen_bytes || c->since_ms == 0) {
            c->since_ms = now;
            c->s->o->say(c->s->o->arg, text);
        }
        c->seen_bytes = have;
    }
    if (now - c->since_ms < c->limit_ms || !c->child) return;
    c->late = true;
    child_signal(c->child, SIGKILL);
}

/* Proxies are the machine's affair; nothing else of ours is. */
static void make_env(char env[8][512], const char *envp[9], const char *home)
{
    static const char *const passed[] = {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
                                         "https_proxy", "no_proxy"};
    size_t n = 0;
    text_fmt(env[n], 512, "HOME=%s", home);
    envp[n] = env[n];
    n++;
    envp[n++] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
        const char *v = getenv(passed[i]);
        if (!v) continue;
        text_fmt(env[n], 512, "%s=%s", passed[i], v);
        envp[n] = env[n];
        n++;
    }
    envp[n] = NULL;
}

/* `argv` is without the program and its common options. */
static int call_skopeo(struct source *s, const char *const *argv, struct call *c, struct err *err)
{
    const char *all[24] = {s->o->skopeo}, *envp[9];
    char env[8][512], tmpdir[256];
    size_t n = 1;
    static const struct child_ops ops = {.on_output = on_output, .on_exit = on_exit_};
    if (access(POLICY, F_OK) < 0) all[n++] = "--insecure-policy"; /* no policy of the machine's */
    text_fmt(tmpdir, sizeof(tmpdir), "%s/tmp", s->store->path);
    all[n++] = "--tmpdir";
    all[n++] = tmpdir;
    for (size_t i = 0; argv[i] && n + 1 < ARRAY_LEN(all); i++) all[n++] = argv[i];
    make_env(env, envp, tmpdir);
    strbuf_init(&c->log, LOG_MAX + 1);
    c->s = s;
    c->since_ms = c->tmp ? 0 : net_now_ms();
    c->timer = net_timer_new(s->loop, look, c);
    struct child_spec spec = {.path = s->o->skopeo, .argv = all, .envp = envp, .cwd = "/",
                              .parent_death_signal = SIGKILL};
    c->child = child_spawn(s->loop, &spec, &ops, c, err);
    int rc = c->child ? 0 : err ? err->code : ERR_IO;
    if (c->child) {
        look(c);
        net_timer_set(c->timer, LOOK_MS, LOOK_MS);
        net_loop_run_until(s->loop, &c->done, -1);
        if (c->late)
            rc = err_set(err, ERR_TIMEOUT, "image %.100s: its registry sends nothing any more",
                         s->o->image);
        else if (c->end.code != 0)
            rc = say_why(strbuf_str(&c->log), s->o->image, err);
    } else if (rc == ERR_NOT_FOUND) {
        rc = err_set(err, ERR_UNSUPPORTED, "images of registries need skopeo, which is not "
                     "installed on this node");
    }
    net_timer_free(c->timer);
    strbuf_done(&c->log);
    return rc;
}

static bool is_insecure(const struct source *s)
{
    struct str rest = str_of(s->o->insecure), one;
    while (rest.n) {
        str_cut(&rest, ',', &one);
        if (str_eq(str_trim(one), str_of(s->ref.registry))) return true;
    }
    return false;
}

static void name_of(const struct source *s, const char *digest, char ret[512])
{
    if (digest) text_fmt(ret, 512, "docker://%s@%s", s->ref.name, digest);
    else if (s->ref.digest[0]) text_fmt(ret, 512, "docker://%s@%s", s->ref.name, s->ref.digest);
    else text_fmt(ret, 512, "docker://%s:%s", s->ref.name, s->ref.tag);
}

/* `inspect` gives documents as the registry has them. */
static int ask(struct source *s, const char *digest, bool config, struct strbuf *ret,
               struct err *err)
{
    char name[512];
    const char *argv[12];
    size_t n = 0;
    name_of(s, digest, name);
    argv[n++] = "inspect";
    argv[n++] = "--raw";
    if (config) argv[n++] = "--config";
    if (is_insecure(s)) argv[n++] = "--tls-verify=false";
    if (s->o->authfile) {
        argv[n++] = "--authfile";
        argv[n++] = s->o->authfile;
    }
    argv[n++] = name;
    argv[n] = NULL;
    struct call c = {.out = ret, .limit_ms = ASK_MS};
    int rc = call_skopeo(s, argv, &c, err);
    if (rc == 0 && ret->full)
        rc = err_set(err, ERR_LIMIT, "a document of the image is larger than 1 MiB");
    return rc;
}

static int verify(const struct source *s, struct str doc, const char *digest, struct err *err)
{
    char found[DIGEST_TEXT];
    digest_of(doc, found);
    if (strcmp(found, digest) == 0) return 0;
    return err_set(err, ERR_CORRUPT, "image %.80s: a document is not what its digest says: %s",
                   s->o->image, digest);
}

int source_manifest(struct source *s, const char *digest, struct strbuf *ret, struct err *err)
{
    int rc;
    if (s->ref.kind == IMAGE_DOCKER) {
        rc = ask(s, digest, false, ret, err);
        if (!digest && s->ref.digest[0]) digest = s->ref.digest;
    } else {
        rc = digest ? layout_read(s, digest, ret, err) : layout_index(s, ret, err);
    }
    return rc == 0 && digest ? verify(s, strbuf_str(ret), digest, err) : rc;
}

int source_config(struct source *s, const char *manifest, const struct image_part *part,
                  struct strbuf *ret, struct err *err)
{
    int rc = s->ref.kind == IMAGE_DOCKER ? ask(s, manifest, true, ret, err)
                                         : layout_read(s, part->digest, ret, err);
    return rc == 0 ? verify(s, strbuf_str(ret), part->digest, err) : rc;
}

int source_layers(struct source *s, const char *manifest, const struct image_doc *doc,
                  struct err *err)
{
    char name[512], tmp[40], to[320], blobs[256];
    const char *argv[16];
    size_t n = 0;
    if (s->ref.kind != IMAGE_DOCKER) return 0;
    name_of(s, manifest, name);
    text_fmt(tmp, sizeof(tmp), "fetch-%d", (int)getpid());
    text_fmt(to, sizeof(to), "oci:%s/tmp/%s:image", s->store->path, tmp);
    text_fmt(blobs, sizeof(blobs), "%s/blobs", s->store->path);
    argv[n++] = "copy";
    argv[n++] = "--quiet";
    argv[n++] = "--dest-oci-accept-uncompressed-layers";
    argv[n++] = "--dest-shared-blob-dir";
    argv[n++] = blobs;
    if (is_insecure(s)) argv[n++] = "--src-tls-verify=false";
    if (s->o->authfile) {
        argv[n++] = "--src-authfile";
        argv[n++] = s->o->authfile;
    }
    argv[n++] = name;
    argv[n++] = to;
    argv[n] = NULL;
    s->wanted = doc;
    struct call c = {.tmp = tmp, .limit_ms = s->o->stall_ms};
    int rc = call_skopeo(s, argv, &c, err);
    file_remove_tree(s->store->tmp, tmp, NULL);
    return rc;
}

int source_blob(struct source *s, const char *digest, struct err *err)
{
    char hex[DIGEST_HEX];
    if (s->ref.kind != IMAGE_DOCKER) return layout_blob(s, digest, err);
    digest_hex(digest, hex);
    int fd = openat(s->store->blobs, hex, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    return fd >= 0 ? fd : err_set(err, ERR_IO, "image %.80s: layer %s was not fetched",
                                  s->o->image, digest);
}
