/* cli/verb.h - the verbs of `rota`, one table; and what they have in common.
 *
 * A verb gets its own argv (argv[0] is "rota VERB") and returns the exit code of
 * the process. */
#ifndef CLI_VERB_H
#define CLI_VERB_H
#include <argp.h>
#include <stdbool.h>
#include "cli/api.h"

enum output_format { OUTPUT_TABLE = 0, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML, OUTPUT_NAME };

struct verb {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
    bool hidden;
};
extern const struct verb verb_table[]; /* ends with name NULL */

int verb_run(int argc, char **argv);
int verb_ps(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_why(int argc, char **argv);
int verb_queue(int argc, char **argv);
int verb_logs(int argc, char **argv);
int verb_exec(int argc, char **argv);
int verb_port_forward(int argc, char **argv);
int verb_cp(int argc, char **argv);
int verb_stop(int argc, char **argv);
int verb_signal(int argc, char **argv);
int verb_update(int argc, char **argv);
int verb_hold(int argc, char **argv);
int verb_release(int argc, char **argv);
int verb_requeue(int argc, char **argv);
int verb_usage(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_history(int argc, char **argv);
int verb_node(int argc, char **argv);
int verb_group(int argc, char **argv);
int verb_reserve(int argc, char **argv);
int verb_admin(int argc, char **argv);
int verb_quota(int argc, char **argv);
int verb_whoami(int argc, char **argv);
int verb_login(int argc, char **argv);
int verb_version(int argc, char **argv);
int verb_help(int argc, char **argv);

/* The answer to a check, in words. */
void session_show_check(const struct why_view *w, struct strbuf *b);

/* ---- options that many verbs share ---- */
struct common {
    const char *context; /* --context */
    enum output_format output;
    struct net_loop *loop;
    struct api *api;
};
/* A child parser for --context and, where the verb prints objects, -o.  Its input is
 * the struct common; hook it up with verb_child. */
extern const struct argp verb_common_argp;  /* --context */
extern const struct argp verb_output_argp;  /* --context and -o */

/* Parses argv; a usage error ends the process with usage_exit.  *ret_first: index of
 * the first argument that is no option, when the parser stops there. */
void verb_parse(const struct argp *argp, int argc, char **argv, int usage_exit, void *input);
/* Opens loop and API; says why not and returns false. */
bool verb_open(struct common *c);
void verb_close(struct common *c);
/* The word among the known ones that was probably meant, or NULL. */
const char *verb_nearest(const char *word, const char *const *known);

/* Prints one object (`-o json|yaml`): the tables' own form. */
int verb_print(const struct common *c, const struct wire_table *table, const void *obj);
/* The same for a list: a JSON array of them. */
struct strbuf;
void verb_list_item(struct strbuf *b, const struct wire_table *table, const void *obj);
int verb_print_text(const struct common *c, struct str json);

#endif
