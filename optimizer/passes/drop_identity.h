/* drop_identity.h: the rules of the pass, by kind. Each returns whether it changed something; without memory the arena
 * of the graph has failed. */
#ifndef GOPT_DROP_IDENTITY_H
#define GOPT_DROP_IDENTITY_H

#include "passes/rewrite.h"

bool gopt_drop_identity_node(gopt_node *n);      /* drop_identity_node.c: one node that does nothing */
bool gopt_drop_identity_transpose(gopt_node *n); /* drop_identity_pair.c: two nodes that undo or continue each other */
bool gopt_drop_identity_reshape(gopt_node *n);
bool gopt_drop_identity_cast(gopt_node *n);

#endif
