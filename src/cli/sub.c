/* cli/sub.c - see sub.h. */
#include "cli/sub.h"

#include <stdlib.h>

#include "cli/say.h"
#include "cli/verb.h"

int sub_run(const struct sub *subs, const char *verb, int argc, char **argv)
{
    const char *known[16];
    size_t n = 0;
    char name[64];
    bool help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    for (const struct sub *s = subs; s->name; s++) {
        known[n++] = s->name;
        if (argc < 2 || strcmp(argv[1], s->name) != 0) continue;
        text_fmt(name, sizeof(name), "rota %s %s", verb, s->name);
        argv[1] = name;
        return s->run(argc - 1, argv + 1);
    }
    known[n] = NULL;
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 8192);
    strbuf_fmt(&b, "Usage: rota %s VERB [ARG...]\n\n", verb);
    for (const struct sub *s = subs; s->name; s++)
        strbuf_fmt(&b, "  %-9s %s\n", s->name, s->summary);
    strbuf_fmt(&b, "\n`rota %s VERB --help` says more.\n", verb);
    if (help) return say_out(strbuf_str(&b)), 0;
    const char *near = argc > 1 ? verb_nearest(argv[1], known) : NULL;
    if (near) say("there is no verb '%s %s': did you mean `rota %s %s`?", verb, argv[1], verb,
                  near);
    else if (argc > 1) say("there is no verb '%s %s': `rota %s --help` lists them", verb, argv[1],
                           verb);
    else (void)say_write_all(2, strbuf_str(&b));
    return EXIT_USAGE;
}
