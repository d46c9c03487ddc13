/* net/notify.h - a program's word to the service manager that started it: ready, alive,
 * stopping.  Nothing is said where none asked for it (base/notify.h). */
#ifndef NET_NOTIFY_H
#define NET_NOTIFY_H
#include "net/loop.h"

struct net_notify;

/* Says that the program is ready, and from then on, as long as the loop turns, that it
 * lives, as often as was asked for. */
struct net_notify *net_notify_new(struct net_loop *l);
/* Says that it is about to end.  NULL is fine. */
void net_notify_free(struct net_notify *n);

#endif
