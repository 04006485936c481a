/* json.h: what every --json output is made with: unknown is null, text is valid UTF-8. */
#ifndef GOPT_JSON_H
#define GOPT_JSON_H

#include <cjson/cJSON.h>

#include "base/err.h"

/* Each adds a member; a NULL object (no memory) is fine and stays for gopt_json_print to see. */
void gopt_json_number(cJSON *o, const char *name, double v);    /* NAN and infinity: null */
void gopt_json_text(cJSON *o, const char *name, const char *s); /* NULL: null */
cJSON *gopt_json_string(const char *s);
/* The object in one piece on stdout, with a line break; frees it. ENOMEM when it is NULL. */
gopt_status gopt_json_print(cJSON *root, gopt_err *e);

#endif
