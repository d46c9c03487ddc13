/* cli/context.c - contexts on disk, the environment above them, this machine below.
 *
 * Tokens are never printed and never taken from a command line, where every user of the
 * machine could read them. */
#include "cli/context.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "wire/table.h"

enum { FILE_MAX = 256 * 1024, PATH_LEN = 512 };

static const struct wire_field context_fields[] = {
    WIRE_F_TEXT(struct context, name, "name", .flags = WIRE_REQUIRED, .min = 1),
    WIRE_F_TEXT(struct context, url, "url", .flags = WIRE_REQUIRED, .min = 1),
    WIRE_F_TEXT(struct context, token, "token", .flags = WIRE_SECRET | WIRE_OMIT),
    WIRE_F_TEXT(struct context, token_file, "token_file", .flags = WIRE_OMIT),
    WIRE_F_TEXT(struct context, ca_sha256, "ca_sha256", .flags = WIRE_OMIT),
};
static const struct wire_table context_table =
    WIRE_TABLE("context", struct context, context_fields);
static const struct wire_field contexts_fields[] = {
    WIRE_F_TEXT(struct contexts, current, "current", .flags = WIRE_OMIT),
    WIRE_F_ARRAY(struct contexts, contexts, n_contexts, "contexts", &context_table),
};
static const struct wire_table contexts_table =
    WIRE_TABLE("configuration", struct contexts, contexts_fields);

static const char *env(const char *name)
{
    const char *v = getenv(name);
    return v && v[0] ? v : NULL;
}

static int read_file(const char *path, struct strbuf *out, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno == ENOENT ? ERR_NOT_FOUND : errno == EACCES ? ERR_DENIED : ERR_IO,
                       errno, "cannot read %s", path);
    char buf[4096];
    ssize_t n = 0;
    while ((n = read(fd, buf, sizeof(buf))) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) break;
        strbuf_put(out, str_n(buf, (size_t)n));
        if (out->full) break; /* it may have no end */
    }
    int problem = errno;
    close(fd);
    if (n < 0) return err_sys(err, ERR_IO, problem, "cannot read %s", path);
    if (out->full) return err_set(err, ERR_LIMIT, "%s is longer than %zu bytes", path, out->max);
    return 0;
}

/* One word that a header may hold. */
static bool is_token(struct str s)
{
    bool ok = s.n > 0 && s.n < CONTEXT_TOKEN_MAX;
    for (size_t i = 0; ok && i < s.n; i++) ok = s.p[i] > ' ' && s.p[i] < 0x7f;
    return ok;
}

int context_read_token(const char *path, char ret[CONTEXT_TOKEN_MAX], struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 4096);
    int rc = read_file(path, &b, err);
    if (rc < 0) {
        mem_zero_secret(b.p, b.n);
        return rc;
    }
    struct str line = strbuf_str(&b), rest = line;
    if (str_cut(&rest, '\n', &line)) line = str_trim(line);
    if (str_ends(line, STR("\r"))) line.n--;
    if (is_token(line)) text_set(ret, CONTEXT_TOKEN_MAX, line);
    else rc = err_set(err, ERR_INVALID, "%s does not hold a token: expected one word on its "
                      "first line", path);
    mem_zero_secret(b.p, b.n);
    return rc;
}

void context_path(char *ret, size_t cap)
{
    const char *own = env("ROTA_CONFIG"), *xdg = env("XDG_CONFIG_HOME"), *home = env("HOME");
    ret[0] = '\0';
    if (own) text_fmt(ret, cap, "%s", own);
    else if (xdg) text_fmt(ret, cap, "%s/rota/config.yaml", xdg);
    else if (home) text_fmt(ret, cap, "%s/.config/rota/config.yaml", home);
}

int context_read(const char *path, struct contexts *ret, struct err *err)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, FILE_MAX);
    struct err why = {0};
    int rc = path[0] ? read_file(path, &b, &why) : ERR_NOT_FOUND;
    if (rc == ERR_NOT_FOUND) return *ret = (struct contexts){0}, 0;
    if (rc == 0) rc = wire_parse_yaml(&contexts_table, strbuf_str(&b), path, ret, &why);
    if (b.p) mem_zero_secret(b.p, b.n);
    if (rc < 0 && err) *err = why;
    return rc;
}

static void put_line(struct strbuf *b, const char *lead, const char *key, const char *value)
{
    if (!value[0]) return;
    strbuf_fmt(b, "%s%s: ", lead, key);
    strbuf_json(b, str_of(value));
    strbuf_putc(b, '\n');
}

