/* base/mem.h - allocation that cannot fail, ownership that can be seen.
 *
 * Out of memory ends the process: state is durable and a restart is cheap.
 * Hence every size that comes from outside is bounded before it is used here. */
#ifndef BASE_MEM_H
#define BASE_MEM_H
#include <stddef.h>

void *mem_alloc(size_t bytes);                           /* zeroed */
void *mem_array(size_t count, size_t bytes);             /* zeroed, checked product */
void *mem_resize(void *p, size_t count, size_t bytes);   /* new part is not zeroed */
char *mem_strndup(const char *p, size_t n);              /* terminated copy */
void mem_free(void *p);                                  /* NULL is fine */
void mem_zero_secret(void *p, size_t n);                 /* not optimised away */

static inline void mem_free_ptr(void *pp) { mem_free(*(void **)pp); }
#define CLEANUP(f) __attribute__((cleanup(f)))
#define AUTO_FREE CLEANUP(mem_free_ptr)
/* Hands an owned pointer over and forgets it. */
#define STEAL(p) ({ __typeof__(p) stolen_ = (p); (p) = NULL; stolen_; })

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
