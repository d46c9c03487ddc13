/* cli/render.h - JSON text laid out for people and for other programs.
 *
 * Works on the text that the wire tables printed, so that what is shown is what
 * the API says, field for field and in its order. */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H
#include "base/err.h"
#include "base/strbuf.h"

/* Indented by two spaces.  ERR_INVALID when the text is no JSON; depth <= 32. */
int render_json(struct str json, struct strbuf *out, struct err *err);
/* Block style; strings are quoted unless they can be nothing else. */
int render_yaml(struct str json, struct strbuf *out, struct err *err);

#endif
