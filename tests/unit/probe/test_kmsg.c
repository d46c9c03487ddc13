/* Lines of kernel logs, as they are seen in the field, and the device that gives them. */
#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "probe/kmsg.h"

static const struct { const char *line, *pci; uint32_t xid; const char *text; } told[] = {
    {"NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
     "0000:3b:00.0", 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus."},
    {"4,1093,72712345,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
     "0000:3b:00.0", 79, "pid=1, GPU has fallen off the bus."},
    {"3,12,9,c,caller=T1;NVRM: Xid (PCI:0000:b4:00): 94, Contained: CE User Channel (0x0).",
     "0000:b4:00.0", 94, "Contained: CE User Channel (0x0)."},
    {"[  512.713245] NVRM: Xid (PCI:0000:65:00): 48, An uncorrectable double bit error (DBE)",
     "0000:65:00.0", 48, "An uncorrectable double bit error (DBE)"},
    {"NVRM: Xid (0000:03:00): 14, Channel 00000001", "0000:03:00.0", 14, "Channel 00000001"},
    {"NVRM: Xid (PCI:0000:01:00 GPU-I:05): 31, pid=77, MMU Fault: ENGINE GRAPHICS",
     "0000:01:00.0", 31, "pid=77, MMU Fault: ENGINE GRAPHICS"},
    {"NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Nonfatal XC0 i0 Link 08 (0x00000000)",
     "0018:01:00.0", 145, "RLW_RXPIPE Nonfatal XC0 i0 Link 08 (0x00000000)"},
    {"NVRM: Xid (PCI:0000:CA:00): 119, pid=9, name=x, Timeout waiting for RPC from GSP!",
     "0000:ca:00.0", 119, "pid=9, name=x, Timeout waiting for RPC from GSP!"},
    {"NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU "
     "Reset Required)", "0000:3b:00.0", 154,
     "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"},
    {"NVRM: Xid (PCI:10000:3b:00): 63", "10000:3b:00.0", 63, ""},
    {"NVRM: Xid (PCI:0000:3b:00.0): 13 , Graphics Exception", "0000:3b:00.0", 13,
     ", Graphics Exception"},
    {"NVRM: Xid (PCI:0000:3b:00): 43, \x01\xff", "0000:3b:00.0", 43, "??"},
};

static const char *const untold[] = {
    "", "NVRM", "NVRM: Xid", "NVRM: Xid (", "NVRM: Xid ()", "NVRM: Xid (PCI:", "NVRM: Xid (PCI:):",
    "NVRM: Xid (PCI:0000:3b:00)", "NVRM: Xid (PCI:0000:3b:00):", "NVRM: Xid (PCI:0000:3b:00): ",
    "NVRM: Xid (PCI:0000:3b:00): abc", "NVRM: Xid (PCI:0000:3b:00): 0, none",
    "NVRM: Xid (PCI:0000:3b:00): 79x", "NVRM: Xid (PCI:0000:3b:00): 4294967296, huge",
    "NVRM: Xid (PCI:0000:3b:00): -5", "NVRM: Xid (PCI:0000:3b:40): 79",
    "NVRM: Xid (PCI:0000:3b): 79",
    "NVRM: Xid (PCI:zz00:3b:00): 79", "NVRM: Xid (PCI:123456789:3b:00): 79",
    "nvidia-nvswitch0: SXid (PCI:0000:c5:00.0): 12028, Non-fatal, Link 32 egress non-posted",
    "4,5,6,-;nvidia 0000:3b:00.0: enabling device", "somebody said: NVRM: Xid (PCI:0000:3b:00): 79",
    "NVRM: GPU at PCI:0000:3b:00: GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7",
    " SUBSYSTEM=pci", "4,5,6;", ";", "[", "[]", "4,5,6,-;NVRM: loading NVIDIA UNIX Module",
};

static void lines_of_the_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        struct probe_event e;
        if (!kmsg_parse(str_of(told[i].line), &e)) fail_msg("not seen: %s", told[i].line);
        assert_string_equal(e.pci, told[i].pci);
        assert_int_equal(e.xid, told[i].xid);
        assert_string_equal(e.text, told[i].text);
        assert_string_equal(e.uuid, "");
    }
    for (size_t i = 0; i < ARRAY_LEN(untold); i++) {
        struct probe_event e;
        if (kmsg_parse(str_of(untold[i]), &e)) fail_msg("taken for an Xid: %s", untold[i]);
    }
}

