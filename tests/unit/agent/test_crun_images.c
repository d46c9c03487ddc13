/* tests/unit/agent/test_crun_images.c - real containers in images: what they see, what
 * hostile ones cannot do, and what is kept of them. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/image/store.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "crun_rig.h"
#include "host/file.h"
#include "net/child.h"
#include "net/loop.h"

static char layout[64];

static int make_images(void **state)
{
    struct strbuf out;
    struct child_exit end = {0};
    struct err err = {0};
    const char *const argv[] = {"python3", getenv("ROTA_IMAGES"), layout, NULL};
    (void)state;
    text_fmt(layout, sizeof(layout), "/tmp/rota-images-XXXXXX");
    assert_non_null(mkdtemp(layout));
    assert_int_equal(chmod(layout, 0755), 0); /* sessions' users read it */
    strbuf_init(&out, 65536);
    struct child_spec spec = {.argv = argv};
    if (child_run(&spec, 60000, &out, &end, &err) < 0) fail_msg("%s", err.text);
    if (end.code != 0) fail_msg("%s", out.p);
    strbuf_done(&out);
    rig_open(&rig);
    return 0;
}

static int remove_images(void **state)
{
    (void)state;
    rig_close(&rig);
    return file_remove_tree(AT_FDCWD, layout, NULL);
}

/* Asks for the member as the agent does, until it is made or refused. */
static int create(const struct container_spec *s, struct err *err)
{
    int rc = ERR_UNAVAILABLE;
    for (int64_t until = net_now_ms() + rig_ms(60000); net_now_ms() < until; rig_turn(&rig, 5)) {
        rc = rig.driver.ops->create(rig.driver.self, s, err);
        if (rc != ERR_UNAVAILABLE) return rc;
    }
    fail_msg("still %s", err->text);
    return rc;
}

static struct container_spec in_image(const char *tag, const char *const *argv)
{
    static char image[128];
    struct container_spec s = rig_spec(&rig, argv);
    text_fmt(image, sizeof(image), "oci:%s:%s", layout, tag);
    s.image = image;
    s.env_defaults = 2; /* of the rig: PATH and HOME */
    return s;
}

static struct container_spec script_in(const char *tag, const char *script)
{
    static const char *argv[] = {"/bin/sh", "-c", NULL, NULL};
    argv[2] = script;
    return in_image(tag, argv);
}

static struct member_report run(const struct container_spec *s)
{
    struct err err = {0};
    if (create(s, &err) < 0) fail_msg("%s", err.text);
    rig.driver.ops->go(rig.driver.self, s->ref);
    return rig_until(&rig, s->ref, MEMBER_EXITED);
}

/* It runs, prints exactly this, and is gone. */
static void prints(const struct container_spec *s, const char *text)
{
    size_t n;
    struct member_report m = run(s);
    char *out = rig_output(&rig, s->ref, 'o', &n), *bad = rig_output(&rig, s->ref, 'e', &n);
    if (m.phase != MEMBER_EXITED || m.end.exit_code != 0)
        fail_msg("%s, exit %d: %s\n%s%s", member_phase_name(m.phase), m.end.exit_code,
                 m.end.detail, out, bad);
    assert_string_equal(out, text);
    mem_free(out);
    mem_free(bad);
    rig_clean(&rig, s->ref);
}

static void a_static_image_runs(void **state)
{
    (void)state;
    struct container_spec s = script_in("base", "/bin/busybox id -u; /bin/busybox id -un; "
                                        "/bin/busybox pwd; /bin/busybox cat /etc/hostname; "
                                        "/bin/busybox ls / | /bin/busybox tr '\\n' ' '; echo; "
                                        "echo x > /tmp/x && /bin/busybox cat /tmp/x; "
                                        "echo $HOME; /bin/busybox test -w $HOME && echo mine");
    prints(&s, "31337\nuser31337\n/\nbox\nbin dev etc home proc run sys tmp \nx\n/home/me\nmine\n");
}

static void upper_layers_hide_what_they_say(void **state)
{
    (void)state;
    struct container_spec s = script_in("layers",
        "/bin/busybox ls /data /gone; /bin/busybox cat b; /bin/busybox pwd; echo $FROM_IMAGE $HOME "
        "$PATH; echo rank:$ROTA_RANK; /bin/busybox cut -d: -f1 /etc/passwd");
    s.env_defaults = 2;
    prints(&s, "/data:\nb\n\n/gone:\ny\nb2\n/data\nyes /app /bin\nrank:\nroot\napp\nuser31337\n");
}

static void what_a_session_says_goes_before_its_image(void **state)
{
    (void)state;
    struct container_spec s = script_in("layers", "echo $HOME; /bin/busybox pwd");
    s.env_defaults = 1; /* HOME is the session's own */
    s.workdir = "/made/for/it";
    prints(&s, "/home/me\n/made/for/it\n");
}

