/* load/client.h - a lean HTTP/1.1 client: many kept connections, one request under
 * way on each, everything prepared once, so that it takes little of the machine
 * that it measures. */
#ifndef BENCH_LOAD_CLIENT_H
#define BENCH_LOAD_CLIENT_H
#include <stdbool.h>
#include <stdint.h>
#include "base/str.h"

#define CLIENT_CONNS_MAX 1024u
#define CLIENT_ANSWER_MAX (64u * 1024)

struct client_conn {
    int fd;
    bool busy;
    char *in;            /* CLIENT_ANSWER_MAX */
    uint32_t in_n;
    int64_t sent_us;
};

struct client {
    int epoll;
    uint32_t n_conns, busy;
    struct client_conn *conns;
};

struct client_answer {
    int status;
    struct str body;     /* valid during the callback */
    int64_t took_us;
};

int64_t client_now_us(void);
/* Connects to 127.0.0.1:port; ends the program when that fails. */
void client_open(struct client *c, uint16_t port, uint32_t conns);
void client_close(struct client *c);
/* One request on a connection that is free. */
void client_send(struct client *c, struct client_conn *conn, struct str request);
/* Waits for answers and hands each over; its connection is free again by then.
 * False: nothing came for 30 s. */
bool client_wait(struct client *c,
                 void (*fn)(void *arg, struct client_conn *conn, const struct client_answer *a),
                 void *arg);

#endif
