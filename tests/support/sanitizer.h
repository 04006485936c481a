/* sanitizer.h: what a build with sanitizers cannot do. */
#ifndef GOPT_TEST_SANITIZER_H
#define GOPT_TEST_SANITIZER_H

/* Limits on address space, and reports of a signal that the sanitizer takes for itself. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_SANITIZED = 1 };
#else
enum { TEST_SANITIZED = 0 };
#endif

#endif
