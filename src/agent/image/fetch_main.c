/* agent/image/fetch_main.c - the fetcher as a program of its own.
 * docs/spec/node.md, "Images" */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/image/fetch.h"
#include "base/mem.h"

static void say(void *arg, const char *text)
{
    (void)arg;
    printf("say %s\n", text);
    fflush(stdout);
}

struct option { const char *name; const char **text; int64_t *number; };

static bool take(const struct option *options, size_t n, const char *word)
{
    const char *is = strchr(word, '=');
    for (size_t i = 0; is && i < n; i++) {
        const struct option *o = &options[i];
        if (!str_eq(str_of(o->name), str_n(word, (size_t)(is - word)))) continue;
        if (!o->number) {
            *o->text = is + 1;
            return true;
        }
        return str_to_i64(str_of(is + 1), o->number) && *o->number >= 0;
    }
    return false;
}

int fetch_main(int argc, char **argv)
{
    struct fetch_opts o = {.skopeo = "/usr/bin/skopeo", .insecure = "", .say = say};
    struct err err = {0};
    char digest[DIGEST_TEXT];
    int64_t uid = -1, gid = -1;
    const struct option options[] = {
        {"image", &o.image, NULL},       {"dir", &o.state_dir, NULL},
        {"arch", &o.arch, NULL},         {"authfile", &o.authfile, NULL},
        {"insecure", &o.insecure, NULL}, {"skopeo", &o.skopeo, NULL},
        {"limit", NULL, &o.limit_bytes}, {"stall_ms", NULL, &o.stall_ms},
        {"uid", NULL, &uid},             {"gid", NULL, &gid},
    };
    for (int i = 1; i < argc; i++) {
        if (take(options, ARRAY_LEN(options), argv[i])) continue;
        fprintf(stderr, "%s: \"%.60s\" is no option; the agent runs this\n", argv[0], argv[i]);
        return 2;
    }
    if (!o.image || !o.state_dir || !o.arch || o.limit_bytes <= 0 || o.stall_ms <= 0 || uid < 0 ||
        uid > UINT32_MAX || gid < 0 || gid > UINT32_MAX) {
        fprintf(stderr, "%s: an option is missing; the agent runs this\n", argv[0]);
        return 2;
    }
    o.uid = (uint32_t)uid;
    o.gid = (uint32_t)gid;
    umask(022);
    int rc = fetch_image(&o, digest, &err);
    if (rc == 0) printf("done %s\n", digest);
    else printf("fail %d %s\n", rc, err.text);
    return fflush(stdout) == 0 ? 0 : 1;
}
