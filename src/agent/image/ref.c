/* agent/image/ref.c - the names of images.  docs/spec/node.md, "Images" */
#include "agent/image/ref.h"
#include <string.h>
#include "base/str.h"

#define DOCKER "docker://"
#define OCI "oci:"

static bool only(struct str s, const char *odd)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && (c == '\0' || !strchr(odd, c))) return false;
    }
    return s.n > 0;
}

static bool good_tag(struct str t)
{
    return only(t, "_.-") && t.p[0] != '.' && t.p[0] != '-' && t.n <= 128;
}

/* The tag behind the last colon, if what follows it is no part of a path. */
static bool cut_tag(struct str *s, struct str *ret_tag)
{
    for (size_t i = s->n; i-- > 0 && s->p[i] != '/';) {
        if (s->p[i] != ':') continue;
        *ret_tag = str_n(s->p + i + 1, s->n - i - 1);
        s->n = i;
        return true;
    }
    return false;
}

static int parse_oci(struct str s, struct image_ref *r, struct err *err)
{
    struct str tag = {0};
    if (cut_tag(&s, &tag) && !good_tag(tag))
        return err_set(err, ERR_INVALID, "'%.*s' is no tag of an image",
                       (int)(tag.n < 100 ? tag.n : 100), tag.p);
    if (s.n == 0 || s.p[0] != '/' || !TEXT_SET(r->name, s) || strchr(r->name, '\n'))
        return err_set(err, ERR_INVALID,
                       "expected oci:/DIRECTORY[:TAG], the directory absolute and of at most %zu "
                       "characters", sizeof(r->name) - 1);
    TEXT_CLIP(r->tag, tag);
    return 0;
}

/* What is before the first slash is a registry if it looks like a host. */
static void find_registry(struct str name, struct image_ref *r)
{
    struct str rest = name, head;
    bool more = str_cut(&rest, '/', &head);
    bool host = more && (memchr(head.p, '.', head.n) || memchr(head.p, ':', head.n) ||
                         str_eq(head, STR("localhost")));
    TEXT_CLIP(r->registry, host ? head : STR("docker.io"));
}

static int parse_docker(struct str s, struct image_ref *r, struct err *err)
{
    struct str tag = {0}, name;
    bool pinned = str_cut(&s, '@', &name);
    bool tagged = cut_tag(&name, &tag);
    bool good = only(name, "_.-/:") && name.p[0] != '-' && name.p[0] != '/' &&
                name.p[name.n - 1] != '/' && TEXT_SET(r->name, name) &&
                !strstr(r->name, "//") && (!tagged || good_tag(tag));
    if (!good)
        return err_set(err, ERR_INVALID,
                       "expected docker://[HOST[:PORT]/]NAME[:TAG][@sha256:DIGEST]");
    if (pinned && !digest_is(s))
        return err_set(err, ERR_INVALID, "a digest is sha256: and 64 hexadecimal digits");
    if (pinned) TEXT_CLIP(r->digest, s);
    TEXT_CLIP(r->tag, tagged ? tag : pinned ? STR("") : STR("latest"));
    find_registry(name, r);
    return 0;
}

int image_ref_parse(const char *text, struct image_ref *ret, struct err *err)
{
    struct image_ref r = {0};
    struct str s = str_of(text);
    int rc = 0;
    if (str_eq(s, STR("host"))) {
        r.kind = IMAGE_HOST;
    } else if (str_starts(s, STR(OCI))) {
        r.kind = IMAGE_OCI;
        rc = parse_oci(str_n(s.p + sizeof(OCI) - 1, s.n - (sizeof(OCI) - 1)), &r, err);
    } else if (str_starts(s, STR(DOCKER))) {
        r.kind = IMAGE_DOCKER;
        rc = parse_docker(str_n(s.p + sizeof(DOCKER) - 1, s.n - (sizeof(DOCKER) - 1)), &r, err);
    } else {
        return err_set(err, ERR_INVALID, "image '%.100s' is none that Rota knows; expected host, "
                       "oci:/DIRECTORY[:TAG] or docker://NAME[:TAG]", text);
    }
    if (rc == 0) *ret = r;
    return rc;
}
