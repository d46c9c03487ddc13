/* programs/sim_rotation.c - `rota sim rotation`: a fleet of rotors against its alternatives.
 *
 * Every policy sees the same requests and the same runs, from the same seed. */
#include "programs/sim.h"

#include <getopt.h>
#include <stdlib.h>
#include "cli/say.h"
#include "sim/rotation.h"

#define HOUR_MS INT64_C(3600000)

static const char USAGE[] =
    "Usage: rota sim rotation [OPTION...]\n\n"
    "Simulates rotors that serve pools and train, decided by the code that decides on nodes,\n"
    "and says where every hour went, beside other ways to use the same machines.\n\n"
    "  --trace FILE    requests, as in the Azure LLM traces (TIMESTAMP,ContextTokens,\n"
    "                  GeneratedTokens; .gz is unpacked); without it a made-up hour\n"
    "  --days N        how long (14); the trace is tiled under a daily curve\n"
    "  --rotors N      how many (8)\n"
    "  --pools N       how many (4); the first is the most urgent\n"
    "  --keep N        how many pools, from the most urgent on, keep a rotor at all hours\n"
    "                  (half of them)\n"
    "  --seed N        another history (1)\n"
    "  --policy NAME   rota, box (one box per workload), eager (follows the demand of the\n"
    "                  second and stops runs for it), hasty (eager, but leaves runs alone),\n"
    "                  or all (the default)\n"
    "  --faults        with faults; rota alone\n"
    "  -o text|json    how the report is printed (text)\n"
    "  --log           each event of the fleet, on standard error; one policy alone\n\n"
    "Ends with 0 when no promise was broken and no request was lost by rota.\n"
    "docs/cli.md, \"rota sim rotation\"\n";

struct sim_args {
    const char *trace;
    struct rotation_options o;
    enum rotation_policy policies[ROTATION_POLICIES];
    uint32_t n;
    bool keeps, json, log, help;
};

static void log_line(const char *line)
{
    (void)say_write_all(2, str_of(line));
    (void)say_write_all(2, STR("\n"));
}

static bool parse_number(const char *option, const char *text, uint64_t most, uint64_t *ret)
{
    uint64_t v;
    if (str_to_u64(str_of(text), &v) && v >= 1 && v <= most) {
        *ret = v;
        return true;
    }
    say("%s: expected a number from 1 to %llu, got \"%s\"", option, (unsigned long long)most, text);
    return false;
}

static bool parse_keep(const char *text, uint32_t *ret)
{
    uint64_t v;
    if (strcmp(text, "0") == 0) *ret = 0;
    else if (parse_number("--keep", text, ROTATION_POOLS_MAX, &v)) *ret = (uint32_t)v;
    else return false;
    return true;
}

static bool parse_policy(const char *text, struct sim_args *a)
{
    a->n = 0;
    for (uint32_t i = 0; i < ROTATION_POLICIES; i++) {
        enum rotation_policy p = (enum rotation_policy)i;
        bool all = strcmp(text, "all") == 0;
        if (all || strcmp(text, rotation_policy_name(p)) == 0) a->policies[a->n++] = p;
    }
    if (a->n > 0) return true;
    say("--policy: expected rota, box, eager, hasty or all, got \"%s\"", text);
    return false;
}

static bool parse_output(const char *text, struct sim_args *a)
{
    a->json = strcmp(text, "json") == 0;
    if (a->json || strcmp(text, "text") == 0) return true;
    say("-o: expected text or json, got \"%s\"", text);
    return false;
}

static bool parse_one(int opt, struct sim_args *a)
{
    uint64_t v = 0;
    bool fine = true;
    switch (opt) {
    case 't': a->trace = optarg; break;
    case 'd':
        fine = parse_number("--days", optarg, ROTATION_DAYS_MAX, &v);
        a->o.span_ms = (int64_t)v * 24 * HOUR_MS;
        break;
    case 'r':
        fine = parse_number("--rotors", optarg, ROTATION_ROTORS_MAX, &v);
        a->o.rotors = (uint32_t)v;
        break;
    case 'p':
        fine = parse_number("--pools", optarg, ROTATION_POOLS_MAX, &v);
        a->o.pools = (uint32_t)v;
        break;
    case 'k':
        a->keeps = fine = parse_keep(optarg, &a->o.keep);
        break;
    case 's':
        fine = parse_number("--seed", optarg, UINT64_MAX, &v);
        a->o.seed = v;
        break;
    case 'y': return parse_policy(optarg, a);
    case 'f': a->o.faults = true; break;
    case 'o': return parse_output(optarg, a);
    case 'l': a->log = true; break;
    case 'h': a->help = true; break;
    default:
        say("`rota sim rotation --help` lists the options");
        return false;
    }
    return fine;
}

