/* cli/main.c - finds the verb, or says which one was probably meant. */
#include "cli/main.h"

#include <stdlib.h>

#include "cli/say.h"
#include "cli/verb.h"
#include "net/loop.h"

const struct verb verb_table[] = {
    {"run", "run a command in a container and stay with it", verb_run, false},
    {"ps", "list sessions", verb_ps, false},
    {"show", "everything about one session", verb_show, false},
    {"why", "why a session is where it is", verb_why, false},
    {"queue", "what waits, in order, and for what", verb_queue, false},
    {"top", "what running sessions use, drawn anew each two seconds", verb_top, false},
    {"usage", "what the containers of a session use", verb_usage, false},
    {"logs", "output of a session", verb_logs, false},
    {"exec", "run a command inside a running session", verb_exec, false},
    {"port-forward", "reach a port that a session listens on", verb_port_forward, false},
    {"cp", "copy files and folders into or out of a running session", verb_cp, false},
    {"stop", "end sessions", verb_stop, false},
    {"update", "change priority or time limit of a session", verb_update, false},
    {"hold", "keep waiting sessions from starting", verb_hold, false},
    {"requeue", "stop sessions and let them wait again", verb_requeue, false},
    {"release", "let held sessions take their turn", verb_release, false},
    {"signal", "send a signal to a running session", verb_signal, false},
    {"history", "what happened to a session", verb_history, false},
    {"node", "list, show, cordon, uncordon, forget machines", verb_node, false},
    {"group", "list, show and set groups of machines", verb_group, false},
    {"quota", "limits and what is used of them", verb_quota, false},
    {"admin", "users, projects, domains and tokens", verb_admin, false},
    {"whoami", "whose token this is", verb_whoami, false},
    {"reserve", "keep devices for somebody in a window of time", verb_reserve, false},
    {"login", "store an address and a token as a context", verb_login, false},
    {"version", "version of this program and of the manager", verb_version, false},
    {"help", "this text, or that of a verb", verb_help, false},
    {NULL, NULL, NULL, false},
};

/* Verbs of the program around us, which need layers that we do not. */
static const struct verb *beside;

static const struct verb *find_in(const struct verb *table, const char *name)
{
    for (const struct verb *v = table; v && v->name; v++)
        if (strcmp(v->name, name) == 0) return v;
    return NULL;
}

static const struct verb *find(const char *name)
{
    const struct verb *v = find_in(verb_table, name);
    return v ? v : find_in(beside, name);
}

static void list_verbs(struct strbuf *b, const struct verb *table)
{
    for (const struct verb *v = table; v && v->name; v++)
        if (!v->hidden) strbuf_fmt(b, "  %-12s %s\n", v->name, v->summary);
}

static void usage(struct strbuf *b)
{
    strbuf_puts(b, "Usage: rota VERB [OPTION...] [ARG...]\n\n"
                   "Rota shares a team's machines and can always say why something waits.\n\n");
    list_verbs(b, verb_table);
    list_verbs(b, beside);
    strbuf_puts(b, "\nExamples:\n"
                   "  rota run --cpus 2 -i python3 - < train.py  # output and exit code come here\n"
                   "  rota run -d --gpus 1 --name night /opt/lab/night.sh\n"
                   "  rota why night                             # why it waits, with the numbers\n"
                   "  rota logs -f night\n\n"
                   "`rota VERB --help` says more.  Which cluster: ROTA_URL with ROTA_TOKEN or\n"
                   "ROTA_TOKEN_FILE, else the context of `rota login`, else the development\n"
                   "cluster of this machine.\n");
}

static int unknown(const char *name)
{
    const char *known[32];
    size_t n = 0;
    for (const struct verb *v = verb_table; v->name && n < ARRAY_LEN(known) - 1; v++)
        known[n++] = v->name;
    for (const struct verb *v = beside; v && v->name && n < ARRAY_LEN(known) - 1; v++)
        known[n++] = v->name;
    known[n] = NULL;
    const char *near = verb_nearest(name, known);
    if (near) say("there is no verb '%s': did you mean `rota %s`?", name, near);
    else say("there is no verb '%s': `rota help` lists them", name);
    return EXIT_USAGE;
}

static int run_verb(const struct verb *v, int argc, char **argv)
{
    char name[64];
    text_fmt(name, sizeof(name), "rota %s", v->name);
    argv[0] = name; /* usage and error texts show it */
    return v->run(argc, argv);
}

int verb_help(int argc, char **argv)
{
    if (argc > 1 && argv[1][0] != '-') {
        const struct verb *v = find(argv[1]);
        if (!v) return unknown(argv[1]);
        char help[] = "--help", *args[] = {argv[0], help, NULL};
        if (v->run != verb_help) return run_verb(v, 2, args);
    }
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64 * 1024);
    usage(&b);
    say_out(strbuf_str(&b));
    return 0;
}

int cli_main(int argc, char **argv, const struct verb *more)
{
    beside = more;
    net_ignore_sigpipe();
    if (argc < 2) {
        AUTO_STRBUF struct strbuf b;
        strbuf_init(&b, 64 * 1024);
        usage(&b);
        (void)say_write_all(2, strbuf_str(&b));
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) name = "version";
    const struct verb *v = find(name);
    if (!v) return unknown(name);
    return run_verb(v, argc - 1, argv + 1);
}
