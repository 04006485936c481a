/* subject.h: what a command was given, told by content; of what says nothing of itself, *.yaml and *.yml are manifests.
 */
#ifndef GOPT_SUBJECT_H
#define GOPT_SUBJECT_H

#include "base/err.h"

typedef enum gopt_subject {
    GOPT_SUBJECT_MODEL, /* a file that is none of the others */
    GOPT_SUBJECT_MANIFEST,
    GOPT_SUBJECT_BUNDLE,
    GOPT_SUBJECT_STUDY,
    GOPT_SUBJECT_CASES, /* a folder with model.onnx and test_data_set_* */
    GOPT_SUBJECT_OUT    /* a folder that gopt-tune wrote */
} gopt_subject;

/* EINPUT when there is nothing of the kind at path. */
gopt_status gopt_subject_find(gopt_subject *out, const char *path, gopt_err *e);

/* The same, where a folder stands for what is in it: model.onnx, or what gopt-tune decided (its manifest, else its
 * study). */
gopt_status gopt_subject_resolve(gopt_subject *out, char *path, size_t size, const char *given, gopt_err *e);
/* Path of a model, which may be given as such a folder. EINPUT when it is anything else. */
gopt_status gopt_subject_model(char *path, size_t size, const char *given, gopt_err *e);

#endif
