/* dim.c: the table of dimensions: polynomials in canonical form, each kept once. */
#include "dim_table.h"

#include <string.h>

gopt_dims *gopt_dims_new(gopt_arena *a)
{
    gopt_dims *t = GOPT_NEW(a, gopt_dims, 1);
    uint32_t *visit = GOPT_NEW(a, uint32_t, 1);
    if (!t || !visit)
        return NULL;
    t->arena = a;
    t->visit = visit;
    memset(t->atom_bucket, -1, sizeof t->atom_bucket);
    memset(t->entry_bucket, -1, sizeof t->entry_bucket);
    return t;
}

/* ---- polynomials ---- */

/* Graded order, first atoms first: above 0 when a comes before b. */
static int compare_atoms(const gopt_dim_term *a, const gopt_dim_term *b)
{
    if (a->degree != b->degree)
        return a->degree - b->degree;
    for (int i = 0; i < a->degree; i++)
        if (a->atom[i] != b->atom[i])
            return b->atom[i] > a->atom[i] ? 1 : -1;
    return 0;
}

void gopt_dim_poly_add(gopt_dim_poly *p, const gopt_dim_term *term)
{
    int at = 0, order = -1;
    if (term->k == 0 || p->failed)
        return;
    while (at < p->n && (order = compare_atoms(&p->at[at], term)) > 0)
        at++;
    if (at < p->n && order == 0) {
        p->failed = __builtin_add_overflow(p->at[at].k, term->k, &p->at[at].k);
        if (p->at[at].k == 0)
            memmove(&p->at[at], &p->at[at + 1], (size_t)(--p->n - at) * sizeof *term);
        return;
    }
    if (p->n == GOPT_DIM_TERMS) {
        p->failed = true;
        return;
    }
    memmove(&p->at[at + 1], &p->at[at], (size_t)(p->n++ - at) * sizeof *term);
    p->at[at] = *term;
}

bool gopt_dim_term_mul(const gopt_dim_term *a, const gopt_dim_term *b, gopt_dim_term *out)
{
    gopt_dim_term r = {.degree = a->degree + b->degree};
    if (r.degree > GOPT_DIM_DEGREE || __builtin_mul_overflow(a->k, b->k, &r.k))
        return false;
    for (int i = 0, j = 0; i + j < r.degree;) {
        bool left = j == b->degree || (i < a->degree && a->atom[i] <= b->atom[j]);
        r.atom[i + j] = left ? a->atom[i] : b->atom[j];
        i += left;
        j += !left;
    }
    *out = r;
    return true;
}

void gopt_dim_poly_of(const gopt_dims *t, gopt_dim d, gopt_dim_poly *p)
{
    p->n = 0;
    p->failed = false;
    if (d.e > 0) {
        const gopt_dim_entry *entry = &t->entries[d.e - 1];
        memcpy(p->at, entry->at, (size_t)entry->n * sizeof *entry->at);
        p->n = entry->n;
    } else if (d.k != 0) {
        p->at[p->n++] = (gopt_dim_term){.k = d.k};
    }
}

/* ---- the table ---- */

static uint32_t mix(uint32_t h, uint64_t v)
{
    uint64_t x = (h ^ v) * 0x9e3779b97f4a7c15U;
    return (uint32_t)(x >> 32);
}

static int32_t poly_bucket(const gopt_dim_poly *p)
{
    uint32_t h = 0;
    for (int i = 0; i < p->n; i++) {
        h = mix(h, (uint64_t)p->at[i].k);
        for (int j = 0; j < p->at[i].degree; j++)
            h = mix(h, (uint64_t)p->at[i].atom[j] + 1);
    }
    return (int32_t)(h % GOPT_DIM_BUCKETS);
}

static bool same_terms(const gopt_dim_entry *entry, const gopt_dim_poly *p)
{
    for (int i = 0; i < p->n; i++)
        if (entry->at[i].k != p->at[i].k || compare_atoms(&entry->at[i], &p->at[i]))
            return false;
    return true;
}

gopt_dim gopt_dim_of_poly(gopt_dims *t, const gopt_dim_poly *p)
{
    if (p->failed)
        return GOPT_DIM_UNKNOWN;
    if (p->n == 0 || p->at[0].degree == 0)
        return gopt_dim_of(p->n ? p->at[0].k : 0);
    int32_t *bucket = &t->entry_bucket[poly_bucket(p)];
    for (int32_t k = *bucket; k >= 0; k = t->entries[k].next)
        if (t->entries[k].n == p->n && same_terms(&t->entries[k], p))
            return (gopt_dim){.e = k + 1};
    gopt_dim_entry *entries =
        gopt_arena_grow(t->arena, t->entries, t->n_entries, &t->cap_entries, t->n_entries + 1, sizeof *entries);
    gopt_dim_term *at = gopt_arena_copy(t->arena, p->at, (size_t)p->n, sizeof *at);
    t->entries = entries ? entries : t->entries;
    if (!entries || !at || t->n_entries == INT32_MAX - 1)
        return GOPT_DIM_UNKNOWN;
    entries[t->n_entries] = (gopt_dim_entry){.at = at, .n = p->n, .next = *bucket};
    *bucket = (int32_t)t->n_entries++;
    return (gopt_dim){.e = *bucket + 1};
}

static uint32_t atom_hash(gopt_dim_kind kind, const char *name, gopt_dim a, gopt_dim b)
{
    uint32_t h = mix((uint32_t)kind, (uint64_t)a.k ^ (uint64_t)a.e << 40);
    for (const char *s = name; s && *s; s++)
        h = mix(h, (unsigned char)*s);
    return mix(h, (uint64_t)b.k ^ (uint64_t)b.e << 40);
}

