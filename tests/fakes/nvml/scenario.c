/* fakes/nvml/scenario.c - lines into a world.  Each verb is one function. */
#include "fake.h"

#include <string.h>

#include "base/fmt.h"
#include "base/mem.h"

struct words { struct str v[16]; uint32_t n; };

static int bad(struct err *err, const char *what, struct str got)
{
    err_set(err, ERR_INVALID, "%s, not '%.*s'", what, (int)(got.n < 60 ? got.n : 60),
            got.n ? got.p : "");
    return ERR_INVALID;
}

static int number(struct str s, uint64_t max, const char *what, uint64_t *ret, struct err *err)
{
    uint64_t v;
    if (!str_to_u64(s, &v) || v > max) return bad(err, what, s);
    *ret = v;
    return 0;
}

static int gpu(struct fake *f, const struct words *w, uint32_t at, struct fake_gpu **ret,
               struct err *err)
{
    uint64_t v;
    if (f->n_gpus == 0) return bad(err, "`gpus` must come first", w->v[0]);
    if (number(w->v[at], f->n_gpus - 1, "a GPU's index is wanted", &v, err)) return ERR_INVALID;
    *ret = &f->gpu[v];
    return 0;
}

static int word(char *dst, struct str s, struct err *err)
{
    return text_set(dst, FAKE_WORD, s) ? 0 : bad(err, "a shorter word is wanted", s);
}

/* gpus N MODEL... MEM */
static int do_gpus(struct fake *f, const struct words *w, struct err *err)
{
    uint64_t n;
    int64_t mem;
    char model[FAKE_WORD];
    struct str first = w->v[2], last = w->v[w->n - 2];
    if (number(w->v[1], FAKE_GPUS, "how many GPUs is wanted, at most 32", &n, err))
        return ERR_INVALID;
    if (!fmt_parse_bytes(w->v[w->n - 1], &mem))
        return bad(err, "their memory is wanted, as in 80G", w->v[w->n - 1]);
    if (word(model, str_n(first.p, (size_t)(last.p + last.n - first.p)), err)) return ERR_INVALID;
    if (f->n_gpus) return err_set(err, ERR_INVALID, "`gpus` stands there twice");
    f->n_gpus = (uint32_t)n;
    for (uint32_t i = 0; i < n; i++) {
        struct fake_gpu *g = &f->gpu[i];
        *g = (struct fake_gpu){.mem = (uint64_t)mem, .power_mw = 70000, .temperature = 40,
                               .minor = i, .has_ecc = true};
        TEXT_CLIP(g->model, str_of(model));
        text_fmt(g->uuid, sizeof(g->uuid), "GPU-%08x-fa4e-4000-8000-000000000000", i);
        text_fmt(g->pci, sizeof(g->pci), "0000:%02X:00.0", 0x10 + i);
    }
    return 0;
}

static int add_links(struct fake_gpu *g, int32_t peer, uint64_t n, struct err *err)
{
    if (g->n_links + n > FAKE_LINKS)
        return err_set(err, ERR_INVALID, "a GPU has at most %d links", FAKE_LINKS);
    while (n-- > 0) g->peer[g->n_links++] = peer;
    return 0;
}

/* link A B N, link A switch N */
static int do_link(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *a, *b;
    uint64_t n;
    if (gpu(f, w, 1, &a, err)) return ERR_INVALID;
    if (number(w->v[3], FAKE_LINKS, "how many links is wanted", &n, err)) return ERR_INVALID;
    if (str_eq(w->v[2], STR("switch"))) return add_links(a, FAKE_SWITCH, n, err);
    if (gpu(f, w, 2, &b, err)) return ERR_INVALID;
    if (a == b) return err_set(err, ERR_INVALID, "two different GPUs are wanted");
    if (add_links(a, (int32_t)(b - f->gpu), n, err)) return ERR_INVALID;
    return add_links(b, (int32_t)(a - f->gpu), n, err);
}

