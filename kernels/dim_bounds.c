/* dim_bounds.c: what can be proven of a dimension's size, symbols being sizes. A bound of INT64_MIN or INT64_MAX is
 * none. */
#include "dim_table.h"

static int64_t add_low(int64_t a, int64_t b)
{
    int64_t r;
    return a == INT64_MIN || b == INT64_MIN || __builtin_add_overflow(a, b, &r) ? INT64_MIN : r;
}

static int64_t add_high(int64_t a, int64_t b)
{
    int64_t r;
    return a == INT64_MAX || b == INT64_MAX || __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

/* The product of a bound with a coefficient; `none` when there is no bound or it does not fit. */
static int64_t scale(int64_t bound, int64_t k, int64_t none)
{
    int64_t r;
    return bound == INT64_MIN || bound == INT64_MAX || __builtin_mul_overflow(bound, k, &r) ? none : r;
}

static void product_bounds(const gopt_dims *t, const gopt_dim_term *term, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 1;
    for (int i = 0; i < term->degree; i++) {
        const gopt_dim_atom *atom = &t->atoms[term->atom[i]];
        if (term->degree == 1) {
            *lo = atom->lo;
            *hi = atom->hi;
        } else if (atom->lo < 0) {
            *lo = INT64_MIN;
            *hi = INT64_MAX;
            return;
        } else { /* a product of sizes is at least 0 */
            *lo = scale(*lo, atom->lo, 0);
            *hi = *hi == INT64_MAX ? INT64_MAX : scale(atom->hi, *hi, INT64_MAX);
        }
    }
}

void gopt_dim_bounds(const gopt_dims *t, gopt_dim d, int64_t *lo, int64_t *hi)
{
    *lo = *hi = d.k;
    if (d.e <= 0)
        return;
    const gopt_dim_entry *entry = &t->entries[d.e - 1];
    for (int i = 0; i < entry->n; i++) {
        int64_t low, high, k = entry->at[i].k;
        product_bounds(t, &entry->at[i], &low, &high);
        *lo = add_low(*lo, scale(k > 0 ? low : high, k, INT64_MIN));
        *hi = add_high(*hi, scale(k > 0 ? high : low, k, INT64_MAX));
    }
}

int64_t gopt_dim_lower(const gopt_dims *t, gopt_dim d)
{
    int64_t lo, hi;
    if (!gopt_dim_is_known(d))
        return INT64_MIN;
    gopt_dim_bounds(t, d, &lo, &hi);
    return lo;
}

static int64_t floor_bound(int64_t bound, int64_t divisor)
{
    if (bound == INT64_MIN || bound == INT64_MAX)
        return bound;
    return bound / divisor - (bound % divisor < 0);
}

void gopt_dim_atom_bounds(const gopt_dims *t, gopt_dim_atom *atom)
{
    int64_t alo, ahi, blo, bhi;
    gopt_dim_bounds(t, atom->a, &alo, &ahi);
    gopt_dim_bounds(t, atom->b, &blo, &bhi);
    atom->lo = INT64_MIN;
    atom->hi = INT64_MAX;
    switch (atom->kind) {
    case GOPT_DIM_SYMBOL:
        atom->lo = 0;
        break;
    case GOPT_DIM_DIV:
        if (gopt_dim_is_const(atom->b)) {
            atom->lo = floor_bound(alo, atom->b.k);
            atom->hi = floor_bound(ahi, atom->b.k);
        } else if (alo >= 0 && blo >= 0) {
            atom->lo = 0;
            atom->hi = ahi;
        }
        break;
    case GOPT_DIM_MOD:
        if (blo >= 0) {
            atom->lo = 0;
            atom->hi = bhi == INT64_MAX ? INT64_MAX : bhi - 1;
        }
        break;
    case GOPT_DIM_MIN:
        atom->lo = GOPT_MIN(alo, blo);
        atom->hi = GOPT_MIN(ahi, bhi);
        break;
    case GOPT_DIM_MAX:
        atom->lo = GOPT_MAX(alo, blo);
        atom->hi = GOPT_MAX(ahi, bhi);
        break;
    }
}
