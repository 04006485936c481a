#include "support/problems.h"

#define POINTWISE(in, post)                                                                                            \
    {                                                                                                                  \
        "pointwise_f32", "gopt:Pointwise", NULL, in, NULL, post                                                        \
    }
#define MATMUL(in, extra, post)                                                                                        \
    {                                                                                                                  \
        "matmul_f32", "MatMul", NULL, in, extra, post                                                                  \
    }
#define GEMM(attrs, in)                                                                                                \
    {                                                                                                                  \
        "matmul_f32", "Gemm", attrs, in, NULL, NULL                                                                    \
    }

const problem_text problems[] = {
    POINTWISE("f32[7]", "exp(in0)"),
    POINTWISE("f32[1000]", "mul(add(in0, const(3)), sigmoid(in0))"),
    POINTWISE("f32[2,3,16,5] f32[3,1,1]", "max(add(in0, in1), const(0))"),
    POINTWISE("f32[33,65] f32[65] f32[33,1] f32[]", "add(mul(sub(in0, in2), in1), in3)"),
    POINTWISE("f32[4,1,6] f32[5,1]", "div(in0, add(abs(in1), const(1)))"),
    POINTWISE("f32[0,4] f32[4]", "add(in0, in1)"),
    POINTWISE("f32[] f32[]", "pow(abs(in0), in1)"),
    POINTWISE("f32[513] b[513]", "select(in1:bool, tanh(in0), erf(in0))"),
    POINTWISE("f32[3,70] b[70]", "select(not(in1:bool), in0, const(-1e9))"),
    POINTWISE("f32[2,3,2,3,2,3] f32[3,1,3,1,3] f32[2,1,2,1,2,1]", "min(add(in0, in1), in2)"),
    POINTWISE("f32[777]~-30:30", "select(lt(in0, const(0)), sin(in0), cos(in0))"),
    POINTWISE("f32[100]~-5:5", "add(floor(in0), add(ceil(in0), round(in0)))"),
    POINTWISE("f32[100]~0.1:90", "add(log(in0), sqrt(in0))"),
    MATMUL("f32[1,1] f32[1,1]!", NULL, NULL),
    MATMUL("f32[8,16] f32[16,48]!", NULL, NULL),
    MATMUL("f32[7,5] f32[5,47]!", NULL, NULL),
    MATMUL("f32[9,17] f32[17,49]!", "f32[49]", "max(add(acc, in2), const(0))"),
    MATMUL("f32[65,130] f32[130,97]!", "f32[65,97] f32[]", "mul(add(acc, in2), in3)"),
    MATMUL("f32[1,70] f32[70,100]!", "f32[100]", "add(acc, in2)"),
    MATMUL("f32[70] f32[70,100]", NULL, NULL),
    MATMUL("f32[20,70] f32[70]", NULL, NULL),
    MATMUL("f32[70] f32[70]", NULL, "neg(acc)"),
    MATMUL("f32[20,70] f32[70,1]!", NULL, NULL),
    MATMUL("f32[3,0] f32[0,5]", NULL, "add(acc, const(1))"),
    MATMUL("f32[0,3] f32[3,5]!", NULL, NULL),
    MATMUL("f32[2,3,10,20] f32[2,3,20,30]", NULL, NULL),
    MATMUL("f32[2,1,10,20] f32[3,20,30]!", NULL, "tanh(acc)"),
    MATMUL("f32[2,3,4,20] f32[20,30]!", "f32[30]", "add(acc, in2)"),
    MATMUL("f32[10,20]! f32[4,20,33]", NULL, NULL),
    MATMUL("f32[40,600]! f32[600,50]", NULL, NULL),
    MATMUL("f32[2,1,9] f32[2,9,31]", NULL, NULL),
    MATMUL("f32[1,64,300] f32[1,300,1000]", "f32[1000]", "add(acc, in2)"),
    GEMM("alpha=0.5f beta=2f", "f32[5,6] f32[6,7]! f32[7]"),
    GEMM("transA=1", "f32[6,5] f32[6,57]! f32[5,1]"),
    GEMM("transB=1 beta=0.25f", "f32[50,60] f32[70,60]! f32[50,70]"),
    GEMM("transA=1 transB=1 alpha=3f", "f32[60,50] f32[70,60] f32[]"),
    GEMM("transB=1", "f32[1,60] f32[70,60] f32[1,70]"),
    GEMM("transA=1 alpha=2f", "f32[60,50] f32[60,1] f32[50,1]"),
    GEMM("beta=0f", "f32[5,6] f32[6,7] f32[7]"),
    {0},
};

const problem_text bench_problems[] = {
    POINTWISE("f32[128,3072] f32[3072]",
              "mul(mul(add(in0, in1), const(0.5)), add(erf(mul(add(in0, in1), const(0.70710678))), const(1)))"),
    POINTWISE("f32[128,3072]", "max(in0, const(0))"),
    POINTWISE("f32[128,3072]", "exp(in0)"),
    POINTWISE("f32[128,3072]", "tanh(in0)"),
    POINTWISE("f32[128,3072]", "log(in0)"),
    POINTWISE("f32[128,3072]", "sin(in0)"),
    POINTWISE("f32[128,3072] f32[128,3072]", "pow(in0, in1)"),
    POINTWISE("f32[1,64,56,56] f32[64,1,1] f32[1,64,56,56]", "max(add(add(in0, in1), in2), const(0))"),
    POINTWISE("f32[1,512,7,7] f32[512,1,1]", "max(add(in0, in1), const(0))"),
    MATMUL("f32[256,256] f32[256,256]!", NULL, NULL),
    MATMUL("f32[8,768] f32[768,768]!", NULL, NULL),
    MATMUL("f32[128,768] f32[768,768]!", "f32[768]", "add(acc, in2)"),
    MATMUL("f32[128,768] f32[768,3072]!", "f32[3072]",
           "mul(mul(add(acc, in2), const(0.5)), add(erf(mul(add(acc, in2), const(0.70710678))), const(1)))"),
    MATMUL("f32[1,768] f32[768,3072]!", NULL, NULL),
    MATMUL("f32[1,768] f32[768,3072]", NULL, NULL),
    MATMUL("f32[12,128,64] f32[12,64,128]", NULL, NULL),
    MATMUL("f32[3136,64] f32[64,64]!", NULL, NULL),
    {0},
};
