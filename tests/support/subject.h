/* subject.h: what a worker works on, made from a graph's text: inputs, the reference's outputs, folders. */
#ifndef GOPT_TEST_SUBJECT_H
#define GOPT_TEST_SUBJECT_H

#include "worker.h"

typedef struct test_subject {
    gopt_bench bench;
    gopt_arena arena;
    gopt_graph *graph;    /* NULL it when a worker in this process has taken it */
    gopt_tensor *outputs; /* of the first case: alter them to make every candidate wrong */
} test_subject;

/* cases: how many of the input cases; dir: cache and scratch folder, it must outlive the subject. */
void test_subject_make(test_subject *s, const char *text, int cases, const char *dir);
void test_subject_fini(test_subject *s);

/* A matrix product, a bias, a Relu, a view, a Sigmoid. */
extern const char test_subject_model[];

/* {"do":"prepare","config":{...}} of a configuration, into buf, returned. */
char *test_prepare_request(char *buf, size_t size, const gopt_config *c);

#endif
