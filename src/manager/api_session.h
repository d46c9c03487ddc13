/* manager/api_session.h - naming a session in a request, and showing it later. */
#ifndef MANAGER_API_SESSION_H
#define MANAGER_API_SESSION_H
#include "manager/api.h"

struct session_ref { /* what a path says: an id, or a name of the caller's */
    uint64_t id;     /* 0: by name */
    uint32_t user;
    char name[SESSION_NAME_MAX + 1];
    int status;      /* of the answer that shows it; 0: 200 */
};

/* False: it has been answered (no id and no name). */
bool session_ref_of(struct api_call *c, struct session_ref *ret);
/* The live session, or NULL: ended, or there is none. */
struct session *session_ref_live(const struct manager *m, const struct session_ref *ref);
/* From the store, as committed. */
int session_ref_stored(const struct manager *m, const struct session_ref *ref,
                       struct session_row *ret, struct err *err);
/* 404, worded for this reference. */
void session_ref_unknown(struct manager *m, struct http_req *req, const struct session_ref *ref);
/* Answers the view, when all that is decided so far is durable. */
void session_show_later(struct manager *m, struct http_req *req, const struct session_ref *ref);

#endif