/* near A B internal|single|multiple|host|node|system */
static int do_near(struct fake *f, const struct words *w, struct err *err)
{
    static const struct { const char *name; uint8_t level; } levels[] = {
        {"single", 10}, {"multiple", 20}, {"host", 30}, {"node", 40}, {"system", 50},
    };
    struct fake_gpu *a, *b;
    if (gpu(f, w, 1, &a, err) || gpu(f, w, 2, &b, err)) return ERR_INVALID;
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        if (!str_eq(w->v[3], str_of(levels[i].name))) continue;
        f->ancestor[a - f->gpu][b - f->gpu] = f->ancestor[b - f->gpu][a - f->gpu] = levels[i].level;
        return 0;
    }
    return bad(err, "single, multiple, host, node or system is wanted", w->v[3]);
}

static int do_mig(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    g->mig = str_eq(w->v[2], STR("on"));
    return g->mig || str_eq(w->v[2], STR("off")) ? 0 : bad(err, "on or off is wanted", w->v[2]);
}

static int do_xid(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    uint64_t code;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    if (number(w->v[2], 9999, "an Xid is wanted, as in `xid 0 79`", &code, err)) return ERR_INVALID;
    if (f->n_xids == FAKE_XIDS) return err_set(err, ERR_INVALID, "too many Xids");
    f->xid[f->n_xids++] = (struct fake_xid){(uint32_t)(g - f->gpu), (uint32_t)code};
    return 0;
}

#define FLAG(name, member) \
    static int do_##name(struct fake *f, const struct words *w, struct err *err) \
    { \
        struct fake_gpu *g; \
        if (gpu(f, w, 1, &g, err)) return ERR_INVALID; \
        g->member = true; \
        return 0; \
    }
FLAG(lost, lost)
FLAG(gone, gone)
FLAG(retired, retired)

/* back GPU: neither lost nor gone any more, and reset */
static int do_back(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    g->lost = g->gone = g->retired = g->remap = g->remap_failed = false;
    g->ecc = g->recovery = 0;
    return 0;
}

static int do_remap(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    g->remap = w->n == 2;
    g->remap_failed = w->n == 3;
    if (w->n == 2 || str_eq(w->v[2], STR("failed"))) return 0;
    return bad(err, "`failed` is wanted", w->v[2]);
}

/* ecc GPU N, ecc GPU off */
static int do_ecc(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    g->has_ecc = !str_eq(w->v[2], STR("off"));
    return g->has_ecc ? number(w->v[2], INT64_MAX, "a count of errors is wanted", &g->ecc, err) : 0;
}

#define NUMBER(name, most, member, what) \
    static int do_##name(struct fake *f, const struct words *w, struct err *err) \
    { \
        struct fake_gpu *g; \
        uint64_t v; \
        if (gpu(f, w, 1, &g, err)) return ERR_INVALID; \
        if (number(w->v[2], most, what, &v, err)) return ERR_INVALID; \
        g->member = (uint32_t)v; \
        return 0; \
    }
NUMBER(recovery, UINT32_MAX, recovery, "a recovery action is wanted: 0 to 5")
NUMBER(power, UINT32_MAX, power_mw, "milliwatts are wanted")
NUMBER(temp, UINT32_MAX, temperature, "a temperature is wanted")
NUMBER(minor, 255, minor, "a minor number is wanted")

static int do_fabric(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    uint64_t v;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    if (number(w->v[2], UINT32_MAX, "a clique's number is wanted", &v, err)) return ERR_INVALID;
    g->has_fabric = true;
    g->clique = (uint32_t)v;
    return 0;
}

static int do_numa(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    uint64_t v;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    if (number(w->v[2], 7, "a NUMA node is wanted, 0 to 7", &v, err)) return ERR_INVALID;
    g->has_numa = true;
    g->numa = (uint32_t)v;
    return 0;
}

static int do_util(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    uint64_t sm, mem;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    if (number(w->v[2], UINT32_MAX, "the multiprocessors' percent is wanted", &sm, err) ||
        number(w->v[3], UINT32_MAX, "the memory's percent is wanted", &mem, err))
        return ERR_INVALID;
    g->sm = (uint32_t)sm;
    g->mem_use = (uint32_t)mem;
    return 0;
}

