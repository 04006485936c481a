/* dim_div.c: division, remainder, minimum and maximum of dimensions. What does not come out even becomes an atom, after
 * its operands were reduced so far that equal quotients get equal atoms: (2*h+3)/4 and (h+1)/2 are one. */
#include "dim_table.h"

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

/* Quotient of two terms without remainder. */
static bool term_div(const gopt_dim_term *a, const gopt_dim_term *b, gopt_dim_term *out)
{
    gopt_dim_term r = {.k = a->k};
    int used = 0;
    if (b->k == 0 || (b->k != -1 && a->k % b->k != 0) || (b->k == -1 && a->k == INT64_MIN))
        return false;
    r.k = a->k / b->k;
    for (int i = 0; i < a->degree; i++)
        if (used < b->degree && a->atom[i] == b->atom[used])
            used++;
        else
            r.atom[r.degree++] = a->atom[i];
    *out = r;
    return used == b->degree;
}

/* Long division of polynomials: true with the quotient when nothing is left over. */
static bool exact(const gopt_dims *t, gopt_dim a, gopt_dim b, gopt_dim_poly *q)
{
    gopt_dim_poly rest, divisor;
    gopt_dim_term step, product;
    gopt_dim_poly_of(t, a, &rest);
    gopt_dim_poly_of(t, b, &divisor);
    *q = (gopt_dim_poly){0};
    while (rest.n > 0) {
        if (!term_div(&rest.at[0], &divisor.at[0], &step))
            return false;
        gopt_dim_poly_add(q, &step);
        step.k = -step.k;
        for (int i = 0; i < divisor.n; i++) {
            if (!gopt_dim_term_mul(&step, &divisor.at[i], &product))
                return false;
            gopt_dim_poly_add(&rest, &product);
        }
        if (rest.failed || q->failed)
            return false;
    }
    return true;
}

/* Divides both by the atoms that all their terms share, sizes not being 0 where one divides by them. */
static void cancel(gopt_dims *t, gopt_dim *a, gopt_dim *b)
{
    gopt_dim_poly p, q, reduced;
    gopt_dim_poly_of(t, *b, &q);
    if (q.n != 1 || q.at[0].degree == 0)
        return;
    gopt_dim_poly_of(t, *a, &p);
    gopt_dim_term monomial = q.at[0];
    monomial.k = 1;
    reduced = (gopt_dim_poly){0};
    for (int i = 0; i < p.n; i++) {
        if (!term_div(&p.at[i], &monomial, &p.at[i]))
            return;
        gopt_dim_poly_add(&reduced, &p.at[i]);
    }
    *a = gopt_dim_of_poly(t, &reduced);
    *b = gopt_dim_of(q.at[0].k);
}

/* a = c * whole + part, with the coefficients of part in [0, c). */
static void split(const gopt_dims *t, gopt_dim a, int64_t c, gopt_dim_poly *whole, gopt_dim_poly *part)
{
    gopt_dim_poly p;
    gopt_dim_poly_of(t, a, &p);
    *whole = *part = (gopt_dim_poly){0};
    for (int i = 0; i < p.n; i++) {
        gopt_dim_term term = p.at[i];
        term.k = floor_div(p.at[i].k, c);
        gopt_dim_poly_add(whole, &term);
        term.k = p.at[i].k % c;
        term.k += term.k < 0 ? c : 0;
        gopt_dim_poly_add(part, &term);
    }
}

/* Divides all terms and c by what they have in common; a constant term is rounded down. */
static int64_t reduce(gopt_dim_poly *p, int64_t c)
{
    int64_t g = c;
    for (int i = 0; i < p->n; i++)
        g = p->at[i].degree ? gcd(g, p->at[i].k) : g;
    for (int i = 0; i < p->n; i++)
        p->at[i].k /= g; /* all are at least 0 */
    if (p->n && p->at[p->n - 1].k == 0)
        p->n--;
    return c / g;
}

/* (x/m + r) / c is (x + r*m) / (m*c): the single quotient inside p, or unknown. */
static gopt_dim nested(gopt_dims *t, const gopt_dim_poly *p, int64_t c)
{
    const gopt_dim_term *lead = &p->at[0];
    int64_t r = p->n == 2 ? p->at[1].k : 0, shift, divisor;
    if (p->n > 2 || (p->n == 2 && p->at[1].degree) || lead->degree != 1 || lead->k != 1)
        return GOPT_DIM_UNKNOWN;
    gopt_dim_atom inner = t->atoms[lead->atom[0]];
    if (inner.kind != GOPT_DIM_DIV || !gopt_dim_is_const(inner.b))
        return GOPT_DIM_UNKNOWN;
    if (__builtin_mul_overflow(r, inner.b.k, &shift) || __builtin_mul_overflow(c, inner.b.k, &divisor))
        return GOPT_DIM_UNKNOWN;
    return gopt_dim_div(t, gopt_dim_add(t, inner.a, gopt_dim_of(shift)), gopt_dim_of(divisor));
}

