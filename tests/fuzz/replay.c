/* Feeds a fuzzer every file of the folders and files named on the command line:
 * what once was found stays found.  Also feeds each input with one byte less
 * and with each of its first bytes flipped, which costs little and finds much.
 * Fails when there is no input at all. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX (1 << 20)
#define FLIPS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* A copy of the exact size, so that a sanitizer sees one byte too far. */
static void feed(const uint8_t *data, size_t n, size_t flip)
{
    uint8_t *copy = malloc(n > 0 ? n : 1);
    if (!copy) abort();
    memcpy(copy, data, n);
    if (flip < n) copy[flip] ^= (uint8_t)(1u << flip % 8);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static int replay_file(const char *path)
{
    static uint8_t data[INPUT_MAX];
    FILE *f = fopen(path, "rbe");
    if (!f) {
        perror(path);
        return -1;
    }
    size_t n = fread(data, 1, sizeof(data), f);
    fclose(f);
    feed(data, n, SIZE_MAX);
    if (n > 0) feed(data, n - 1, SIZE_MAX);
    for (size_t i = 0; i < n && i < FLIPS; i++) feed(data, n, i);
    return 1;
}

static int replay(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0) {
        perror(path);
        return -1;
    }
    if (!S_ISDIR(st.st_mode)) return replay_file(path);
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort), replayed = 0;
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && replayed >= 0) {
            int one = replay(file);
            replayed = one < 0 ? -1 : replayed + one;
        }
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    return n < 0 ? -1 : replayed;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int n = replay(argv[i]);
        if (n < 0) return EXIT_FAILURE;
        total += n;
    }
    printf("%d inputs replayed\n", total);
    return total > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