/* process GPU PID MEM */
static int do_process(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    uint64_t pid;
    int64_t mem;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    if (number(w->v[2], UINT32_MAX, "a pid is wanted", &pid, err)) return ERR_INVALID;
    if (!fmt_parse_bytes(w->v[3], &mem)) return bad(err, "its memory is wanted, as in 2G", w->v[3]);
    if (f->n_processes == FAKE_PROCESSES) return err_set(err, ERR_INVALID, "too many processes");
    f->process[f->n_processes++] = (struct fake_process){
        .pid = (uint32_t)pid, .gpu = (uint32_t)(g - f->gpu), .mem = (uint64_t)mem};
    return 0;
}

static int rule(struct fake *f, const struct words *w, bool hang, struct err *err)
{
    struct fake_rule r = {.gpu = -1};
    uint32_t *n = hang ? &f->n_hang : &f->n_fail, at_gpu = hang ? 2 : 3;
    uint64_t code = 0;
    if (*n == FAKE_RULES) return err_set(err, ERR_INVALID, "too many rules");
    if (word(r.call, w->v[1], err)) return ERR_INVALID;
    if (!hang && number(w->v[2], 9999, "the library's code is wanted, as in 999", &code, err))
        return ERR_INVALID;
    r.code = (int32_t)code;
    if (w->n > at_gpu) {
        struct fake_gpu *g;
        if (gpu(f, w, at_gpu, &g, err)) return ERR_INVALID;
        r.gpu = (int32_t)(g - f->gpu);
    }
    (hang ? f->hang : f->fail)[(*n)++] = r;
    return 0;
}

/* hang CALL [GPU], fail CALL CODE [GPU]; CALL may be `all` */
static int do_hang(struct fake *f, const struct words *w, struct err *err)
{
    return rule(f, w, true, err);
}
static int do_fail(struct fake *f, const struct words *w, struct err *err)
{
    return rule(f, w, false, err);
}

static int do_missing(struct fake *f, const struct words *w, struct err *err)
{
    if (f->n_missing == FAKE_RULES) return err_set(err, ERR_INVALID, "too many are missing");
    return word(f->missing[f->n_missing++], w->v[1], err);
}

static int do_stride(struct fake *f, const struct words *w, struct err *err)
{
    uint64_t v;
    int rc = number(w->v[1], 48, "16, 24, 32, 40 or 48 is wanted", &v, err);
    if (rc == 0 && (v < 16 || v % 8)) return bad(err, "16, 24, 32, 40 or 48 is wanted", w->v[1]);
    if (rc == 0) f->stride = (uint32_t)v;
    return rc;
}

static int do_uuid(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    return gpu(f, w, 1, &g, err) ? ERR_INVALID : word(g->uuid, w->v[2], err);
}

static int do_pci(struct fake *f, const struct words *w, struct err *err)
{
    struct fake_gpu *g;
    if (gpu(f, w, 1, &g, err)) return ERR_INVALID;
    return TEXT_SET(g->pci, w->v[2]) ? 0 : bad(err, "an address is wanted: 0000:3B:00.0", w->v[2]);
}

static int do_mismatch(struct fake *f, const struct words *w, struct err *err)
{
    (void)w;
    (void)err;
    f->mismatch = true;
    return 0;
}

static int do_driver(struct fake *f, const struct words *w, struct err *err)
{
    return word(f->driver, w->v[1], err);
}

