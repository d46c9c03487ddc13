/* What the tests of the probe share: a real probe process, a scenario, trees of files. */
#ifndef TEST_PROBE_TEST_H
#define TEST_PROBE_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

#include "base/check.h"
#include "wire/probe.h"

enum { CEILING_MS = 60000 }; /* nothing takes that long but a machine in trouble */

/* A directory of its own for one case, with empty proc, sys and dev in it. */
struct place { char dir[64]; };
void place_make(struct place *p);
void place_remove(struct place *p);
const char *place_path(const struct place *p, const char *name); /* valid until the next four */
/* A file with its directories; replaced as a whole. */
void place_write(const struct place *p, const char *name, const char *text);
void place_append(const struct place *p, const char *name, const char *text);
void place_link(const struct place *p, const char *name, const char *target);
void place_node(const struct place *p, const char *name, unsigned major, unsigned minor);
void place_scenario(const struct place *p, const char *text);

struct child {
    pid_t pid;
    int out;            /* its standard output */
    char *buf;
    size_t n;
};
/* extra: further flags, ends with NULL, or NULL.  The scenario is PLACE/scenario. */
void child_start(struct child *c, const struct place *p, const char *const *extra);
/* The next report; fails the test when none comes.  The caller frees it. */
void child_report(struct child *c, struct probe_report *ret);
/* Reports until one for which `is` holds; that one is returned. */
void child_until(struct child *c, bool (*is)(const struct probe_report *r, void *arg), void *arg,
                 struct probe_report *ret);
/* Kills when it still runs; its wait status. */
int child_stop(struct child *c);
int child_wait(struct child *c); /* for its own end */

/* `rotad probe --once`: its report and its exit code. */
int once(const struct place *p, const char *const *extra, struct probe_report *ret);
/* The same, from a scenario and without anything else of this machine. */
int once_of(const char *scenario, struct probe_report *ret);
void report_free(struct probe_report *r);

#endif
