/* base/str.h - slices of text that somebody else owns, and fixed text arrays. */
#ifndef BASE_STR_H
#define BASE_STR_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str { /* not terminated; p may be NULL when n is 0 */
    const char *p;
    size_t n;
};

#define STR(lit) ((struct str){("" lit), sizeof(lit) - 1})
static inline struct str str_of(const char *c) { return (struct str){c, c ? strlen(c) : 0}; }
static inline struct str str_n(const char *p, size_t n) { return (struct str){p, n}; }

bool str_eq(struct str a, struct str b);
bool str_eq_nocase(struct str a, struct str b); /* ASCII */
int str_cmp(struct str a, struct str b);        /* bytes, shorter first */
int str_natural_cmp(struct str a, struct str b);/* "n2" before "n10"; total */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
struct str str_trim(struct str s);              /* spaces and tabs */
/* Cuts at the first `sep`: *head before it, *s after it.  False (and *head = *s,
 * *s empty) when there is no sep. */
bool str_cut(struct str *s, char sep, struct str *head);
/* Plain decimal, no sign, no leading '+', no overflow. */
bool str_to_u64(struct str s, uint64_t *ret);
bool str_to_i64(struct str s, int64_t *ret); /* optional '-' */
/* The length in bytes of the UTF-8 character s begins with; 0 if it is none. */
size_t str_utf8_len(struct str s);
bool str_is_utf8(struct str s);              /* valid and without NUL */
/* A name as people give it: [a-z0-9]([a-z0-9._-]*[a-z0-9])?, n in 1..max. */
bool str_is_name(struct str s, size_t max);
/* Same length and same bytes, in time that depends on the lengths alone. */
bool str_eq_secret(struct str a, struct str b);

/* Copies into a fixed array and terminates.  False, dst untouched, if it does
 * not fit or holds a NUL. */
bool text_set(char *dst, size_t cap, struct str s);
#define TEXT_SET(array, s) text_set((array), sizeof(array), (s))
/* As text_set but cuts what does not fit (at a UTF-8 boundary): for messages. */
void text_clip(char *dst, size_t cap, struct str s);
#define TEXT_CLIP(array, s) text_clip((array), sizeof(array), (s))
int text_fmt(char *dst, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 3, 4))); /* clips; returns the length written */

#endif
