/* tests/unit/agent/image/test_store.c - what is kept of images, and what goes first. */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../test.h"
#include "agent/image/evict.h"
#include "agent/image/store.h"
#include "host/file.h"

static char dir[64];
static struct image_store store;

static void open_store(void)
{
    struct err err = {0};
    if (image_store_open(dir, 1000, &store, &err) != 0) fail_msg("%s", err.text);
}

static int begin(void **state)
{
    (void)state;
    test_dir_new(dir);
    open_store();
    return 0;
}

static int end(void **state)
{
    (void)state;
    image_store_close(&store);
    test_dir_free(dir);
    return 0;
}

static const char *digest(char c)
{
    static char texts[4][DIGEST_TEXT];
    static int at;
    char *t = texts[at++ % 4];
    text_fmt(t, DIGEST_TEXT, "sha256:%064d", 0);
    memset(t + 7, c, 64);
    return t;
}

/* A layer of so many bytes, used that many seconds after 1970. */
static void add(char c, int64_t bytes, time_t used)
{
    struct err err = {0};
    char path[160];
    struct timespec at[2] = {{.tv_sec = used}, {.tv_sec = used}};
    assert_int_equal(file_mkdir(store.tmp, "new", 0700, &err), 0);
    assert_int_equal(file_mkdir(store.tmp, "new/fs", 0755, &err), 0);
    if (image_store_add_layer(&store, "new", digest(c), bytes, &err) != 0) fail_msg("%s", err.text);
    text_fmt(path, sizeof(path), "sha256-%s/size", digest(c) + 7);
    assert_int_equal(utimensat(store.layers, path, at, 0), 0);
}

static struct image_record record(char name, const char *layers)
{
    struct image_record r = {0};
    TEXT_CLIP(r.digest, str_of(digest(name)));
    for (const char *c = layers; *c; c++) TEXT_CLIP(VEC_ADD(&r.layers)->digest, str_of(digest(*c)));
    return r;
}

static void is_there(const char *layers)
{
    for (char c = 'a'; c <= 'f'; c++) {
        bool want = strchr(layers, c) != NULL;
        if (image_store_has_layer(&store, digest(c)) != want)
            fail_msg("layer %c is %s", c, want ? "gone" : "there");
    }
}

static void the_least_used_goes_first(void **state)
{
    (void)state;
    add('a', 300, 30);
    add('b', 300, 10);
    add('c', 300, 20);
    assert_int_equal(image_store_room(&store, 50), 100);
    is_there("abc");
    assert_int_equal(image_store_room(&store, 150), 400);
    is_there("ac");
    assert_int_equal(image_store_room(&store, 1000), 1000);
    is_there("");
}

static void what_a_container_links_to_stays(void **state)
{
    struct image_record r;
    struct err err = {0};
    char lower[256];
    (void)state;
    add('a', 300, 1);
    add('b', 300, 2);
    add('c', 300, 3);
    assert_int_equal(file_mkdir(store.containers, "1.1.0", 0700, &err), 0);
    int box = file_open_dir(store.containers, "1.1.0", &err);
    r = record('d', "ab");
    if (image_store_link(&store, &r, box, lower, sizeof(lower), &err) != 0)
        fail_msg("%s", err.text);
    assert_string_equal(lower, "l/0:l/1");
    assert_int_equal(faccessat(box, "l/0/.", F_OK, 0), 0); /* the links lead somewhere */
    assert_int_equal(image_store_room(&store, 1000), 400);
    is_there("ab");
    struct image_usage u;
    image_store_usage(&store, &u);
    assert_int_equal(u.in_use, 600);
    assert_int_equal(u.layers, 2);
    wire_free(&image_record_table, &r);
    r = record('e', "c"); /* evicted: it cannot be promised any more */
    file_remove_tree(box, "l", NULL);
    assert_int_equal(image_store_link(&store, &r, box, lower, sizeof(lower), &err),
                     ERR_UNAVAILABLE);
    wire_free(&image_record_table, &r);
    close(box);
    assert_int_equal(file_remove_tree(store.containers, "1.1.0", NULL), 0);
    assert_int_equal(image_store_room(&store, 1000), 1000);
    is_there("");
}

