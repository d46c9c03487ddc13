/* wire/shim.h - what a container's supervisor and the agent say to each other:
 * the messages on DIR/sock and the records of the log files.
 *
 * Both ends run on one machine, so numbers travel in its byte order; but the
 * ends may come from two versions of Rota, so a message only ever grows at its
 * end and readers ignore what they do not know.
 *
 * One SOCK_SEQPACKET message: one byte kind, then the payload.  Both ends are
 * root (SO_PEERCRED); whoever reads still checks every length.
 * docs/spec/node.md */
#ifndef WIRE_SHIM_H
#define WIRE_SHIM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHIM_PROTO 1
#define SHIM_MSG_MAX (16 * 1024 + 64) /* bytes of one message, kind included */
#define SHIM_DATA_MAX (16 * 1024)     /* payload of SHIM_INPUT, SHIM_OUT and SHIM_ERR */

/* Kinds; the letters are the ones that a trace shows. */
enum shim_kind {
    /* from the agent */
    SHIM_GO = 'G',     /* open the start barrier; repeated: nothing */
    SHIM_STOP = 'S',   /* struct shim_stop; a shorter grace replaces a longer one */
    SHIM_SIGNAL = 'K', /* struct shim_signal; a number not above the last: nothing */
    SHIM_INPUT = 'I',  /* bytes for standard input or the terminal */
    SHIM_EOF = 'Z',    /* standard input ends here */
    SHIM_RESIZE = 'R', /* struct shim_resize */
    /* from the supervisor */
    SHIM_HELLO = 'H',   /* struct shim_hello, first message on every connection */
    SHIM_CREATED = 'C', /* struct shim_created: held at the barrier */
    SHIM_STARTED = 'T', /* the barrier is open and the command runs: signals reach it */
    SHIM_FAILED = 'F',  /* text: could not be created; DIR/exit tells the same */
    SHIM_EXIT = 'X',    /* supervised: DIR/exit is durable.  `rota-shim exec`: struct shim_code */
    SHIM_OUT = 'O',     /* `rota-shim exec` alone: bytes of standard output or terminal */
    SHIM_ERR = '2',     /* `rota-shim exec` alone: bytes of standard error */
};

enum shim_state { SHIM_IS_UNKNOWN = 0, SHIM_IS_CREATING, SHIM_IS_HELD, SHIM_IS_STARTING,
                  SHIM_IS_RUNNING };
struct shim_hello {
    uint32_t proto;       /* SHIM_PROTO */
    uint32_t signal_done; /* number of the last SHIM_SIGNAL carried out */
    uint32_t state;       /* enum shim_state, so that one message tells all */
};
struct shim_created {
    int64_t pid;   /* of the container's init, in the host's pid namespace */
    uint64_t start; /* its start time in clock ticks since boot: pids are used again */
};
struct shim_stop {
    int64_t grace_ms;
    uint32_t preempted; /* it makes room for another: the job is told until when */
};
/* In the container's /dev: until when, as a second of the wall clock. */
#define SHIM_PREEMPT_NAME "rota-preempt-deadline"
struct shim_signal { uint32_t no; int32_t signum; };
struct shim_resize { uint16_t rows, cols; };
struct shim_code { int32_t code; char text[112]; }; /* text: why it could not run, or "" */

/* Copies a payload into a struct that may be longer or shorter than it: bytes
 * the sender did not know are zero.  False if nothing at all was sent. */
static inline bool shim_payload(void *dst, size_t cap, const void *data, size_t n)
{
    memset(dst, 0, cap);
    memcpy(dst, data, n < cap ? n : cap);
    return n > 0;
}

/* ---- log files ----
 *
 * DIR/log.FFFFFFFFFFFF (twelve hex digits: the number of its first record), so
 * that names sort by age.  One record a line:
 *
 *     SSSSSSSSSSSS MMMMMMMMMMMM WWWWWWWWWWWWWW o F text\n
 *     sequence     monotonic us wall clock us  | |
 *                                              | F: text was followed by a newline
 *                                              | P: it was not; the line goes on
 *                                              o: stdout or terminal, e: stderr
 *
 * Text holds every byte but newline as the job wrote it.  The job's output is
 * exactly: text, plus "\n" after each F.  Sequences rise by one; a jump says
 * that so many records were lost.  The last line of a file may be torn. */
#define SHIM_LOG_PREFIX "log."
#define SHIM_LOG_HEAD 45              /* bytes before the text */
#define SHIM_LOG_TEXT_MAX (16 * 1024) /* longer lines come in P parts */
#define SHIM_LOG_FILE_MAX (16 * 1024 * 1024)
#define SHIM_LOG_FILES 4 /* kept: the oldest goes when a fifth begins */

struct shim_log_record {
    uint64_t seq;
    uint64_t mono_us, wall_us; /* CLOCK_MONOTONIC, CLOCK_REALTIME at the read */
    bool err;                  /* standard error */
    bool newline;              /* F */
    const char *text;          /* within the line, not terminated */
    size_t n;
};

static inline bool shim_log_hex(const char *p, size_t n, uint64_t *ret)
{
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        char c = p[i];
        if (c >= '0' && c <= '9') v = v << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f') v = v << 4 | (uint64_t)(c - 'a' + 10);
        else return false;
    }
    *ret = v;
    return true;
}

/* One line without its newline.  False, *ret untouched, if it is no record. */
static inline bool shim_log_parse(const char *line, size_t n, struct shim_log_record *ret)
{
    struct shim_log_record r = {0};
    if (n < SHIM_LOG_HEAD) return false;
    if (line[12] != ' ' || line[25] != ' ' || line[40] != ' ' || line[42] != ' ' ||
        line[44] != ' ')
        return false;
    if (!shim_log_hex(line, 12, &r.seq) || !shim_log_hex(line + 13, 12, &r.mono_us) ||
        !shim_log_hex(line + 26, 14, &r.wall_us))
        return false;
    if ((line[41] != 'o' && line[41] != 'e') || (line[43] != 'F' && line[43] != 'P')) return false;
    r.err = line[41] == 'e';
    r.newline = line[43] == 'F';
    r.text = line + SHIM_LOG_HEAD;
    r.n = n - SHIM_LOG_HEAD;
    *ret = r;
    return true;
}

#endif
