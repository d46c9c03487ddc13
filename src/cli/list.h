/* cli/list.h - a list or one object of the API, printed in the form that was asked for. */
#ifndef CLI_LIST_H
#define CLI_LIST_H
#include "cli/table.h"
#include "cli/verb.h"

struct list_look {
    const struct wire_table *list, *item;
    const struct table_column *columns;
    void (*row)(struct table *t, const void *item);
    uint32_t name_at;  /* offset of the text in an item that `-o name` prints */
    const char *empty; /* said instead of a table without rows, or NULL */
};

/* Opens the API, asks, prints and closes; the exit code. */
int list_run(struct common *c, const char *target, const struct list_look *look);

struct list_one_look {
    const struct wire_table *object;
    void (*text)(const void *object, struct strbuf *b);
    uint32_t name_at;
};
int list_one_run(struct common *c, const char *target, const struct list_one_look *look);

void list_print_table(const struct common *c, const struct table *t);

#endif