static void the_image_brings_the_command(void **state)
{
    static const char *const none[] = {NULL};
    static const char *const own[] = {"/bin/busybox", "echo", "mine", NULL};
    struct err err = {0};
    (void)state;
    struct container_spec s = in_image("command", none);
    prints(&s, "from the image\n");
    s = in_image("command", own);
    prints(&s, "mine\n");
    s = in_image("base", none);
    assert_int_equal(create(&s, &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "names a command"));
}

static void a_layer_may_come_twice(void **state)
{
    (void)state;
    struct container_spec s = script_in("twice", "/bin/busybox cat /data/a");
    prints(&s, "a1\n");
}

/* Links in an image lead nowhere but in its container. */
static void links_of_an_image_lead_nowhere_else(void **state)
{
    struct stat before, after;
    (void)state;
    assert_int_equal(stat("/etc/hostname", &before), 0);
    struct container_spec s = script_in("links", "/bin/busybox cat /etc/hostname; echo y > /tmp/y; "
                                        "/bin/busybox test -d /run && echo run");
    prints(&s, "box\nrun\n");
    assert_int_equal(stat("/etc/hostname", &after), 0);
    assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    assert_int_equal(before.st_ino, after.st_ino);
}

static void hostile_layers_are_refused(void **state)
{
    static const struct { const char *tag, *words; } cases[] = {
        {"hostile-dotdot", "leads out of the layer"},
        {"hostile-hardlink", "leads out of the layer"},
        {"hostile-hardlink-abs", "no file of its layer"},
        {"hostile-through-file", "below what is no directory"},
        {"hostile-nowhere", "below what is no directory"},
        {"hostile-deep", "longer than any real one"},
        {"sparse", "is larger than"},
        {"no-archive", "no good archive"},
        {"damaged", "not what its digest says"},
        {"foreign", "is for linux/s390x-not"},
        {"nothing", "no image 'nothing'"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = {0};
        struct container_spec s = script_in(cases[i].tag, "true");
        int rc = create(&s, &err);
        if (rc >= 0) fail_msg("%s was taken", cases[i].tag);
        if (!strstr(err.text, cases[i].words)) fail_msg("%s: %s", cases[i].tag, err.text);
    }
    assert_int_not_equal(access("/escaped", F_OK), 0);
    assert_int_not_equal(access("/tmp/escaped", F_OK), 0);
    assert_int_not_equal(access("/tmp/escaped-by-link", F_OK), 0);
}

/* As in a root of its own: what goes through a link lands in the layer. */
static void a_link_in_a_layer_stays_in_it(void **state)
{
    (void)state;
    struct container_spec s = script_in("hostile-through-link",
                                        "/bin/busybox ls /tmp; /bin/busybox readlink /out");
    prints(&s, "escaped-by-link\n/../../tmp\n");
    assert_int_not_equal(access("/tmp/escaped-by-link", F_OK), 0);
}

static void devices_and_powers_are_left_out(void **state)
{
    (void)state;
    struct container_spec s = script_in("devices", "for f in /disk /null /pipe; do test -e $f && "
                                        "echo $f; done; /bin/busybox stat -c %a /root-sh");
    prints(&s, "755\n");
}

static void only_who_may_read_a_layout_runs_it(void **state)
{
    struct err err = {0};
    (void)state;
    assert_int_equal(chmod(layout, 0700), 0);
    struct container_spec s = script_in("base", "true"); /* its layers are here already */
    assert_int_equal(create(&s, &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "may not read it"));
    assert_int_equal(chmod(layout, 0755), 0);
}

static void a_bomb_is_bounded_by_the_cache(void **state)
{
    struct err err = {0};
    (void)state;
    struct container_spec s = script_in("bomb", "true");
    assert_int_equal(create(&s, &err), ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "larger than this node's cache"));
}

/* The image of what runs stays, whatever else comes; what nobody runs goes. */
static void eviction_spares_what_runs(void **state)
{
    struct image_store store;
    struct image_usage u;
    struct err err = {0};
    (void)state;
    struct container_spec s = script_in("layers", "echo up; while :; do /bin/busybox sleep 1; "
                                        "/bin/busybox cat /data/b; done");
    if (create(&s, &err) < 0) fail_msg("%s", err.text);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until_said(&rig, s.ref, "up");
    struct member_report m = rig_until(&rig, s.ref, MEMBER_RUNNING);
    assert_non_null(strstr(m.end.detail, "image sha256:"));
    assert_int_equal(image_store_open(rig.state_dir, 1, &store, &err), 0);
    image_store_room(&store, 0); /* one byte is allowed */
    image_store_usage(&store, &u);
    assert_int_equal(u.layers, 3);
    assert_int_equal(u.bytes, u.in_use);
    rig_until_said(&rig, s.ref, "b2");
    rig_stop_agent(&rig); /* another agent knows it, too */
    rig_start_agent(&rig);
    m = rig_until(&rig, s.ref, MEMBER_RUNNING);
    assert_non_null(strstr(m.end.detail, "image sha256:"));
    image_store_room(&store, 0);
    image_store_usage(&store, &u);
    assert_int_equal(u.layers, 3);
    rig_clean(&rig, s.ref);
    image_store_room(&store, 0);
    image_store_usage(&store, &u);
    assert_int_equal(u.layers, 0);
    image_store_close(&store);
}

