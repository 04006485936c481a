/* report.h: everything that a reader of a tuning job gets. */
#ifndef GOPT_REPORT_H
#define GOPT_REPORT_H

#include "findings.h"

/* Writes findings.json, report.txt, report.html and plots/ into out_dir, which is made when it is missing; every file
 * wholly or not at all. What is there already (manifest.yaml, study.db) is linked to: write it first. Pictures need
 * gnuplot; without it the report says so and is complete otherwise. */
gopt_status gopt_report_write(const gopt_findings *f, const char *out_dir, gopt_err *e);

#endif
