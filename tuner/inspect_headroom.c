/* inspect_headroom.c: the largest batch within a limit, before and after optimization. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "batch_headroom.h"
#include "inspect.h"

/* Generated kernels would take a compiler run for every size; "optimized" is without them, and so exact at once. */
static const struct {
    const char *name, *label, *preset;
} sides[] = {{"baseline", "without optimization", "baseline"},
             {"optimized", "all passes, precompiled kernels", "reduce-overhead"}};

static void text_one(const gopt_inspection *x, const char *label, const gopt_batch_headroom *h)
{
    char peak[32], above[32];
    gopt_text_add(x->text, "  %-32s ", label);
    if (h->largest)
        gopt_text_add(x->text, "%" PRId64 " (%s%s)", h->largest, gopt_text_bytes(peak, (double)h->peak),
                      h->ran ? ", has run within the limit" : "");
    else
        gopt_text_put(x->text, "none");
    if (h->peak_above)
        gopt_text_add(x->text, "; %" PRId64 " needs at least %s more", h->above,
                      gopt_text_bytes(above, (double)h->peak_above - x->headroom));
    else if (h->above && !h->why[0])
        gopt_text_add(x->text, "; %" PRId64 " does not fit", h->above);
    if (h->why[0]) {
        gopt_text_put(x->text, "; ");
        gopt_utf8_put(x->text, h->why);
    }
    gopt_text_put(x->text, "\n");
}

static void json_one(cJSON *all, const char *name, const gopt_batch_headroom *h)
{
    cJSON *o = cJSON_AddObjectToObject(all, name);
    gopt_json_number(o, "largest", (double)h->largest);
    gopt_json_number(o, "peak", h->largest ? (double)h->peak : NAN);
    gopt_json_number(o, "above", h->above ? (double)h->above : NAN);
    gopt_json_number(o, "peak_above", h->peak_above ? (double)h->peak_above : NAN);
    cJSON_AddBoolToObject(o, "ran", h->ran);
    gopt_json_text(o, "why", h->why[0] ? h->why : NULL);
}

/* sizes: NULL: the model has no batch. shape: what all else that is said of the model is said of. */
static void put_title(const gopt_inspection *x, cJSON *all, const char *symbol, const gopt_batch_sizes *sizes,
                      const char *shape)
{
    char limit[32];
    const char *others = sizes && sizes->others[0] ? sizes->others : NULL;
    if (all) {
        gopt_json_number(all, "limit", x->headroom);
        gopt_json_text(all, "dimension", symbol);
        gopt_json_text(all, "others", others);
        return;
    }
    gopt_text_put(x->text, "largest ");
    gopt_utf8_put(x->text, symbol ? symbol : "batch");
    gopt_text_add(x->text, " in %s, with one thread", gopt_text_bytes(limit, x->headroom));
    if (others) {
        gopt_text_put(x->text, " and ");
        gopt_utf8_put(x->text, others);
    }
    if (sizes && strcmp(sizes->shape, shape))
        gopt_text_put(x->text, " (not as above, where it does not run)");
    gopt_text_put(x->text, symbol ? ":\n" : ": the model has no batch dimension\n");
}

static gopt_status put_sides(const gopt_inspection *x, cJSON *all, const gopt_graph *g, const gopt_batch_sizes *sizes,
                             gopt_err *e)
{
    for (int i = 0; i < GOPT_COUNT(sides); i++) {
        gopt_config c;
        gopt_batch_headroom h;
        GOPT_TRY(gopt_config_preset(&c, sides[i].preset, e));
        GOPT_TRY(gopt_batch_headroom_find(&h, g, &c, sizes, (size_t)x->headroom, e));
        if (x->json)
            json_one(all, sides[i].name, &h);
        else
            text_one(x, sides[i].label, &h);
    }
    return GOPT_OK;
}

gopt_status gopt_inspect_headroom(const gopt_inspection *x, const gopt_graph *g, const char *shape, gopt_err *e)
{
    const char *symbol = gopt_batch_symbol(g);
    cJSON *all = x->json ? cJSON_AddObjectToObject(x->json, "headroom") : NULL;
    gopt_batch_sizes sizes;
    if (!symbol) {
        put_title(x, all, NULL, NULL, shape);
        return GOPT_OK;
    }
    GOPT_TRY(gopt_batch_sizes_find(&sizes, g, symbol, x->shapes, e));
    put_title(x, all, symbol, &sizes, shape);
    return put_sides(x, all, g, &sizes, e);
}