/* The number of a new atom, -1 without memory. */
static int32_t atom_new(gopt_dims *t, const gopt_dim_atom *atom)
{
    gopt_dim_atom *atoms =
        gopt_arena_grow(t->arena, t->atoms, t->n_atoms, &t->cap_atoms, t->n_atoms + 1, sizeof *atoms);
    const char *name = atom->name ? gopt_arena_str(t->arena, atom->name) : NULL;
    t->atoms = atoms ? atoms : t->atoms;
    if (!atoms || (atom->name && !name) || t->n_atoms == INT32_MAX)
        return -1;
    atoms[t->n_atoms] = *atom;
    atoms[t->n_atoms].name = name;
    return (int32_t)t->n_atoms++;
}

static int depth(const gopt_dims *t, gopt_dim d)
{
    int deepest = 0;
    if (d.e <= 0)
        return 0;
    const gopt_dim_entry *entry = &t->entries[d.e - 1];
    for (int i = 0; i < entry->n; i++)
        for (int j = 0; j < entry->at[i].degree; j++)
            deepest = GOPT_MAX(deepest, t->atoms[entry->at[i].atom[j]].depth);
    return deepest;
}

gopt_dim gopt_dim_of_atom(gopt_dims *t, gopt_dim_kind kind, const char *name, gopt_dim a, gopt_dim b)
{
    gopt_dim_poly p = {.n = 1, .at[0] = {.k = 1, .degree = 1}};
    int32_t *bucket = &t->atom_bucket[atom_hash(kind, name, a, b) % GOPT_DIM_BUCKETS], found = *bucket;
    for (; found >= 0; found = t->atoms[found].next) {
        const gopt_dim_atom *at = &t->atoms[found];
        bool same = at->kind == kind && gopt_dim_equal(at->a, a) && gopt_dim_equal(at->b, b);
        if (same && (!name || !strcmp(at->name, name)))
            break;
    }
    if (found < 0) {
        gopt_dim_atom atom = {.kind = kind, .name = name, .a = a, .b = b, .next = *bucket};
        gopt_dim_atom_bounds(t, &atom);
        atom.depth = 1 + GOPT_MAX(depth(t, a), depth(t, b));
        found = atom.depth > GOPT_DIM_DEPTH ? -1 : atom_new(t, &atom);
        if (found < 0)
            return GOPT_DIM_UNKNOWN;
        *bucket = found;
    }
    p.at[0].atom[0] = found;
    return gopt_dim_of_poly(t, &p);
}

/* ---- the ring ---- */

gopt_dim gopt_dim_symbol(gopt_dims *t, const char *name)
{
    return gopt_dim_of_atom(t, GOPT_DIM_SYMBOL, name, gopt_dim_of(0), gopt_dim_of(0));
}

bool gopt_dim_equal(gopt_dim a, gopt_dim b)
{
    return a.e >= 0 && a.e == b.e && a.k == b.k;
}

/* a + factor * b. */
static gopt_dim combine(gopt_dims *t, gopt_dim a, gopt_dim b, int64_t factor)
{
    gopt_dim_poly p, q;
    gopt_dim_poly_of(t, a, &p);
    gopt_dim_poly_of(t, b, &q);
    for (int i = 0; i < q.n; i++) {
        p.failed |= __builtin_mul_overflow(q.at[i].k, factor, &q.at[i].k);
        gopt_dim_poly_add(&p, &q.at[i]);
    }
    return gopt_dim_of_poly(t, &p);
}

gopt_dim gopt_dim_add(gopt_dims *t, gopt_dim a, gopt_dim b)
{
    int64_t k;
    if (!gopt_dim_is_known(a) || !gopt_dim_is_known(b))
        return GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(a) && gopt_dim_is_const(b))
        return __builtin_add_overflow(a.k, b.k, &k) ? GOPT_DIM_UNKNOWN : gopt_dim_of(k);
    return combine(t, a, b, 1);
}

gopt_dim gopt_dim_sub(gopt_dims *t, gopt_dim a, gopt_dim b)
{
    int64_t k;
    if (!gopt_dim_is_known(a) || !gopt_dim_is_known(b))
        return GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(a) && gopt_dim_is_const(b))
        return __builtin_sub_overflow(a.k, b.k, &k) ? GOPT_DIM_UNKNOWN : gopt_dim_of(k);
    return combine(t, a, b, -1);
}

gopt_dim gopt_dim_mul(gopt_dims *t, gopt_dim a, gopt_dim b)
{
    gopt_dim_poly p, q, r = {0};
    gopt_dim_term product;
    int64_t k;
    if (!gopt_dim_is_known(a) || !gopt_dim_is_known(b))
        return GOPT_DIM_UNKNOWN;
    if (gopt_dim_is_const(a) && gopt_dim_is_const(b))
        return __builtin_mul_overflow(a.k, b.k, &k) ? GOPT_DIM_UNKNOWN : gopt_dim_of(k);
    gopt_dim_poly_of(t, a, &p);
    gopt_dim_poly_of(t, b, &q);
    for (int i = 0; i < p.n; i++)
        for (int j = 0; j < q.n; j++) {
            if (!gopt_dim_term_mul(&p.at[i], &q.at[j], &product))
                return GOPT_DIM_UNKNOWN;
            gopt_dim_poly_add(&r, &product);
        }
    return gopt_dim_of_poly(t, &r);
}
