/* base/notify.h - tells the service manager that started us how we are.
 *
 * The protocol of sd_notify(3): lines to the datagram socket that NOTIFY_SOCKET
 * names, a path or "@" and an abstract name.  Without it nothing is said, and that
 * is no error. */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H
#include <stdint.h>
#include "base/err.h"

/* "READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...".  ERR_IO when it was to be said
 * and could not. */
int notify_say(const char *lines, struct err *err);
/* How often WATCHDOG=1 is to be said: half of what WATCHDOG_USEC allows.  0: never. */
int64_t notify_watchdog_ms(void);

#endif
