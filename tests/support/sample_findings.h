/* sample_findings.h: made-up findings of a small convolutional network, every figure of which follows from the others.
 */
#ifndef GOPT_SAMPLE_FINDINGS_H
#define GOPT_SAMPLE_FINDINGS_H

#include "findings.h"

/* Caller frees with gopt_findings_free. One cluster; trials 0 to 25, some of them failed; 17 is chosen. */
gopt_findings *test_findings(void);

#endif
