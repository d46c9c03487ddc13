/* base/vec.h - dense arrays that grow.
 *
 *     VEC(struct node) nodes = {0};
 *     struct node *n = VEC_ADD(&nodes);      (zeroed, valid until the next add)
 *     VEC_DONE(&nodes);
 *
 * Adding may move the items: what is pushed or inserted must not be read from
 * the vector itself, so copy it first. */
#ifndef BASE_VEC_H
#define BASE_VEC_H
#include <stdint.h>
#include <string.h>
#include "base/check.h"
#include "base/mem.h"

#define VEC(type) struct { type *v; uint32_t n, cap; }

void *vec_grow_(void *v, uint32_t *cap, uint32_t need, size_t bytes);

#define VEC_RESERVE(vec, need) \
    ((vec)->cap < (need) \
         ? (void)((vec)->v = vec_grow_((vec)->v, &(vec)->cap, (need), sizeof(*(vec)->v))) \
         : (void)0)
#define VEC_ADD(vec) \
    (VEC_RESERVE(vec, (vec)->n + 1), memset(&(vec)->v[(vec)->n], 0, sizeof(*(vec)->v)), \
     &(vec)->v[(vec)->n++])
#define VEC_PUSH(vec, item) (*VEC_ADD(vec) = (item))
#define VEC_POP(vec) ((vec)->v[--(vec)->n])
#define VEC_REMOVE(vec, at) /* keeps the order */ \
    do { \
        uint32_t at_ = (at); \
        CHECK(at_ < (vec)->n); \
        memmove(&(vec)->v[at_], &(vec)->v[at_ + 1], \
                ((vec)->n - at_ - 1) * sizeof(*(vec)->v)); \
        (vec)->n--; \
    } while (0)
#define VEC_INSERT(vec, at, item) \
    do { \
        uint32_t at_ = (at); \
        CHECK(at_ <= (vec)->n); \
        VEC_RESERVE(vec, (vec)->n + 1); \
        memmove(&(vec)->v[at_ + 1], &(vec)->v[at_], ((vec)->n - at_) * sizeof(*(vec)->v)); \
        (vec)->v[at_] = (item); \
        (vec)->n++; \
    } while (0)
#define VEC_CLEAR(vec) ((void)((vec)->n = 0))
#define VEC_DONE(vec) (mem_free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)
#define VEC_EACH(item, vec) \
    for (__typeof__(*(vec)->v) *item = (vec)->v, \
                               *item##_end_ = (vec)->n ? (vec)->v + (vec)->n : (vec)->v; \
         item < item##_end_; item++)

#endif
