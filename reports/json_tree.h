/* json_tree.h: building findings.json: unknown becomes null, texts become valid UTF-8, a failed allocation is
 * remembered and asked for once at the end. */
#ifndef GOPT_JSON_TREE_H
#define GOPT_JSON_TREE_H

#include <cjson/cJSON.h>

#include "findings.h"

typedef struct gopt_tree {
    bool failed;
} gopt_tree;

/* All add to a parent: to an object under a key, to an array with key NULL. */
cJSON *gopt_tree_add(gopt_tree *b, cJSON *parent, const char *key, cJSON *item);
cJSON *gopt_tree_object(gopt_tree *b, cJSON *parent, const char *key);
cJSON *gopt_tree_array(gopt_tree *b, cJSON *parent, const char *key);
void gopt_tree_text(gopt_tree *b, cJSON *parent, const char *key, const char *s);
void gopt_tree_number(gopt_tree *b, cJSON *parent, const char *key, double v);
void gopt_tree_integer(gopt_tree *b, cJSON *parent, const char *key, int64_t v);
void gopt_tree_known(gopt_tree *b, cJSON *parent, const char *key, int64_t v);
void gopt_tree_truth(gopt_tree *b, cJSON *parent, const char *key, bool v);
void gopt_tree_texts(gopt_tree *b, cJSON *parent, const char *key, const char *const *s, int n);
void gopt_tree_facts(gopt_tree *b, cJSON *o, const gopt_finding_fact *f, int n);
void gopt_tree_ratio(gopt_tree *b, cJSON *parent, const char *key, const gopt_finding_ratio *r, bool eta);
cJSON *gopt_tree_group(gopt_tree *b, cJSON *parent, const char *key, int64_t first);

/* json_cluster.c: everything of one cluster, into the array of clusters. */
void gopt_tree_cluster(gopt_tree *b, cJSON *clusters, const gopt_finding_cluster *c);

#endif