static const struct verb {
    const char *name, *usage;
    uint32_t min, max; /* words, the verb among them */
    int (*run)(struct fake *f, const struct words *w, struct err *err);
} verbs[] = {
    {"gpus", "gpus N MODEL MEMORY", 4, 12, do_gpus},
    {"link", "link GPU GPU|switch N", 4, 4, do_link},
    {"near", "near GPU GPU LEVEL", 4, 4, do_near},
    {"mig", "mig GPU on|off", 3, 3, do_mig},
    {"xid", "xid GPU CODE", 3, 3, do_xid},
    {"lost", "lost GPU", 2, 2, do_lost},
    {"gone", "gone GPU", 2, 2, do_gone},
    {"back", "back GPU", 2, 2, do_back},
    {"hang", "hang CALL [GPU]", 2, 3, do_hang},
    {"fail", "fail CALL CODE [GPU]", 3, 4, do_fail},
    {"mismatch", "mismatch", 1, 1, do_mismatch},
    {"ecc", "ecc GPU N|off", 3, 3, do_ecc},
    {"retired", "retired GPU", 2, 2, do_retired},
    {"remap", "remap GPU [failed]", 2, 3, do_remap},
    {"recovery", "recovery GPU ACTION", 3, 3, do_recovery},
    {"process", "process GPU PID MEMORY", 4, 4, do_process},
    {"util", "util GPU SM MEMORY", 4, 4, do_util},
    {"power", "power GPU MILLIWATTS", 3, 3, do_power},
    {"temp", "temp GPU CELSIUS", 3, 3, do_temp},
    {"missing", "missing SYMBOL", 2, 2, do_missing},
    {"stride", "stride BYTES", 2, 2, do_stride},
    {"numa", "numa GPU NODE", 3, 3, do_numa},
    {"fabric", "fabric GPU CLIQUE", 3, 3, do_fabric},
    {"uuid", "uuid GPU TEXT", 3, 3, do_uuid},
    {"pci", "pci GPU ADDRESS", 3, 3, do_pci},
    {"minor", "minor GPU N", 3, 3, do_minor},
    {"driver", "driver VERSION", 2, 2, do_driver},
};

static int split(struct str line, struct words *ret, struct err *err)
{
    ret->n = 0;
    while (line.n > 0) {
        struct str one;
        (void)str_cut(&line, ' ', &one);
        one = str_trim(one);
        if (one.n == 0) continue;
        if (one.p[0] == '#') break;
        if (ret->n == ARRAY_LEN(ret->v)) return err_set(err, ERR_INVALID, "too many words");
        ret->v[ret->n++] = one;
    }
    return 0;
}

/* What is not due yet is judged all the same, on a copy. */
static int run_line(struct fake *f, struct str line, int64_t now_ms, struct err *err)
{
    AUTO_FREE struct fake *later = NULL;
    struct words w;
    int rc = split(line, &w, err);
    if (rc || w.n == 0) return rc;
    if (str_eq(w.v[0], STR("at"))) {
        uint64_t at;
        if (w.n < 3) return err_set(err, ERR_INVALID, "expected: at MILLISECONDS VERB ...");
        if (number(w.v[1], INT64_MAX, "milliseconds since the start are wanted", &at, err))
            return ERR_INVALID;
        w.n -= 2;
        memmove(w.v, w.v + 2, w.n * sizeof(w.v[0]));
        if (now_ms < (int64_t)at) {
            later = mem_alloc(sizeof(*later));
            *later = *f;
            f = later;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (!str_eq(w.v[0], str_of(verbs[i].name))) continue;
        if (w.n < verbs[i].min || w.n > verbs[i].max)
            return err_set(err, ERR_INVALID, "expected: %s", verbs[i].usage);
        return verbs[i].run(f, &w, err);
    }
    return bad(err, "a verb of docs/development.md is wanted", w.v[0]);
}

int fake_parse(struct str text, int64_t now_ms, struct fake *ret, struct err *err)
{
    AUTO_FREE struct fake *f = mem_alloc(sizeof(*f));
    TEXT_CLIP(f->driver, STR("550.54.15"));
    for (uint32_t line_no = 1; text.n > 0; line_no++) {
        struct str line;
        (void)str_cut(&text, '\n', &line);
        int rc = run_line(f, line, now_ms, err);
        if (rc) {
            err_prefix(err, "line %u", line_no);
            return rc;
        }
    }
    *ret = *f;
    return 0;
}
