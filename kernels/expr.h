/* expr.h: pointwise expressions: what a fused group computes per element, before or after its anchor.
 *
 * A straight-line program of instructions in the order of their evaluation. Every instruction has a class (float,
 * signed, unsigned or bool) and a dtype that follow from its operands: a load has its operand's. One definition serves
 * all: the reference (scalar, double), precompiled kernels (tiles of floats) and code generators (C text).
 *
 * Operands of one instruction always have one class: the builders convert where a caller mixes them. A constant without
 * a dtype takes the other operand's class (0.0 beside an int64 becomes 0), otherwise float wins over signed, signed
 * over unsigned, unsigned over bool. Floats are computed in double and rounded where they are stored or cast: a result
 * of float16 that another instruction reads has been rounded only if a cast to float16 stands between. Integers wrap to
 * their dtype after every instruction. */
#ifndef GOPT_EXPR_H
#define GOPT_EXPR_H

#include "base/text.h"
#include "tensor.h"

/* clang-format off */
#define GOPT_EXPR_CODES(X) /* enumerator, text, operands */                                                            \
    X(LOAD, "in", 0) X(ACC, "acc", 0) X(CONST, "const", 0) /* operand number in .i; anchor's result; value in .f/.i */ \
    X(NEG, "neg", 1) X(ABS, "abs", 1) X(SIGN, "sign", 1) X(EXP, "exp", 1) X(LOG, "log", 1) X(SQRT, "sqrt", 1)          \
    X(RECIPROCAL, "reciprocal", 1) X(TANH, "tanh", 1) X(SIGMOID, "sigmoid", 1) X(ERF, "erf", 1)                        \
    X(SIN, "sin", 1) X(COS, "cos", 1) X(TAN, "tan", 1) X(ASIN, "asin", 1) X(ACOS, "acos", 1) X(ATAN, "atan", 1)        \
    X(SINH, "sinh", 1) X(COSH, "cosh", 1) X(ASINH, "asinh", 1) X(ACOSH, "acosh", 1) X(ATANH, "atanh", 1)               \
    X(FLOOR, "floor", 1) X(CEIL, "ceil", 1) X(ROUND, "round", 1) X(LOG1P, "log1p", 1) X(EXPM1, "expm1", 1)             \
    X(ISNAN, "isnan", 1) X(ISINF, "isinf", 1) X(NOT, "not", 1) X(BITNOT, "bitnot", 1)                                  \
    X(CAST, "cast", 1) /* to .dtype, with that type's rounding, truncation and wrapping */                             \
    X(ADD, "add", 2) X(SUB, "sub", 2) X(MUL, "mul", 2) X(DIV, "div", 2) X(MOD, "mod", 2) X(FMOD, "fmod", 2)            \
    X(POW, "pow", 2) X(MIN, "min", 2) X(MAX, "max", 2) /* min and max propagate NaN */                                 \
    X(LT, "lt", 2) X(LE, "le", 2) X(GT, "gt", 2) X(GE, "ge", 2) X(EQ, "eq", 2) X(NE, "ne", 2)                          \
    X(AND, "and", 2) X(OR, "or", 2) X(XOR, "xor", 2) X(BITAND, "bitand", 2) X(BITOR, "bitor", 2)                       \
    X(BITXOR, "bitxor", 2) X(SHL, "shl", 2) X(SHR, "shr", 2)                                                           \
    X(SELECT, "select", 3) /* bool, then, else */
/* clang-format on */

#define GOPT_X_EXPR(name, text, n) GOPT_EXPR_##name,
typedef enum gopt_expr_code { GOPT_EXPR_CODES(GOPT_X_EXPR) GOPT_EXPR_CODE_COUNT } gopt_expr_code;
#undef GOPT_X_EXPR

typedef enum gopt_expr_class { GOPT_CLASS_FLOAT, GOPT_CLASS_INT, GOPT_CLASS_UINT, GOPT_CLASS_BOOL } gopt_expr_class;

typedef struct gopt_instr {
    gopt_expr_code code;
    gopt_expr_class class;
    gopt_dtype dtype; /* LOAD, ACC: of the operand; CAST: the target; CONST: NONE until one is known; tests and logic:
                         BOOL; else of the first operand that has one */
    int arg[3];       /* earlier instructions; -1 when unused */
    int64_t i;        /* LOAD: operand number; CONST of class int, uint, bool: value */
    double f;         /* CONST of class float: value */
} gopt_instr;

#define GOPT_EXPR_LIMIT 256 /* instructions of one expression */

typedef struct gopt_expr {
    gopt_arena *arena; /* where the instructions live; borrowed */
    gopt_instr *at;
    int n;
    size_t cap;
    int result;  /* instruction whose value is stored: the last one built unless set otherwise; -1 while empty */
    bool failed; /* sticky: out of memory or over GOPT_EXPR_LIMIT */
} gopt_expr;

const char *gopt_expr_code_text(gopt_expr_code code);
int gopt_expr_code_args(gopt_expr_code code);

