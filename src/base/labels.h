/* base/labels.h - words that nodes carry and requests ask for.
 *
 * Labels are "key=value" pairs separated by commas, sorted by key, each key once;
 * "" is none.  GPU models are alternatives separated by '|', each as a person
 * writes it: "h100" is found in "NVIDIA H100 80GB HBM3", as a whole word and in
 * either case; "a10" is not found in "NVIDIA A100".
 * docs/spec/scheduling.md, "Placement" */
#ifndef BASE_LABELS_H
#define BASE_LABELS_H
#include <stdbool.h>
#include "base/strbuf.h"

/* Sorts the pairs in place, which never makes the text longer.  False, untouched: not a
 * list of labels, or a key stands twice.  Keys and values: 1 to 63 of letters, digits,
 * '.', '_', '-' and '/'. */
bool labels_sort(char *text);
/* Whether every pair of `asked` stands in `has`; both sorted. */
bool labels_hold(const char *asked, const char *has);
/* The first pair of `asked` that `has` lacks; empty: none. */
struct str labels_lacking(const char *asked, const char *has);

/* One or more alternatives of 1 to 31 printable ASCII characters without ',' and '"'. */
bool labels_models_sane(const char *asked);
bool labels_name_model(const char *asked, const char *model); /* "" asks nothing */

#endif
