/* cli/account.h - what listings of accounts have in common. */
#ifndef CLI_ACCOUNT_H
#define CLI_ACCOUNT_H
#include "cli/table.h"
#include "wire/accounts.h"

/* Five cells: cpu, memory, gpu, running, pending, as "2 / 8" or, without a limit, "2". */
void account_put_use(struct table *t, const struct limits_view *limits,
                     const struct usage_view *used);

int account_user(int argc, char **argv);    /* rota admin user ... */
int account_project(int argc, char **argv); /* rota admin project ... */
int account_domain(int argc, char **argv);  /* rota admin domain ... */
int account_token(int argc, char **argv);   /* rota admin token ... */

#endif
