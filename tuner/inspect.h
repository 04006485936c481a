/* inspect.h: the parts of gopt inspect: each looks at one kind of file and says what is in it, as text or as JSON. */
#ifndef GOPT_INSPECT_H
#define GOPT_INSPECT_H

#include "base/text.h"
#include "cli.h"
#include "graph.h"
#include "json.h"

typedef struct gopt_inspection {
    const char *path;
    const gopt_shapes *shapes; /* of a model's symbolic dimensions */
    bool verbose;              /* every step, trial, knob */
    double headroom;           /* bytes for which a model's largest batch is wanted; 0: it is not */
    gopt_text *text;           /* one of both: the other is NULL */
    cJSON *json;
} gopt_inspection;

gopt_status gopt_inspect_model(const gopt_inspection *x, gopt_err *e);
gopt_status gopt_inspect_manifest(const gopt_inspection *x, gopt_err *e);
gopt_status gopt_inspect_bundle(const gopt_inspection *x, gopt_err *e);
gopt_status gopt_inspect_study(const gopt_inspection *x, gopt_err *e);

/* Part of a model's; `shape` is what the rest of it is said of. */
gopt_status gopt_inspect_headroom(const gopt_inspection *x, const gopt_graph *g, const char *shape, gopt_err *e);

/* ---- for the parts: a line of text "  label   value" or a member of the JSON ---- */
void gopt_inspect_text(const gopt_inspection *x, const char *name, const char *label, const char *value);
void gopt_inspect_number(const gopt_inspection *x, const char *name, const char *label, double value);
void gopt_inspect_bytes(const gopt_inspection *x, const char *name, const char *label, double value);

#endif
