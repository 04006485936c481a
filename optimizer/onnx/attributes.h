/* attributes.h: what type ONNX gives an attribute of this name, in every operator of its domain that has it. */
#ifndef GOPT_ONNX_ATTRIBUTES_H
#define GOPT_ONNX_ATTRIBUTES_H

#include "attr.h"

/* Whether an attribute of ai.onnx may be of this kind; names that ONNX does not know may be of any. *want: the kind it
 * should be. */
bool gopt_onnx_attribute_fits(const char *name, gopt_attr_kind kind, gopt_attr_kind *want);
const char *gopt_onnx_kind_name(gopt_attr_kind kind); /* "an int", ... */

#endif
