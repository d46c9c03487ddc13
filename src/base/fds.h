/* base/fds.h - the three descriptors that every program takes for granted. */
#ifndef BASE_FDS_H
#define BASE_FDS_H

/* First thing in main.  Where a program was started with standard input, output or
 * error closed, the next file or socket would get that number, and what is said to
 * people would go into it.  Such a place is taken: input is at its end, writing
 * fails, as it should where nobody can read.  0, or -1 when that is impossible. */
int fds_take_standard(void);

#endif
