/* order.c: keys from the bits of floats, or from integers. */
#include "ref/order.h"

#include <math.h>
#include <string.h>

static int64_t float_key(double v)
{
    int64_t bits;
    if (isnan(v))
        return INT64_MAX;
    if (v == 0)
        return 0;
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits; /* negative floats grow in magnitude with their bits */
}

void gopt_order_keys(const gopt_tensor *t, int64_t first, int64_t n, int64_t stride, int64_t *key)
{
    bool is_float = gopt_dtype_is_float(t->dtype);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = first + i * stride;
        key[i] = is_float ? float_key(gopt_tensor_get(t, at)) : gopt_tensor_get_int(t, at);
        if (t->dtype == GOPT_DTYPE_U64)
            key[i] ^= INT64_MIN;
    }
}
