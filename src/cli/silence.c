/* cli/silence.c - what an operator says about machines that are silent. */
#include "cli/cluster.h"
#include "cli/args.h"
#include "cli/say.h"
#include "cli/sub.h"

static const char accept_doc[] =
    "Say that all machines that are silent now are down.  When half of them or more fall silent at "
    "once, it may be the manager that is cut off; then nothing of theirs is run again elsewhere "
    "until they return, or until this is said.\v"
    "Examples:\n  rota admin silence accept";
static const struct argp accept_argp = {NULL, args_pass_input, "", accept_doc, args_plain, 0, 0};

static int silence_accept(int argc, char **argv)
{
    struct names_args a = {.what = "argument"};
    verb_parse(&accept_argp, argc, argv, EXIT_USAGE, &a);
    if (!verb_open(&a.common)) return EXIT_FAILED;
    AUTO_STRBUF struct strbuf answer, line;
    strbuf_init(&answer, 4096);
    strbuf_init(&line, 256);
    struct api_request rq = {.method = "POST", .target = "/api/v1/admin/silence",
                             .body = STR("{}")};
    struct silence_answer v;
    struct err err = {0};
    int rc = api_call(a.common.api, &rq, &answer, NULL, &err);
    if (rc == 0) rc = api_parse(&wire_silence_answer, strbuf_str(&answer), &v, &err);
    verb_close(&a.common);
    if (rc != 0) return say_err(&err, EXIT_FAILED);
    strbuf_fmt(&line, "%u silent machine%s taken to be down\n", v.accepted,
               v.accepted == 1 ? " is" : "s are");
    say_out(strbuf_str(&line));
    return 0;
}

int cluster_silence(int argc, char **argv)
{
    static const struct sub subs[] = {
        {"accept", "they are down, however many", silence_accept},
        {NULL, NULL, NULL},
    };
    return sub_run(subs, "admin silence", argc, argv);
}
