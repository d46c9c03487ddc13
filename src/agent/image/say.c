/* agent/image/say.c - what a fetcher's words mean for those who wait.
 * docs/spec/node.md, "Images" */
#include "agent/image/say.h"
#include <string.h>
#include "base/mem.h"

struct meaning { const char *words; int code; const char *text; };

/* The first that fits counts. */
static const struct meaning meanings[] = {
    {"no space left on device", ERR_UNAVAILABLE, "the disk of this node is full"},
    {"permission denied", ERR_IO, "its fetcher may not read or write a file of this node"},
    {"server gave HTTP response to HTTPS client", ERR_UNSUPPORTED,
     "its registry does not speak TLS; a node may allow that with registries_insecure"},
    {"x509:", ERR_UNSUPPORTED, "this node does not trust its registry's certificate"},
    {"certificate signed by unknown authority", ERR_UNSUPPORTED,
     "this node does not trust its registry's certificate"},
    {"toomanyrequests", ERR_UNAVAILABLE, "its registry answers no more requests for now"},
    {"manifest unknown", ERR_NOT_FOUND, "there is no such image"},
    {"name unknown", ERR_NOT_FOUND, "there is no such image"},
    {"repository name not known", ERR_NOT_FOUND, "there is no such image"},
    {"unauthorized", ERR_DENIED, "its registry denies it; does it exist, and does this node have "
                                 "credentials for it?"},
    {"authentication required", ERR_DENIED,
     "its registry denies it; does it exist, and does this node have credentials for it?"},
    {"denied", ERR_DENIED, "its registry denies it; does it exist, and does this node have "
                           "credentials for it?"},
    {"no such host", ERR_UNAVAILABLE, "its registry is not known by name here"},
    {"connection refused", ERR_UNAVAILABLE, "its registry refuses connections"},
    {"network is unreachable", ERR_UNAVAILABLE, "its registry cannot be reached"},
    {"no route to host", ERR_UNAVAILABLE, "its registry cannot be reached"},
    {"timeout", ERR_UNAVAILABLE, "its registry does not answer"},
    {"signature was required", ERR_DENIED, "this node's policy wants it to be signed"},
    {"is rejected by policy", ERR_DENIED, "this node's policy rejects it"},
    {"manifest schema version not supported", ERR_UNSUPPORTED, "its manifest is of an old kind"},
};

/* The last message of the log, without the words around it. */
static struct str last_words(struct str output)
{
    static const struct str key = {"msg=\"", 5};
    struct str line, last = {0};
    while (str_cut(&output, '\n', &line)) {
        line = str_trim(line);
        if (line.n == 0) continue;
        last = line;
        for (size_t i = 0; i + key.n <= line.n; i++) {
            if (memcmp(line.p + i, key.p, key.n) != 0) continue;
            last = str_n(line.p + i + key.n, line.n - i - key.n);
            if (last.n && last.p[last.n - 1] == '"') last.n--;
            break;
        }
    }
    return last;
}

int say_why(struct str output, const char *image, struct err *err)
{
    struct str last = last_words(output);
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
        const char *words = meanings[i].words;
        if (output.n && memmem(output.p, output.n, words, strlen(words)))
            return err_set(err, meanings[i].code, "image %.80s: %s", image, meanings[i].text);
    }
    /* The end of a message is what went wrong. */
    size_t skip = last.n > 120 ? last.n - 120 : 0;
    int rc = err_set(err, ERR_IO, "image %.80s: %.*s", image, (int)(last.n - skip),
                     last.n ? last.p + skip : "");
    if (last.n == 0) rc = err_set(err, ERR_IO, "image %.80s: its fetcher failed", image);
    for (char *c = err ? err->text : NULL; c && *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    return rc;
}

bool say_is_fatal(int code)
{
    return code == ERR_NOT_FOUND || code == ERR_DENIED || code == ERR_UNSUPPORTED ||
           code == ERR_INVALID || code == ERR_LIMIT;
}
