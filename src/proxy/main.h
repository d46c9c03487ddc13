/* proxy/main.h - the proxy as a program. */
#ifndef PROXY_MAIN_H
#define PROXY_MAIN_H

/* argv[0] is what messages begin with.  Returns the exit code: 0 after SIGTERM or
 * SIGINT, 2 for wrong flags, 1 for anything else. */
int proxy_main(int argc, char **argv);

#endif
