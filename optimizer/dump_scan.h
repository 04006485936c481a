/* dump_scan.h: the words of one line of the text form. */
#ifndef GOPT_DUMP_SCAN_H
#define GOPT_DUMP_SCAN_H

#include "graph.h"

typedef struct gopt_scan {
    const char *p;
    gopt_family *family; /* names, dimensions and tensors are made in its arena */
    gopt_err *e;
} gopt_scan;

gopt_status gopt_scan_fail(const gopt_scan *s, const char *expected); /* EINPUT: "... expected at '...'" */
/* All skip blanks first. */
bool gopt_scan_end(gopt_scan *s);
bool gopt_scan_accept(gopt_scan *s, const char *mark);
gopt_status gopt_scan_expect(gopt_scan *s, const char *mark);
/* A bare or quoted name, in the arena; quoted (may be NULL) says which. */
gopt_status gopt_scan_name(gopt_scan *s, const char **out, bool *quoted);
gopt_status gopt_scan_type(gopt_scan *s, gopt_fact *out);
/* A type of known shape and elements. */
gopt_status gopt_scan_tensor(gopt_scan *s, const gopt_tensor **out);
/* "{name=value, ...}", or nothing. */
gopt_status gopt_scan_attrs(gopt_scan *s, gopt_attrs *out);

#endif
