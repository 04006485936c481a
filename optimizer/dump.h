/* dump.h: what writing and reading the text form share.
 *
 *     input x float32[batch,3,8]
 *     const w float32[2,2] {1,2,3,4}
 *     n1: y float32[batch,2] = Gemm(x, w, _; r) {transB=1, alpha=0.5} post=add(acc, in3)
 *     n2: z bool[] = If(c)
 *       body then
 *         output c
 *       end
 *     output y
 *
 * '#' begins a comment line. "_" is an absent value; what follows ';' is read by post only. Names and dimensions are
 * quoted where they are more than letters, digits and "_./~%-". Operators outside ai.onnx carry their domain:
 * "gopt::Pointwise(x)". A type without brackets has no known rank, "?" is an unknown dimension. Elements of a constant:
 * a list, splat(V): all the same, random(SEED): as gopt_dump_random makes them, or hash(H), which cannot be read back.
 */
#ifndef GOPT_DUMP_H
#define GOPT_DUMP_H

#include "graph.h"

enum { GOPT_DUMP_SEEDS = 100, GOPT_DUMP_LIST_MAX = 1024 };

/* Element i of the constant random(SEED): a multiple of 1/128 in [-1, 1] for floats, 0 to 6 for integers. */
double gopt_dump_random(gopt_dtype d, int seed, int64_t i);
/* Whether a name can stand without quotes. */
bool gopt_dump_is_plain(const char *name);
bool gopt_dump_is_keyword(const char *name);

#endif