/* {.arena = a, .result = -1}. */
gopt_expr gopt_expr_new(gopt_arena *a);
/* Builders return the instruction's number, or -1 with failed set. Equal instructions are shared, constant operands are
 * folded, x*1, x+0 (float: only where exact for every x incl. -0 and NaN) and double negation vanish. Passing -1 as an
 * operand gives -1. */
int gopt_expr_load(gopt_expr *x, int operand, gopt_dtype d);
int gopt_expr_acc(gopt_expr *x, gopt_dtype d);
int gopt_expr_float(gopt_expr *x, double v);
int gopt_expr_int(gopt_expr *x, gopt_expr_class class, int64_t v);
int gopt_expr_op1(gopt_expr *x, gopt_expr_code code, int a);
int gopt_expr_op2(gopt_expr *x, gopt_expr_code code, int a, int b);
int gopt_expr_op3(gopt_expr *x, gopt_expr_code code, int a, int b, int c);
/* To d; nothing for what is a value of d already, as is what was one before it became wider. */
int gopt_expr_cast(gopt_expr *x, int a, gopt_dtype d);
/* Whether instruction k of a float16 or bfloat16 expression is a value of that type without being rounded: a load, a
 * cast, or what only picks among such values or changes their sign. True for other types. */
bool gopt_expr_is_rounded(const gopt_expr *x, int k);
/* Appends src with its operand k replaced by instruction load[k] of x and its ACC by instruction acc; returns the
 * instruction of src's result. */
int gopt_expr_splice(gopt_expr *x, const gopt_expr *src, const int *load, int loads, int acc);
gopt_expr gopt_expr_copy(gopt_arena *a, const gopt_expr *src);
/* Marks the instructions that the result needs; the queries below count only those. */
void gopt_expr_live(const gopt_expr *x, bool live[GOPT_EXPR_LIMIT]);
int gopt_expr_loads(const gopt_expr *x); /* 1 + highest operand number loaded; 0 when none */
int gopt_expr_cost(const gopt_expr *x);  /* rough operations per element: add 1, exp 10, ... */
/* A float32, float16 or bfloat16 result from loads of these, with casts between them, and of bools that only select,
 * logic and tests read. */
bool gopt_expr_is_float(const gopt_expr *x);
/* Quantization to the small integer type d, and back; zero: -1 where there is none, else an integer. */
int gopt_expr_quantize(gopt_expr *x, int value, int scale, int zero, gopt_dtype d);
int gopt_expr_dequantize(gopt_expr *x, int value, int scale, int zero);
/* What gopt_expr_is_float allows and conversions at the ends: loads of small integers (and int32) that only casts to
 * float32 read, casts to small integers of what was rounded and clamped to their range. */
bool gopt_expr_is_float_inside(const gopt_expr *x);
bool gopt_expr_floats_at(const gopt_expr *x, int k); /* the same of instruction k alone */
bool gopt_dtype_is_small_int(gopt_dtype d);          /* of 8 or 16 bits */
bool gopt_expr_equal(const gopt_expr *a, const gopt_expr *b);

/* Text: "add(mul(acc, in1), const(0.5))", with dtypes of loads where not float32: "in2:bool". Constants: 0.5, 3
 * (signed), 3u (unsigned), true; "const(0.5):float16" when they have a dtype. What is used more than once is named
 * where it first occurs: "mul(t0=exp(in0), t0)". Round-trips exactly (floats in shortest decimal). */
void gopt_expr_print(const gopt_expr *x, gopt_text *t);
gopt_status gopt_expr_parse(gopt_expr *out, gopt_arena *a, const char *text, gopt_err *e);

/* The reference: one element, in double or 64-bit integers. */
typedef union gopt_scalar {
    double f;
    int64_t i;
    uint64_t u;
} gopt_scalar;
/* load[k] is operand k's element, acc the anchor's; tmp has room for x->n scalars. */
gopt_scalar gopt_expr_eval(const gopt_expr *x, const gopt_scalar *load, gopt_scalar acc, gopt_scalar *tmp);
/* The same for n elements at once: operand k's are load[k*n .. k*n+n), tmp has room for x->n * n scalars. Returns the n
 * results, which lie in load, acc or tmp. acc may be NULL without an ACC. */
const gopt_scalar *gopt_expr_eval_tile(const gopt_expr *x, const gopt_scalar *load, const gopt_scalar *acc,
                                       gopt_scalar *tmp, int n);
gopt_scalar gopt_scalar_load(const gopt_tensor *t, int64_t i); /* in the class of t's dtype */
void gopt_scalar_store(gopt_tensor *t, int64_t i, gopt_expr_class class, gopt_scalar v);
gopt_expr_class gopt_dtype_class(gopt_dtype d);
/* v of class `from` as a value of dtype d, in d's class: with its rounding, truncation and wrapping. */
gopt_scalar gopt_scalar_cast(gopt_scalar v, gopt_expr_class from, gopt_dtype d);
/* The dtype of the result: bool for comparisons, the first typed operand's otherwise; float32, int64, uint64 or bool
 * for a constant without one. */
gopt_dtype gopt_expr_dtype(const gopt_expr *x);

#endif
