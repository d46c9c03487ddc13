/* cli/sub.h - verbs of a verb: "rota node ls", "rota admin user add". */
#ifndef CLI_SUB_H
#define CLI_SUB_H

struct sub {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};

/* argv[0] is "rota VERB"; runs the row named by argv[1] with argv shifted, so that
 * argv[0] is "rota VERB NAME".  The table ends with name NULL. */
int sub_run(const struct sub *subs, const char *verb, int argc, char **argv);

#endif