/* Every shorter piece of a line is either none, or tells the same Xid or a shorter number. */
static void cut_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        for (size_t n = 0; n < strlen(told[i].line); n++) {
            AUTO_FREE char *copy = mem_strndup(told[i].line, n); /* the sanitizer sees its end */
            struct probe_event e;
            if (kmsg_parse(str_n(copy, n), &e)) assert_string_equal(e.pci, told[i].pci);
        }
    }
}

static void only_what_comes_after(void **state)
{
    (void)state;
    struct place p;
    struct probe_event e;
    place_make(&p);
    place_write(&p, "kmsg", "NVRM: Xid (PCI:0000:01:00): 79, before\n");
    struct kmsg *k = kmsg_open(place_path(&p, "kmsg"), NULL);
    assert_non_null(k);
    assert_int_equal(kmsg_fd(k), -1);
    assert_false(kmsg_next(k, &e));
    place_append(&p, "kmsg", "other\nNVRM: Xid (PCI:0000:02:00): 48, a\nNVRM: Xid (PCI:00");
    assert_true(kmsg_next(k, &e));
    assert_string_equal(e.pci, "0000:02:00.0");
    assert_true(e.at_ms > INT64_C(1600000000000));
    assert_false(kmsg_next(k, &e)); /* half a line is none */
    place_append(&p, "kmsg", "00:03:00): 63, b\n");
    assert_true(kmsg_next(k, &e));
    assert_int_equal(e.xid, 63);
    /* A line without end is given up, and reading goes on after it. */
    for (int i = 0; i < 40; i++) {
        char piece[1024];
        memset(piece, 'x', sizeof(piece));
        piece[sizeof(piece) - 1] = '\0';
        place_append(&p, "kmsg", piece);
        assert_false(kmsg_next(k, &e));
    }
    place_append(&p, "kmsg", "\nNVRM: Xid (PCI:0000:04:00): 74, c\n");
    assert_true(kmsg_next(k, &e));
    assert_int_equal(e.xid, 74);
    kmsg_close(k);
    place_remove(&p);
}

static void no_log(void **state)
{
    (void)state;
    struct err err = {0};
    assert_null(kmsg_open("/nowhere/kmsg", &err));
    assert_int_equal(err.code, ERR_IO);
    err = (struct err){0};
    assert_null(kmsg_open("/tmp", &err));
    assert_int_equal(err.code, ERR_INVALID);
}

/* The kernel's own log, where a test may write to it. */
static void the_real_device(void **state)
{
    (void)state;
    static const char line[] = "NVRM: Xid (PCI:fffe:3b:00): 4321, written by a test of Rota\n";
    struct probe_event e;
    int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
    struct kmsg *k = fd < 0 ? NULL : kmsg_open("/dev/kmsg", NULL);
    if (!k) {
        if (fd >= 0) (void)close(fd);
        print_message("no /dev/kmsg to write to\n");
        skip();
    }
    assert_true(kmsg_fd(k) >= 0);
    assert_int_equal(write(fd, line, sizeof(line) - 1), (ssize_t)sizeof(line) - 1);
    bool found = false;
    while (!found && kmsg_next(k, &e)) found = e.xid == 4321;
    assert_true(found);
    assert_string_equal(e.text, "written by a test of Rota");
    assert_false(kmsg_next(k, &e) && e.xid == 4321);
    kmsg_close(k);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_the_field), cmocka_unit_test(cut_lines),
        cmocka_unit_test(only_what_comes_after), cmocka_unit_test(no_log),
        cmocka_unit_test(the_real_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
