/* programs/sim.c - finds what is to be simulated, or says what was probably meant. */
#include "programs/sim.h"

#include <stdlib.h>
#include "cli/say.h"
#include "sim/cases.h"
#include "wire/nearest.h"

static const struct sim_row {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} ROWS[] = {
    {"engine", "read a recorded answer of an engine by its profile", sim_engine},
    {"rotation-cases", "check a file of rotation cases against the deciders", sim_rotation_cases},
    {"queue", "what if, on an export of the live queue", sim_queue},
    {"swf", "run a batch log through the scheduler", sim_swf},
    {"rotation", "a fleet that rotates, beside other ways to use it", sim_rotation},
};
#define N_ROWS (sizeof(ROWS) / sizeof(*ROWS))

static int usage(int fd)
{
    AUTO_STRBUF struct strbuf b;
    strbuf_init(&b, 64 * 1024);
    strbuf_puts(&b, "Usage: rota sim WHAT [OPTION...] [FILE...]\n\n"
                    "Tries the scheduler's own code on recorded work.  Needs no cluster.\n\n");
    for (size_t i = 0; i < N_ROWS; i++) {
        strbuf_fmt(&b, "  %-15s %s\n", ROWS[i].name, ROWS[i].summary);
    }
    strbuf_puts(&b, "\n`rota sim WHAT --help` says more.\n");
    if (fd == 1) say_out(strbuf_str(&b));
    else (void)say_write_all(fd, strbuf_str(&b));
    return fd == 1 ? 0 : EXIT_USAGE;
}

static int unknown(const char *name)
{
    struct nearest near = nearest_to(str_of(name));
    for (size_t i = 0; i < N_ROWS; i++) nearest_offer(&near, ROWS[i].name);
    if (nearest_best(&near)) {
        say("there is no simulation '%s': did you mean `rota sim %s`?", name, nearest_best(&near));
    } else {
        say("there is no simulation '%s': `rota sim --help` lists them", name);
    }
    return EXIT_USAGE;
}

static bool asks_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int sim_main(int argc, char **argv)
{
    if (argc < 2) return usage(2);
    if (asks_help(argv[1])) return usage(1);
    for (size_t i = 0; i < N_ROWS; i++) {
        char name[64];
        if (strcmp(ROWS[i].name, argv[1]) != 0) continue;
        text_fmt(name, sizeof(name), "rota sim %s", ROWS[i].name);
        argv[1] = name; /* usage and error texts show it */
        return ROWS[i].run(argc - 1, argv + 1);
    }
    return unknown(argv[1]);
}

/* ---- rotation-cases ---- */

static const char CASES_USAGE[] =
    "Usage: rota sim rotation-cases FILE.csv\n\n"
    "Runs each row of FILE (- is the standard input, .gz is unpacked) against the code that\n"
    "decides rotations, prints each disagreement, and ends with \"N passed, N failed\".\n"
    "Ends with 0 when every row agrees.  docs/spec/rotation.md has the format.\n";

int sim_rotation_cases(int argc, char **argv)
{
    if (argc == 2 && asks_help(argv[1])) {
        say_out(str_of(CASES_USAGE));
        return 0;
    }
    if (argc != 2) {
        say("one file of cases is needed: %s FILE.csv", argv[0]);
        return EXIT_USAGE;
    }
    AUTO_STRBUF struct strbuf text, out;
    struct cases_result sum = {0};
    struct err err = {0};
    strbuf_init(&text, SIM_FILE_MAX);
    strbuf_init(&out, SIM_FILE_MAX);
    if (sim_read(argv[1], &text, &err) != 0) return say_err(&err, EXIT_FAILED);
    if (cases_run(strbuf_str(&text), &out, &sum, &err) != 0) return say_err(&err, EXIT_FAILED);
    strbuf_fmt(&out, "%u passed, %u failed\n", sum.passed, sum.failed);
    say_out(strbuf_str(&out));
    return sum.failed == 0 && sum.passed > 0 ? 0 : EXIT_FAILED;
}