static void format(const struct contexts *c, struct strbuf *b)
{
    strbuf_puts(b, "# Written by `rota login`.\n");
    put_line(b, "", "current", c->current);
    strbuf_puts(b, c->n_contexts > 0 ? "contexts:\n" : "contexts: []\n");
    for (uint32_t i = 0; i < c->n_contexts; i++) {
        const struct context *x = &c->contexts[i];
        put_line(b, "  - ", "name", x->name);
        put_line(b, "    ", "url", x->url);
        put_line(b, "    ", "token", x->token);
        put_line(b, "    ", "token_file", x->token_file);
        put_line(b, "    ", "ca_sha256", x->ca_sha256);
    }
}

static int make_folder_of(const char *path, struct err *err)
{
    char folder[PATH_LEN];
    if (!TEXT_SET(folder, str_of(path)))
        return err_set(err, ERR_INVALID, "the path %.64s... is too long", path);
    for (char *p = strchr(folder + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (mkdir(folder, 0700) < 0 && errno != EEXIST)
            return err_sys(err, ERR_IO, errno, "cannot make the folder %s", folder);
        *p = '/';
    }
    return 0;
}

static int write_synced(int fd, struct str text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return -1;
        text = str_n(text.p + n, text.n - (size_t)n);
    }
    return fsync(fd);
}

int context_write(const char *path, const struct contexts *c, struct err *err)
{
    if (!path[0])
        return err_set(err, ERR_INVALID, "no place for the configuration: set HOME or ROTA_CONFIG");
    int rc = make_folder_of(path, err);
    if (rc < 0) return rc;
    char tmp[PATH_LEN + 16];
    text_fmt(tmp, sizeof(tmp), "%s.%d.tmp", path, (int)getpid());
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return err_sys(err, ERR_IO, errno, "cannot write %s", tmp);
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, FILE_MAX);
    format(c, &b);
    int problem = write_synced(fd, strbuf_str(&b)) < 0 ? errno : 0;
    close(fd);
    mem_zero_secret(b.p, b.n);
    if (!problem && rename(tmp, path) == 0) return 0;
    if (!problem) problem = errno;
    (void)unlink(tmp);
    return err_sys(err, ERR_IO, problem, "cannot write %s", path);
}

static int from_context(const char *name, struct context_target *t, struct err *err)
{
    char path[PATH_LEN];
    context_path(path, sizeof(path));
    AUTO_FREE struct contexts *c = mem_alloc(sizeof(*c));
    int rc = context_read(path, c, err);
    if (rc < 0) return rc;
    if (!name && c->current[0]) name = c->current;
    const struct context *x = NULL;
    for (uint32_t i = 0; name && i < c->n_contexts; i++)
        if (strcmp(c->contexts[i].name, name) == 0) x = &c->contexts[i];
    if (name && !x)
        rc = err_set(err, ERR_NOT_FOUND, "there is no context '%s' in %s: `rota login` makes one",
                     name, path);
    if (x) {
        TEXT_CLIP(t->url, str_of(x->url));
        TEXT_CLIP(t->ca_sha256, str_of(x->ca_sha256));
        TEXT_CLIP(t->token, str_of(x->token));
        text_fmt(t->from, sizeof(t->from), "context %s of %s", name, path);
        if (!x->token[0] && x->token_file[0]) rc = context_read_token(x->token_file, t->token, err);
    }
    mem_zero_secret(c, sizeof(*c));
    return rc;
}

static int from_environment(struct context_target *t, struct err *err)
{
    const char *url = env("ROTA_URL"), *token = env("ROTA_TOKEN"), *file = env("ROTA_TOKEN_FILE");
    if (url && !TEXT_SET(t->url, str_of(url)))
        return err_set(err, ERR_INVALID, "ROTA_URL is too long: at most %zu characters",
                       sizeof(t->url) - 1);
    if (url) TEXT_CLIP(t->from, STR("ROTA_URL"));
    if (token) {
        if (!is_token(str_of(token)))
            return err_set(err, ERR_INVALID, "ROTA_TOKEN does not hold a token: expected one word");
        text_set(t->token, sizeof(t->token), str_of(token));
        return 0;
    }
    return file ? context_read_token(file, t->token, err) : 0;
}

int context_target(const char *context, struct context_target *ret, struct err *err)
{
    struct context_target t = {0};
    int rc = 0;
    if (context || !env("ROTA_URL")) rc = from_context(context, &t, err);
    if (rc == 0 && !context) rc = from_environment(&t, err);
    if (rc == 0 && !t.url[0]) {
        TEXT_CLIP(t.url, STR(CONTEXT_DEFAULT_URL));
        TEXT_CLIP(t.from, STR("the default: no context and no ROTA_URL"));
        /* Not being allowed to read it is no error yet: the manager will say 401. */
        if (!t.token[0]) (void)context_read_token(CONTEXT_DEFAULT_TOKEN_FILE, t.token, NULL);
    }
    if (rc == 0) *ret = t;
    mem_zero_secret(&t, sizeof(t));
    return rc;
}

void context_target_done(struct context_target *t) { mem_zero_secret(t, sizeof(*t)); }
