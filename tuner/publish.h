/* publish.h: writing what was decided. */
#ifndef GOPT_PUBLISH_H
#define GOPT_PUBLISH_H

#include "findings.h"
#include "study.h"

/* The manifest of these findings into dir/manifest.yaml; the chosen trial and the default must have bundles in dir. */
gopt_status gopt_publish_manifest(const gopt_findings *f, const gopt_study *s, const char *dir, gopt_err *e);
/* One or a few lines for people: what was chosen and what it brings. */
void gopt_publish_summary(const gopt_findings *f, const char *dir, gopt_text *out);

#endif
