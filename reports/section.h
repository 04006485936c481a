/* section.h: what a report is made of. A section is one file under sections/ that ends in a gopt_section, registered by
 * one line of sections.def; it adds blocks to a document and never asks how they are shown. */
#ifndef GOPT_SECTION_H
#define GOPT_SECTION_H

#include "figure.h"

typedef enum gopt_section_place {
    GOPT_SECTION_FIRST,   /* once, before all clusters */
    GOPT_SECTION_CLUSTER, /* once for every cluster */
    GOPT_SECTION_LAST     /* once, after all clusters */
} gopt_section_place;

typedef struct gopt_page {
    gopt_document *d;
    const gopt_findings *f;
    const gopt_finding_cluster *c; /* CLUSTER sections */
    int cluster;                   /* its index */
    const gopt_gallery *gallery;
    const char *out_dir; /* where the report goes; NULL: nowhere */
} gopt_page;

typedef struct gopt_section {
    const char *title; /* NULL: none is shown */
    gopt_section_place place;
    bool (*fits)(const gopt_page *p); /* NULL: always */
    void (*write)(const gopt_page *p);
} gopt_section;

extern const gopt_section *const gopt_sections[]; /* NULL-terminated */

/* The whole report. Borrows the gallery, which must outlive d. ENOMEM at most. */
gopt_status gopt_report_compose(gopt_document *d, const gopt_findings *f, const gopt_gallery *gallery,
                                const char *out_dir, gopt_err *e);

/* For sections. */
void gopt_page_figure(const gopt_page *p, const char *figure); /* when it was drawn */
const char *gopt_page_keep(const gopt_page *p, gopt_text *t);  /* its content, in the document's arena; frees it */
/* "17 (chosen)", "3" as a cell. */
void gopt_page_trial(gopt_table *t, const gopt_finding_cluster *c, int id);
void gopt_page_threads(gopt_table *t, const gopt_finding_trial *trial);          /* that it runs on */
void gopt_page_ratio(gopt_table *t, const gopt_finding_ratio *r);                /* with its interval, in its tone */
void gopt_page_verdict(gopt_table *t, gopt_finding_verdict v, const char *name); /* name NULL: n/a */
gopt_tone gopt_page_tone(gopt_finding_verdict v);
/* A tie whose own interval excludes 1 says why it is one: "tie (noise)" when it is not beyond what counts, "tie (FDR)"
 * when the correction for many comparisons at once takes it back; other verdicts by their name. NULL when unknown. */
const char *gopt_page_tie(const gopt_page *p, const gopt_finding_ratio *r);
double gopt_page_beyond(const gopt_page *p);          /* |ln| of a ratio up to which it counts as a tie */
extern const char gopt_page_tie_note[];               /* below a table that shows them */
double gopt_known(int64_t v);                         /* NAN for GOPT_UNKNOWN */
const char *gopt_page_number(char buf[32], double v); /* "0.001", "n/a" */
/* How the configuration of t differs from that of `from`: "fuse_chain off, threads 2 and 3 more". */
void gopt_page_difference(gopt_text *out, const gopt_finding_trial *t, const gopt_finding_trial *from, int most);
void gopt_fact_print(gopt_text *out, const gopt_finding_fact *f);                       /* its value */
const gopt_finding_fact *gopt_fact_find(const gopt_finding_trial *t, const char *name); /* NULL: not set */
bool gopt_fact_equal(const gopt_finding_fact *a, const gopt_finding_fact *b);           /* their values; NULL is fine */

#endif