static gopt_dim div_const(gopt_dims *t, gopt_dim a, int64_t c)
{
    gopt_dim_poly whole, part;
    if (c == INT64_MIN)
        return GOPT_DIM_UNKNOWN;
    if (c < 0)
        return div_const(t, gopt_dim_sub(t, gopt_dim_of(0), a), -c);
    if (!gopt_dim_is_known(a))
        return a;
    split(t, a, c, &whole, &part);
    c = reduce(&part, c);
    gopt_dim q = gopt_dim_of_poly(t, &whole), left = gopt_dim_of_poly(t, &part);
    if (!gopt_dim_is_known(left))
        return left;
    if (gopt_dim_is_const(left)) /* below c, so its quotient is 0 */
        return q;
    gopt_dim inner = nested(t, &part, c);
    if (!gopt_dim_is_known(inner))
        inner = gopt_dim_of_atom(t, GOPT_DIM_DIV, NULL, left, gopt_dim_of(c));
    return gopt_dim_add(t, q, inner);
}

gopt_dim gopt_dim_div(gopt_dims *t, gopt_dim a, gopt_dim b)
{
    gopt_dim_poly q;
    if (!gopt_dim_is_known(a) || !gopt_dim_is_known(b) || (gopt_dim_is_const(b) && b.k == 0))
        return GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(a) && gopt_dim_is_const(b))
        return a.k == INT64_MIN && b.k == -1 ? GOPT_DIM_UNKNOWN : gopt_dim_of(floor_div(a.k, b.k));
    if (exact(t, a, b, &q))
        return gopt_dim_of_poly(t, &q);
    cancel(t, &a, &b);
    if (!gopt_dim_is_known(a))
        return a;
    return gopt_dim_is_const(b) ? div_const(t, a, b.k) : gopt_dim_of_atom(t, GOPT_DIM_DIV, NULL, a, b);
}

gopt_dim gopt_dim_ceil_div(gopt_dims *t, gopt_dim a, gopt_dim b)
{
    gopt_dim zero = gopt_dim_of(0);
    if (gopt_dim_lower(t, b) < 0) /* right for either sign; the other form is the one people write */
        return gopt_dim_sub(t, zero, gopt_dim_div(t, gopt_dim_sub(t, zero, a), b));
    return gopt_dim_div(t, gopt_dim_add(t, a, gopt_dim_sub(t, b, gopt_dim_of(1))), b);
}

static gopt_dim mod_const(gopt_dims *t, gopt_dim a, int64_t c)
{
    gopt_dim_poly whole, part;
    if (c == INT64_MIN)
        return GOPT_DIM_UNKNOWN;
    if (c < 0) {
        gopt_dim zero = gopt_dim_of(0), minus = gopt_dim_sub(t, zero, a);
        return gopt_dim_is_known(minus) ? gopt_dim_sub(t, zero, mod_const(t, minus, -c)) : minus;
    }
    split(t, a, c, &whole, &part);
    gopt_dim left = gopt_dim_of_poly(t, &part);
    if (!gopt_dim_is_known(left) || gopt_dim_is_const(left))
        return left;
    return gopt_dim_of_atom(t, GOPT_DIM_MOD, NULL, left, gopt_dim_of(c));
}

gopt_dim gopt_dim_mod(gopt_dims *t, gopt_dim a, gopt_dim b)
{
    gopt_dim_poly q;
    if (!gopt_dim_is_known(a) || !gopt_dim_is_known(b) || (gopt_dim_is_const(b) && b.k == 0))
        return GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(a) && gopt_dim_is_const(b)) {
        int64_t r = b.k == -1 ? 0 : a.k % b.k;
        return gopt_dim_of(r != 0 && (r < 0) != (b.k < 0) ? r + b.k : r);
    }
    if (exact(t, a, b, &q))
        return gopt_dim_of(0);
    return gopt_dim_is_const(b) ? mod_const(t, a, b.k) : gopt_dim_of_atom(t, GOPT_DIM_MOD, NULL, a, b);
}

/* The smaller of the two (sign 1) or the larger one (sign -1). */
static gopt_dim extreme(gopt_dims *t, gopt_dim a, gopt_dim b, int sign)
{
    if (!gopt_dim_is_known(a) || !gopt_dim_is_known(b))
        return GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(a) && gopt_dim_is_const(b))
        return (a.k < b.k) == (sign > 0) ? a : b;
    if (gopt_dim_lower(t, gopt_dim_sub(t, b, a)) >= 0)
        return sign > 0 ? a : b;
    if (gopt_dim_lower(t, gopt_dim_sub(t, a, b)) >= 0)
        return sign > 0 ? b : a;
    bool ordered = a.e > b.e || (a.e == b.e && a.k > b.k); /* the constant last */
    return gopt_dim_of_atom(t, sign > 0 ? GOPT_DIM_MIN : GOPT_DIM_MAX, NULL, ordered ? a : b, ordered ? b : a);
}

gopt_dim gopt_dim_min(gopt_dims *t, gopt_dim a, gopt_dim b)
{
    return extreme(t, a, b, 1);
}

gopt_dim gopt_dim_max(gopt_dims *t, gopt_dim a, gopt_dim b)
{
    return extreme(t, a, b, -1);
}
