/* cli/device.c - see device.h. */
#include "cli/device.h"

#include "cli/args.h"
#include "cli/say.h"
#include "wire/objects.h"

struct device_args {
    struct names_args names; /* node, device, order */
    const char *reason;
};

static const struct argp_option device_options[] = {
    {"reason", 'r', "TEXT", 0, "Why, for whoever looks at the node", 1}, {0}};
static const char device_doc[] =
    "Give a GPU of a node to sessions again, or take it out.  It is named by its index on the node "
    "or its UUID; the node does it with its next beat.  Who holds it keeps it; a GPU that is gone "
    "is forgotten when it is returned.\v"
    "Examples:\n  rota admin device n1 3 quarantine --reason 'fan is loud'\n"
    "  rota admin device n1 GPU-8f2c9b1a return";

static error_t parse_device(int key, char *arg, struct argp_state *state)
{
    struct device_args *a = state->input;
    if (key == ARGP_KEY_INIT) state->child_inputs[0] = &a->names;
    else if (key == 'r') a->reason = arg;
    else return ARGP_ERR_UNKNOWN;
    return 0;
}

static const struct argp device_argp = {device_options, parse_device,
                                        "NODE DEVICE return|quarantine", device_doc, args_plain, 0,
                                        0};

int device_order(int argc, char **argv)
{
    struct device_args a = {.names = {.least = 3, .most = 3, .what = "argument"}};
    struct device_request rq;
    struct err err = {0};
    int32_t order = 0;
    verb_parse(&device_argp, argc, argv, EXIT_USAGE, &a);
    wire_init(&wire_device_request, &rq);
    const char *device = a.names.names[1], *what = a.names.names[2];
    bool known = wire_name_find(names_device_order, str_of(what), &order) && order != 0;
    if (!known) err_set(&err, ERR_INVALID, "expected return or quarantine, got \"%.40s\"", what);
    else if (!TEXT_SET(rq.device, str_of(device)))
        err_set(&err, ERR_INVALID, "%.20s... is no device: expected an index or a UUID", device);
    else if (!TEXT_SET(rq.why, str_of(a.reason ? a.reason : "")))
        err_set(&err, ERR_INVALID, "--reason: expected at most %zu bytes", sizeof(rq.why) - 1);
    if (err.code != 0) return say_err(&err, EXIT_USAGE);
    rq.order = (enum device_order)order;
    AUTO_STRBUF struct strbuf body;
    strbuf_init(&body, 1024);
    wire_print(&wire_device_request, &rq, &body);
    a.names.n = 1;
    return args_post_each(&a.names, "nodes", "/device", body.p,
                          order == DEVICE_ORDER_RETURN ? "told to return it" :
                                                         "told to quarantine it");
}
