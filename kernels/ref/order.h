/* order.h: integer keys that compare like the elements of a tensor: for ArgMax, ArgMin, TopK. */
#ifndef GOPT_REF_ORDER_H
#define GOPT_REF_ORDER_H

#include "ref/operand.h"

/* Keys of n elements, `stride` apart, of a float, integer or bool tensor. Equal elements (also 0 and -0) have equal
 * keys; NaN is above everything. */
void gopt_order_keys(const gopt_tensor *t, int64_t first, int64_t n, int64_t stride, int64_t *key);

#endif
