/* dim_use.c: dimensions with values for their symbols, as text, and the symbols themselves. */
#include "dim_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- binding ---- */

typedef struct binding {
    const char *const *names;
    const int64_t *values;
    int n;
} binding;

static gopt_dim bind(gopt_dims *t, gopt_dim d, const binding *with);

static gopt_dim bind_symbol(gopt_dims *t, const gopt_dim_atom *atom, const binding *with)
{
    for (int i = 0; i < with->n; i++)
        if (!strcmp(with->names[i], atom->name))
            return gopt_dim_of(with->values[i]);
    return gopt_dim_symbol(t, atom->name);
}

static gopt_dim bind_atom(gopt_dims *t, int32_t k, const binding *with)
{
    gopt_dim_atom atom = t->atoms[k]; /* a copy: the table may grow below */
    gopt_dim r;
    if (atom.mark == *t->visit)
        return atom.bound;
    if (atom.kind == GOPT_DIM_SYMBOL) {
        r = bind_symbol(t, &atom, with);
    } else {
        gopt_dim a = bind(t, atom.a, with), b = bind(t, atom.b, with);
        r = atom.kind == GOPT_DIM_DIV   ? gopt_dim_div(t, a, b)
            : atom.kind == GOPT_DIM_MOD ? gopt_dim_mod(t, a, b)
            : atom.kind == GOPT_DIM_MIN ? gopt_dim_min(t, a, b)
                                        : gopt_dim_max(t, a, b);
    }
    t->atoms[k].mark = *t->visit;
    t->atoms[k].bound = r;
    return r;
}

static gopt_dim bind(gopt_dims *t, gopt_dim d, const binding *with)
{
    gopt_dim sum = gopt_dim_of(0);
    if (d.e <= 0)
        return d;
    gopt_dim_entry entry = t->entries[d.e - 1];
    for (int i = 0; i < entry.n; i++) {
        gopt_dim product = gopt_dim_of(entry.at[i].k);
        for (int j = 0; j < entry.at[i].degree; j++)
            product = gopt_dim_mul(t, product, bind_atom(t, entry.at[i].atom[j], with));
        sum = gopt_dim_add(t, sum, product);
    }
    return sum;
}

gopt_dim gopt_dim_bind(gopt_dims *t, gopt_dim d, const char *const *names, const int64_t *values, int n)
{
    if (d.e <= 0)
        return d;
    ++*t->visit;
    return bind(t, d, &(binding){.names = names, .values = values, .n = n});
}

/* ---- symbols ---- */

typedef struct list {
    const char **names;
    int n, max;
} list;

static void add_name(list *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (!strcmp(l->names[i], name))
            return;
    if (l->n < l->max)
        l->names[l->n++] = name;
}

static void collect(const gopt_dims *t, gopt_dim d, list *l)
{
    if (d.e <= 0)
        return;
    const gopt_dim_entry *entry = &t->entries[d.e - 1];
    for (int i = 0; i < entry->n; i++)
        for (int j = 0; j < entry->at[i].degree; j++) {
            gopt_dim_atom *atom = &t->atoms[entry->at[i].atom[j]];
            if (atom->mark == *t->visit)
                continue;
            atom->mark = *t->visit;
            if (atom->kind == GOPT_DIM_SYMBOL)
                add_name(l, atom->name);
            collect(t, atom->a, l);
            collect(t, atom->b, l);
        }
}

int gopt_dim_symbols(const gopt_dims *t, gopt_dim d, const char **names, int n, int max)
{
    list l = {.names = names, .n = n, .max = max};
    if (d.e <= 0)
        return n;
    ++*t->visit;
    collect(t, d, &l);
    return l.n;
}

/* ---- text ---- */

typedef struct out {
    char *s;
    size_t n, size;
} out;

__attribute__((format(printf, 2, 3))) static void put(out *o, const char *fmt, ...)
{
    va_list args;
    if (o->n >= o->size)
        return;
    va_start(args, fmt);
    int n = vsnprintf(o->s + o->n, o->size - o->n, fmt, args);
    va_end(args);
    o->n += n > 0 ? (size_t)n : 0;
}

static void put_dim(const gopt_dims *t, gopt_dim d, out *o);

/* An operand of a division: in brackets unless it is one symbol or a constant above 0. */
static void put_operand(const gopt_dims *t, gopt_dim d, out *o)
{
    const gopt_dim_term *at = d.e > 0 ? t->entries[d.e - 1].at : NULL;
    bool symbol = at && t->entries[d.e - 1].n == 1 && at->k == 1 && at->degree == 1 &&
                  t->atoms[at->atom[0]].kind == GOPT_DIM_SYMBOL;
    bool bare = symbol || (gopt_dim_is_const(d) && d.k >= 0);
    put(o, bare ? "" : "(");
    put_dim(t, d, o);
    put(o, bare ? "" : ")");
}

/* As a factor of a product a division needs brackets of its own. */
static void put_atom(const gopt_dims *t, const gopt_dim_atom *atom, bool factor, out *o)
{
    if (o->n >= o->size) /* nothing more to see: keeps the walk over shared parts short */
        return;
    switch (atom->kind) {
    case GOPT_DIM_SYMBOL:
        put(o, "%s", atom->name);
        break;
    case GOPT_DIM_DIV:
    case GOPT_DIM_MOD:
        put(o, factor ? "(" : "");
        put_operand(t, atom->a, o);
        put(o, atom->kind == GOPT_DIM_DIV ? "/" : "%%");
        put_operand(t, atom->b, o);
        put(o, factor ? ")" : "");
        break;
    case GOPT_DIM_MIN:
    case GOPT_DIM_MAX:
        put(o, atom->kind == GOPT_DIM_MIN ? "min(" : "max(");
        put_dim(t, atom->a, o);
        put(o, ", ");
        put_dim(t, atom->b, o);
        put(o, ")");
        break;
    }
}

static void put_term(const gopt_dims *t, const gopt_dim_term *term, bool first, out *o)
{
    uint64_t k = term->k < 0 ? 0 - (uint64_t)term->k : (uint64_t)term->k;
    bool factor = k != 1 || term->degree > 1 || (first && term->k < 0);
    put(o, term->k < 0 ? (first ? "-" : " - ") : first ? "" : " + ");
    if (k != 1 || term->degree == 0)
        put(o, term->degree ? "%llu*" : "%llu", (unsigned long long)k);
    for (int i = 0; i < term->degree; i++) {
        put(o, i ? "*" : "");
        put_atom(t, &t->atoms[term->atom[i]], factor, o);
    }
}

static void put_dim(const gopt_dims *t, gopt_dim d, out *o)
{
    if (!gopt_dim_is_known(d))
        put(o, "?");
    if (gopt_dim_is_const(d))
        put(o, "%lld", (long long)d.k);
    for (int i = 0; d.e > 0 && i < t->entries[d.e - 1].n; i++)
        put_term(t, &t->entries[d.e - 1].at[i], i == 0, o);
}

char *gopt_dim_print(const gopt_dims *t, gopt_dim d, char *buf, size_t size)
{
    out o = {.s = buf, .size = size};
    if (size)
        buf[0] = '\0';
    put_dim(t, d, &o);
    return buf;
}
