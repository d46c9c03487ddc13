/* core/nodeplan/device.h - the words for the state of a device. */
#ifndef CORE_NODEPLAN_DEVICE_H
#define CORE_NODEPLAN_DEVICE_H

/* What a device's agent says of it; only a healthy one is given.  docs/spec/node.md */
enum device_health {
    DEVICE_UNREADABLE = 0, /* nobody could look: neither gone nor healthy */
    DEVICE_HEALTHY,
    DEVICE_SUSPECT,        /* something is wrong, nothing known to be dangerous */
    DEVICE_QUARANTINED,    /* out until a reset, an operator or a passed test */
    DEVICE_RECOVERING,     /* to be reset once nobody holds it */
    DEVICE_GONE,           /* the machine no longer has it; its index stays its own */
    DEVICE_HEALTHS
};
const char *device_health_name(enum device_health h); /* "healthy", ... */

/* What an operator may say of it. */
enum device_order { DEVICE_ORDER_NONE = 0, DEVICE_ORDER_RETURN, DEVICE_ORDER_QUARANTINE,
                    DEVICE_ORDERS };
const char *device_order_name(enum device_order o); /* "return", ... */

#endif
