/* cli/input.h - standard input and the terminal's size, on their way into a container. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H
#include <stdbool.h>
#include "net/loop.h"
#include "wire/carry.h"
#include "base/str.h"

struct input;

/* False: stop until input_ready. */
typedef bool input_send(void *arg, enum carry_type type, struct str payload);

/* tty: the terminal becomes raw until input_free, keys go through as they are and
 * changes of size are sent.  Nothing is read before input_ready. */
/* fd: 0, or what stands for it. */
struct input *input_new(struct net_loop *l, int fd, bool tty, input_send *send, void *arg);
void input_ready(struct input *in);
void input_free(struct input *in); /* NULL is fine; gives the terminal back */

#endif
