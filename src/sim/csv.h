/* sim/csv.h - rows of comma separated text, as RFC 4180 has them. */
#ifndef SIM_CSV_H
#define SIM_CSV_H
#include <stdbool.h>
#include "base/str.h"

/* Cuts the next row off *rest into cells: slices of the text, without outer quotes;
 * a doubled quote inside them stays doubled.  Cells past `max` are dropped, missing
 * ones are empty.  False at the end of the text. */
bool csv_row(struct str *rest, struct str *cells, uint32_t max);

#endif