/* With fewer some pool would wait for ever, and the history would not end. */
static bool enough_rotors(const struct sim_args *a)
{
    if (a->o.keep > a->o.rotors) {
        say("--keep %u: more than the %u rotors that there are", a->o.keep, a->o.rotors);
        return false;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->policies[i] != ROTATION_BOX) continue;
        if (a->o.rotors >= a->o.pools && a->o.rotors >= 2) continue;
        say("--policy box needs 2 rotors, and one for each of %u pools, got %u: choose another "
            "policy", a->o.pools, a->o.rotors);
        return false;
    }
    return true;
}

static bool parse(int argc, char **argv, struct sim_args *a)
{
    static const struct option options[] = {
        {"trace", required_argument, NULL, 't'}, {"days", required_argument, NULL, 'd'},
        {"rotors", required_argument, NULL, 'r'}, {"pools", required_argument, NULL, 'p'},
        {"keep", required_argument, NULL, 'k'}, {"seed", required_argument, NULL, 's'},
        {"policy", required_argument, NULL, 'y'}, {"faults", no_argument, NULL, 'f'},
        {"output", required_argument, NULL, 'o'}, {"log", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'}, {0}};
    bool chosen = false;
    int opt;
    optind = 1;
    while ((opt = getopt_long(argc, argv, "o:h", options, NULL)) != -1) {
        if (!parse_one(opt, a)) return false;
        chosen = chosen || opt == 'y';
    }
    if (optind < argc) {
        say("what is \"%s\"? `rota sim rotation --help` lists the options", argv[optind]);
        return false;
    }
    if (!a->keeps) a->o.keep = a->o.pools / 2;
    if (!chosen && !parse_policy(a->o.faults ? "rota" : "all", a)) return false;
    if (a->o.faults && (a->n != 1 || a->policies[0] != ROTATION_ROTA)) {
        say("--faults: the others have no answer to faults; they go with --policy rota alone");
        return false;
    }
    if (!enough_rotors(a)) return false;
    if (a->log && a->n != 1) {
        say("--log: choose one --policy");
        return false;
    }
    return true;
}

static int read_trace(const struct sim_args *a, struct rotation_trace *trace)
{
    if (!a->trace) {
        rotation_trace_make(trace, 7);
        return 0;
    }
    AUTO_STRBUF struct strbuf text;
    struct err err = {0};
    strbuf_init(&text, SIM_FILE_MAX);
    int rc = sim_read(a->trace, &text, &err);
    if (rc == 0) {
        rc = rotation_trace_parse(strbuf_str(&text), trace, &err);
        if (rc != 0) err_prefix(&err, "%s", a->trace);
    }
    return rc == 0 ? 0 : say_err(&err, EXIT_FAILED);
}

/* Says what an oracle found; how many of the histories are not as promised. */
static uint32_t judge(const struct sim_args *a, const struct rotation_result *results)
{
    uint32_t bad = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct rotation_result *r = &results[i];
        bool promised = a->policies[i] == ROTATION_ROTA;
        if (!r->ok)
            say("%s broke a promise at %lld ms: %s", rotation_policy_name(a->policies[i]),
                (long long)r->at_ms, r->why);
        bad += !r->ok || (promised && r->lost > 0);
    }
    return bad;
}

int sim_rotation(int argc, char **argv)
{
    struct sim_args a = {.o = {.seed = 1, .span_ms = 14 * 24 * HOUR_MS, .rotors = 8, .pools = 4}};
    if (!parse(argc, argv, &a)) return EXIT_USAGE;
    if (a.help) {
        say_out(str_of(USAGE));
        return 0;
    }
    struct rotation_trace trace;
    int rc = read_trace(&a, &trace);
    if (rc != 0) return rc;
    struct rotation_result results[ROTATION_POLICIES];
    a.o.say = a.log ? log_line : NULL;
    for (uint32_t i = 0; i < a.n; i++) {
        a.o.policy = a.policies[i];
        rotation_run(&a.o, &trace, &results[i]);
    }
    AUTO_STRBUF struct strbuf out;
    strbuf_init(&out, 1 << 20);
    if (a.json) rotation_report_json(&out, &a.o, results, a.policies, a.n);
    else rotation_report_text(&out, &a.o, results, a.policies, a.n);
    say_out(strbuf_str(&out));
    rotation_trace_done(&trace);
    return judge(&a, results) == 0 ? 0 : EXIT_FAILED;
}
