/* tests/unit/agent/test_rootfs.c - what covers the host in a container's upper layer. */
#include "test.h"
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include "agent/rootfs.h"

static struct rootfs_host host;
static char upper[64];

static int open_host(void **state)
{
    (void)state;
    return rootfs_host_open(&host, NULL);
}

static int close_host(void **state)
{
    (void)state;
    rootfs_host_done(&host);
    return 0;
}

static struct stat look(const char *path)
{
    char full[256];
    struct stat st = {0};
    text_fmt(full, sizeof(full), "%s/%s", upper, path);
    if (lstat(full, &st) < 0) st.st_mode = 0;
    return st;
}

static bool opaque(const char *path)
{
    char full[256], v[4] = "";
    text_fmt(full, sizeof(full), "%s/%s", upper, path);
    return getxattr(full, "trusted.overlay.opaque", v, sizeof(v)) == 1 && v[0] == 'y';
}

static bool whiteout(const char *path)
{
    struct stat st = look(path);
    return S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0);
}

static int fill(const struct rootfs_user *u, struct err *err)
{
    test_dir_new(upper);
    return rootfs_fill(&host, upper, u, err);
}

static void only_the_system_shows(void **state)
{
    struct rootfs_user u = {.uid = 31337, .gid = 31337, .hostname = "box"};
    (void)state;
    mode_t old = umask(077);
    assert_int_equal(fill(&u, NULL), 0);
    umask(old);
    static const char *const empty[] = {"tmp", "run", "var", "root", "home", "srv", "mnt", "media"};
    for (size_t i = 0; i < ARRAY_LEN(empty); i++) assert_true(opaque(empty[i]));
    assert_int_equal(look("tmp").st_mode & 07777, 01777);
    assert_int_equal(look("var/tmp").st_mode & 07777, 01777);
    assert_int_equal(look("home").st_mode & 07777, 0755);
    assert_int_equal(look("etc/hosts").st_mode & 07777, 0644);
    assert_true(whiteout("etc/shadow"));
    assert_false(opaque("etc"));
    assert_int_equal(look("usr").st_mode, 0); /* not touched at all */
    struct stat st;
    if (lstat("/boot", &st) == 0) assert_true(whiteout("boot"));
    test_dir_free(upper);
}

static void own_directories_are_made_where_there_are_none(void **state)
{
    static const struct { const char *path; bool own; const char *says; } cases[] = {
        {"/home/me", true, NULL},      {"/home/me/deep/er", true, NULL},
        {"/brandnew/place", true, NULL}, {"/usr", false, NULL},
        {"/usr/share", false, NULL},   {"/bin", false, NULL},
        {"/tmp", false, NULL},         {"/", false, NULL},
        {"//home//you/", true, NULL},  {"/boot/x", true, NULL},
        {"/usr/../root", false, "'/usr/../root' is not a plain absolute path"},
        {"/home/./x", false, "'/home/./x' is not a plain absolute path"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rootfs_user u = {
            .uid = 31337, .gid = 4, .hostname = "box", .workdir = cases[i].path};
        struct err err = {0};
        int rc = fill(&u, &err);
        if (cases[i].says) {
            assert_int_equal(rc, ERR_INVALID);
            assert_string_equal(err.text, cases[i].says);
        } else {
            struct stat st = look(cases[i].path);
            if (rc < 0) fail_msg("%s: %s", cases[i].path, err.text);
            if ((S_ISDIR(st.st_mode) && st.st_uid == 31337 && st.st_gid == 4) != cases[i].own)
                fail_msg("%s: owner %u", cases[i].path, st.st_uid);
        }
        assert_int_equal(look("tmp").st_uid, 0);
        test_dir_free(upper);
    }
}

/* Anybody chooses these: what is mounted, or what the system looks at, stays as it is. */
static void where_a_directory_may_be_made(void **state)
{
    static const struct { const char *path; bool may; } cases[] = {
        {"/home/me", true}, {"/jobs/deep/er", true}, {"//home//me/", true}, {"/opt/x", true},
        {"/", false}, {"", false}, {"home", false}, {"/..", false}, {"/home/../etc", false},
        {"/home/./x", false}, {"/run/rota-init", false}, {"/run/rota-init/x", false},
        {"/usr/bin/nvidia-smi", false}, {"//usr/x", false}, {"/lib64/x", false}, {"/etc/x", false},
        {"/proc/self/fd/7", false}, {"/sys/x", false}, {"/dev/x", false}, {"/usrx", true},
    };
    char far[ROOTFS_PATH + 1];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (rootfs_own_path(cases[i].path) != cases[i].may) fail_msg("%s", cases[i].path);
    memset(far, 'x', sizeof(far) - 1);
    far[0] = '/';
    far[ROOTFS_PATH] = '\0';
    assert_false(rootfs_own_path(far));
}

int main(void)
{
    if (geteuid() != 0) {
        printf("skipped: needs root\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_a_directory_may_be_made),
        cmocka_unit_test(only_the_system_shows),
        cmocka_unit_test(own_directories_are_made_where_there_are_none),
    };
    return cmocka_run_group_tests(tests, open_host, close_host);
}
