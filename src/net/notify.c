/* net/notify.c - a program's word to the service manager that started it. */
#include "net/notify.h"
#include "base/mem.h"
#include "base/notify.h"
#include "net/log.h"

struct net_notify { struct net_timer *watchdog; };

static void say(const char *lines)
{
    struct err err = {0};
    if (notify_say(lines, &err) < 0) log_event(LOG_WARN, "notify", LOG_ERR(&err));
}

static void on_watchdog(void *arg)
{
    (void)arg;
    say("WATCHDOG=1");
}

struct net_notify *net_notify_new(struct net_loop *l)
{
    struct net_notify *n = mem_alloc(sizeof(*n));
    int64_t every_ms = notify_watchdog_ms();
    n->watchdog = net_timer_new(l, on_watchdog, n);
    say("READY=1");
    if (every_ms > 0) net_timer_set(n->watchdog, every_ms, every_ms);
    return n;
}

void net_notify_free(struct net_notify *n)
{
    if (n == NULL) return;
    say("STOPPING=1");
    net_timer_free(n->watchdog);
    mem_free(n);
}
