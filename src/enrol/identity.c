/* enrol/identity.c - see identity.h. */
#include "enrol/identity.h"
#include <errno.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "net/pki.h"
#include "net/tls.h"
#include "wire/table.h"

struct identity_doc {
    char role[16], name[NODE_NAME_MAX + 1], cluster[33], incarnation[33];
    char ticket_key[TICKET_KEY_TEXT];
    uint64_t epoch;
};

static const struct wire_field identity_fields[] = {
    WIRE_F_TEXT(struct identity_doc, role, "role", .flags = WIRE_REQUIRED, .min = 1,
                .doc = "agent or proxy"),
    WIRE_F_TEXT(struct identity_doc, name, "name", .flags = WIRE_REQUIRED, .min = 1,
                .doc = "of the node or proxy"),
    WIRE_F_TEXT(struct identity_doc, cluster, "cluster", .flags = WIRE_REQUIRED, .min = 1,
                .doc = "that it joined"),
    WIRE_F_TEXT(struct identity_doc, incarnation, "incarnation", .flags = WIRE_REQUIRED, .min = 1,
                .doc = "of the manager's store"),
    WIRE_F_TEXT(struct identity_doc, ticket_key, "ticket_key", .flags = WIRE_REQUIRED, .min = 1,
                .doc = "Ed25519 public key of tickets, base64"),
    WIRE_F_U64(struct identity_doc, epoch, "epoch", .flags = WIRE_OMIT, .max = INT64_MAX,
               .doc = "Start count of the last node of that name."),
};
static const struct wire_table identity_table =
    WIRE_TABLE("identity", struct identity_doc, identity_fields, .version = 1);

int identity_path(const char *dir, const char *file, char ret[IDENTITY_PATH_MAX], struct err *err)
{
    char path[IDENTITY_PATH_MAX];
    if (strlen(dir) + strlen(file) + 2 > sizeof(path)) {
        return err_set(err, ERR_LIMIT, "the path %.80s... is too long", dir);
    }
    text_fmt(path, sizeof(path), "%s/%s", dir, file);
    memcpy(ret, path, sizeof(path));
    return 0;
}

int identity_dir(const char *dir, struct err *err)
{
    char part[IDENTITY_PATH_MAX];
    if (!TEXT_SET(part, str_of(dir)) || dir[0] == '\0') {
        return err_set(err, ERR_INVALID, "the path %.80s... cannot be used", dir);
    }
    for (char *p = part + 1; *p != '\0'; p++) {
        if (*p != '/') continue;
        *p = '\0';
        if (mkdir(part, 0755) != 0 && errno != EEXIST) {
            return err_sys(err, ERR_IO, errno, "create %s", part);
        }
        *p = '/';
    }
    if (mkdir(part, 0700) != 0 && errno != EEXIST) {
        return err_sys(err, ERR_IO, errno, "create %s", part);
    }
    return 0;
}

void identity_cn(const char *role, const char *name, char *ret, size_t cap)
{
    text_fmt(ret, cap, "%s:%s", role, name);
}

int identity_load(const char *dir, struct identity *ret, struct err *err)
{
    char path[IDENTITY_PATH_MAX];
    AUTO_FREE char *text = NULL;
    struct identity_doc doc;
    struct identity id = {0};
    struct stat st;

    int rc = identity_path(dir, "identity.json", path, err);
    if (rc != 0) return rc;
    if (stat(path, &st) != 0 && errno == ENOENT) {
        return err_set(err, ERR_NOT_FOUND, "%s does not exist: not joined yet", path);
    }
    rc = pki_file_read(path, &text, err);
    if (rc != 0) return rc;
    if (wire_parse(&identity_table, str_of(text), &doc, err) != 0 ||
        !ticket_key_parse(str_of(doc.ticket_key), id.ticket_key)) {
        return err_set(err, ERR_CORRUPT, "%s does not read back; remove it and join again", path);
    }
    TEXT_CLIP(id.role, str_of(doc.role));
    TEXT_CLIP(id.name, str_of(doc.name));
    TEXT_CLIP(id.cluster, str_of(doc.cluster));
    TEXT_CLIP(id.incarnation, str_of(doc.incarnation));
    id.epoch = doc.epoch;
    *ret = id;
    return 0;
}

int identity_save(const char *dir, const struct identity *id, struct err *err)
{
    char path[IDENTITY_PATH_MAX];
    struct identity_doc doc = {0};
    AUTO_STRBUF struct strbuf json;

    strbuf_init(&json, PKI_PEM_MAX);
    int rc = identity_path(dir, "identity.json", path, err);
    if (rc != 0) return rc;
    TEXT_CLIP(doc.role, str_of(id->role));
    TEXT_CLIP(doc.name, str_of(id->name));
    TEXT_CLIP(doc.cluster, str_of(id->cluster));
    TEXT_CLIP(doc.incarnation, str_of(id->incarnation));
    doc.epoch = id->epoch;
    ticket_key_format(id->ticket_key, doc.ticket_key);
    wire_print(&identity_table, &doc, &json);
    strbuf_putc(&json, '\n');
    return pki_file_write(path, strbuf_str(&json), 0600, err);
}

struct identity_files {
    char cert[IDENTITY_PATH_MAX], key[IDENTITY_PATH_MAX], ca[IDENTITY_PATH_MAX];
};

static int files_of(const char *dir, struct identity_files *ret, struct err *err)
{
    int rc = identity_path(dir, "node.crt", ret->cert, err);
    if (rc == 0) rc = identity_path(dir, "node.key", ret->key, err);
    if (rc == 0) rc = identity_path(dir, "ca.crt", ret->ca, err);
    return rc;
}

int identity_client_tls(const char *dir, bool any_name, struct tls_ctx **ret, struct err *err)
{
    struct identity_files f;
    int rc = files_of(dir, &f, err);
    if (rc != 0) return rc;
    struct err why = {0};
    struct tls_ctx *t = tls_client_new(
        &(struct tls_client_opts){.ca_file = f.ca, .cert_file = f.cert, .key_file = f.key,
                                  .skip_name = any_name},
        &why);
    if (t == NULL) return err_set(err, why.code, "%s", why.text);
    *ret = t;
    return 0;
}

int identity_server_tls(const char *dir, struct tls_ctx **ret, struct err *err)
{
    struct identity_files f;
    int rc = files_of(dir, &f, err);
    if (rc != 0) return rc;
    struct err why = {0};
    struct tls_ctx *t = tls_server_new(
        &(struct tls_server_opts){.cert_file = f.cert, .key_file = f.key, .client_ca_file = f.ca,
                                  .client_required = true},
        &why);
    if (t == NULL) return err_set(err, why.code, "%s", why.text);
    *ret = t;
    return 0;
}