/* ---- the writable layer ---- */

static int64_t loops(void)
{
    struct strbuf out;
    struct child_exit end = {0};
    const char *const argv[] = {"/sbin/losetup", "--noheadings", "-O", "BACK-FILE", NULL};
    struct child_spec spec = {.path = argv[0], .argv = argv};
    int64_t n = 0;
    strbuf_init(&out, 65536);
    assert_int_equal(child_run(&spec, 10000, &out, &end, NULL), 0);
    struct str rest = strbuf_str(&out), line;
    while (rest.n) {
        str_cut(&rest, '\n', &line);
        n += str_starts(line, str_of(rig.state_dir));
    }
    strbuf_done(&out);
    return n;
}

static void until_no_loops(void)
{
    for (int64_t until = net_now_ms() + rig_ms(10000); net_now_ms() < until; rig_turn(&rig, 20))
        if (loops() == 0) return;
    fail_msg("a loop device is left");
}

static const char fills[] = "head -c 24m /dev/zero > /tmp/big; echo $?; rm /tmp/big; "
                            "echo small > /tmp/small && cat /tmp/small";

static void a_full_disk_ends_with_its_container(void **state)
{
    size_t n;
    (void)state;
    struct container_spec s = rig_shell(&rig, fills);
    s.disk_bytes = 16 << 20;
    prints(&s, "1\nsmall\n");
    s = rig_shell(&rig, "cat /etc/hostname; ls -A /root /home; test -e /etc/shadow || echo "
                        "covered; cat /proc/mounts | grep -c ' / overlay '; df -m / | tail -1");
    s.disk_bytes = 16 << 20;
    struct member_report m = rig_run(&rig, &s);
    char *out = rig_output(&rig, s.ref, 'o', &n);
    assert_int_equal(m.end.exit_code, 0);
    assert_non_null(strstr(out, "box\n"));
    assert_non_null(strstr(out, "covered\n"));
    mem_free(out);
    rig_clean(&rig, s.ref);
    s = script_in("base", "/bin/busybox head -c 24m /dev/zero > /tmp/b; echo $?");
    s.disk_bytes = 16 << 20;
    prints(&s, "1\n");
    until_no_loops();
    s = rig_shell(&rig, "true");
    s.disk_bytes = 1000;
    m = (rig_create(&rig, &s), rig_until(&rig, s.ref, MEMBER_FAILED));
    assert_true(m.end.fatal);
    rig_clean(&rig, s.ref);
}

static void nothing_is_left_of_a_disk(void **state)
{
    (void)state;
    struct container_spec s = rig_shell(&rig, "echo up; sleep 60");
    s.disk_bytes = 16 << 20;
    rig_create(&rig, &s);
    rig.driver.ops->go(rig.driver.self, s.ref);
    rig_until_said(&rig, s.ref, "up");
    assert_int_equal(loops(), 1);
    rig_kill_shim(&rig, s.ref);
    rig_stop_agent(&rig);
    rig_start_agent(&rig);
    rig_clean(&rig, s.ref);
    until_no_loops();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_static_image_runs),
        cmocka_unit_test(upper_layers_hide_what_they_say),
        cmocka_unit_test(what_a_session_says_goes_before_its_image),
        cmocka_unit_test(the_image_brings_the_command),
        cmocka_unit_test(a_layer_may_come_twice),
        cmocka_unit_test(links_of_an_image_lead_nowhere_else),
        cmocka_unit_test(hostile_layers_are_refused),
        cmocka_unit_test(a_link_in_a_layer_stays_in_it),
        cmocka_unit_test(devices_and_powers_are_left_out),
        cmocka_unit_test(only_who_may_read_a_layout_runs_it),
        cmocka_unit_test(a_bomb_is_bounded_by_the_cache),
        cmocka_unit_test(eviction_spares_what_runs),
        cmocka_unit_test(a_full_disk_ends_with_its_container),
        cmocka_unit_test(nothing_is_left_of_a_disk),
    };
    if (!rig_possible()) return 77;
    return cmocka_run_group_tests(tests, make_images, remove_images);
}