static void what_is_pinned_or_being_fetched_stays(void **state)
{
    struct err err = {0};
    (void)state;
    add('a', 300, 1);
    add('b', 300, 2);
    add('c', 300, 3);
    struct image_record r = record('d', "a");
    assert_int_equal(image_store_write(&store, &r, &err), 0);
    wire_free(&image_record_table, &r);
    const char *const digests[] = {digest('d'), NULL}, *const bad[] = {"d", NULL};
    assert_int_equal(image_store_pin(&store, "way-back", digests, &err), 0);
    assert_int_equal(image_store_pin(&store, "../x", digests, &err), ERR_INVALID);
    assert_int_equal(image_store_pin(&store, "x", bad, &err), ERR_INVALID);
    int lock = evict_lock_layer(&store, digest('b'), &err);
    assert_true(lock >= 0);
    image_store_room(&store, 1000);
    is_there("ab");
    close(lock);
    image_store_room(&store, 1000);
    is_there("a");
    assert_int_equal(image_store_unpin(&store, "way-back", &err), 0);
    assert_int_equal(image_store_unpin(&store, "way-back", &err), 0);
    image_store_room(&store, 1000);
    is_there("");
}

static void an_image_is_whole_or_not_there(void **state)
{
    struct err err = {0};
    struct image_record r = record('d', "ab"), back;
    (void)state;
    wire_texts_add(&r.run.cmd, STR("x"));
    add('a', 300, 1);
    assert_int_equal(image_store_write(&store, &r, &err), 0);
    assert_int_equal(image_store_read(&store, digest('d'), &back, &err), ERR_NOT_FOUND);
    add('b', 300, 1);
    assert_int_equal(image_store_read(&store, digest('d'), &back, &err), 0);
    assert_true(wire_equal(&image_record_table, &r, &back));
    wire_free(&image_record_table, &back);
    wire_free(&image_record_table, &r);
    char name[128];
    text_fmt(name, sizeof(name), "%s.json", digest('d') + 7);
    assert_int_equal(file_write(store.images, name, "{\"v\":1,", 7, FILE_ORDERED, &err), 0);
    assert_int_equal(image_store_read(&store, digest('d'), &back, &err), ERR_NOT_FOUND);
    assert_int_equal(image_store_read(&store, digest('e'), &back, &err), ERR_NOT_FOUND);
}

static void a_crash_leaves_nothing_half(void **state)
{
    struct err err = {0};
    struct image_record r = record('d', "a");
    struct stat st;
    (void)state;
    add('a', 300, 1);
    assert_int_equal(image_store_write(&store, &r, &err), 0);
    image_store_mark(&store, &r); /* "is here", for the fetcher */
    assert_int_equal(fstatat(store.blobs, digest('a') + 7, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_false(image_store_has_blob(&store, digest('a')));
    assert_int_equal(symlinkat("/dev/null", store.blobs, digest('b') + 7), 0);
    assert_int_equal(file_write(store.blobs, digest('c') + 7, "x", 1, FILE_ORDERED, &err), 0);
    assert_int_equal(file_write(store.blobs, "oci-put-blob12", "x", 1, FILE_ORDERED, &err), 0);
    assert_int_equal(file_mkdir(store.tmp, "layer-x", 0700, &err), 0);
    assert_int_equal(file_write(store.tmp, "layer-x/part", "x", 1, FILE_ORDERED, &err), 0);
    int lock = evict_lock_layer(&store, digest('e'), &err);
    close(lock);
    image_store_recover(&store);
    assert_false(file_exists(store.tmp, "layer-x"));
    assert_false(file_exists(store.locks, digest('e') + 7));
    assert_true(fstatat(store.blobs, digest('b') + 7, &st, AT_SYMLINK_NOFOLLOW) < 0);
    assert_int_equal(fstatat(store.blobs, digest('a') + 7, &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(image_store_has_blob(&store, digest('c'))); /* whole: not fetched again */
    assert_false(file_exists(store.blobs, "oci-put-blob12"));
    is_there("a");
    image_store_room(&store, 1000); /* a mark goes with its layer */
    assert_true(fstatat(store.blobs, digest('a') + 7, &st, AT_SYMLINK_NOFOLLOW) < 0);
    image_store_recover(&store);
    assert_int_equal(file_dir_bytes(store.images), 0);
    wire_free(&image_record_table, &r);
}

int main(void)
{
#define WITH_STORE(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        WITH_STORE(the_least_used_goes_first),
        WITH_STORE(what_a_container_links_to_stays),
        WITH_STORE(what_is_pinned_or_being_fetched_stays),
        WITH_STORE(an_image_is_whole_or_not_there),
        WITH_STORE(a_crash_leaves_nothing_half),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
