#include "support/problems.h"

#define POINTWISE(in, post)                                                                                            \
    {                                                                                                                  \
        "pointwise_f32", "gopt:Pointwise", NULL, in, NULL, post                                                        \
    }
#define MATMUL(in, extra, post)                                                                                        \
    {                                                                                                                  \
        "matmul_f32", "MatMul", NULL, in, extra, post                                                                  \
    }
#define CONV(attrs, in, extra, post)                                                                                   \
    {                                                                                                                  \
        "conv_f32", "Conv", attrs, in, extra, post                                                                     \
    }
#define SOFTMAX(op, attrs, in, post)                                                                                   \
    {                                                                                                                  \
        "softmax_f32", op, attrs, in, NULL, post                                                                       \
    }
#define REDUCE(op, attrs, in, post)                                                                                    \
    {                                                                                                                  \
        "reduce_f32", op, attrs, in, NULL, post                                                                        \
    }
#define LAYERNORM(op, attrs, in)                                                                                       \
    {                                                                                                                  \
        "layernorm_f32", op, attrs, in, NULL, NULL                                                                     \
    }
#define POOL(op, attrs, in, post)                                                                                      \
    {                                                                                                                  \
        "pool_f32", op, attrs, in, NULL, post                                                                          \
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
    CONV(NULL, "f32[1,1,1,1] f32[1,1,1,1]!", NULL, NULL),
    CONV(NULL, "f32[1,16,7,7] f32[24,16,1,1]! f32[24]", "f32[1,24,7,7]", "max(add(acc, in3), const(0))"),
    CONV(NULL, "f32[2,5,4,6] f32[9,5,1,1]!", NULL, NULL),
    CONV(NULL, "f32[2,5,9,11] f32[9,5,3,3]!", "f32[9,1,1]", "mul(acc, in2)"),
    CONV("pads=1,1,1,1", "f32[1,3,8,9] f32[17,3,3,3]! f32[17]!", NULL, "max(acc, const(0))"),
    CONV("pads=1,1,1,1 strides=2,2", "f32[2,3,15,14] f32[8,3,3,3]! f32[8]", NULL, NULL),
    CONV("pads=3,3,3,3 strides=2,2", "f32[1,3,33,30] f32[10,3,7,7]!", NULL, NULL),
    CONV("pads=0,2,1,0 strides=3,2 dilations=2,1", "f32[1,4,17,12] f32[6,4,2,3]! f32[6]", NULL, NULL),
    CONV("pads=2,2,2,2 dilations=2,2", "f32[1,4,10,10] f32[6,4,3,3]!", NULL, "sigmoid(acc)"),
    CONV("group=2 pads=1,1,1,1", "f32[2,6,7,7] f32[10,3,3,3]! f32[10]", NULL, NULL),
    CONV("group=6 pads=1,1,1,1", "f32[1,6,9,10] f32[6,1,3,3]! f32[6]", "f32[]", "mul(acc, in3)"),
    CONV("group=4 pads=0,1,0,1 strides=2,2", "f32[1,4,9,10] f32[8,1,3,3]! f32[8]", NULL, NULL),
    CONV("auto_pad='SAME_UPPER' strides=2,2", "f32[1,2,9,8] f32[3,2,3,3]!", NULL, NULL),
    CONV("auto_pad='SAME_LOWER'", "f32[1,2,9,8] f32[3,2,2,4]!", NULL, NULL),
    CONV("pads=2,2", "f32[2,6,50] f32[7,6,5]! f32[7]", NULL, NULL),
    CONV("strides=3 pads=4,1 dilations=2", "f32[2,6,53] f32[7,6,4]!", NULL, NULL),
    CONV("strides=4,4", "f32[1,3,16,20] f32[20,3,4,4]! f32[20]", NULL, NULL),
    CONV("strides=2,2", "f32[1,6,9,9] f32[20,6,1,1]!", NULL, NULL),
    CONV("pads=1,1,1,1", "f32[1,70,14,14] f32[66,70,3,3]! f32[66]", NULL, NULL),
    CONV("pads=1,1,1,1", "f32[0,3,8,9] f32[17,3,3,3]!", NULL, NULL),
    CONV(NULL, "f32[1,4,64,16] f32[8,4,1,1]", NULL, NULL),
    CONV("pads=5,5,5,5 strides=2,2", "f32[1,2,3,3] f32[3,2,3,3]!", NULL, NULL),
    SOFTMAX("Softmax", NULL, "f32[5,7]", NULL),
    SOFTMAX("Softmax", "axis=1", "f32[3,33,5]~-20:20", NULL),
    SOFTMAX("Softmax", "axis=0", "f32[6,70]", "mul(acc, const(2))"),
    SOFTMAX("Softmax", "axis=1 coerce_2d=1", "f32[3,4,5]", NULL),
    SOFTMAX("Softmax", NULL, "f32[0,7]", NULL),
    SOFTMAX("Softmax", "axis=0", "f32[0,7]", NULL),
    SOFTMAX("LogSoftmax", NULL, "f32[5,130]", "neg(acc)"),
    SOFTMAX("LogSoftmax", "axis=1", "f32[3,33,18]", NULL),
    REDUCE("ReduceSum", "keepdims=0", "f32[5,6,7] i64[1]={1}!", NULL),
    REDUCE("ReduceSum", NULL, "f32[5,6,70]", "mul(acc, const(0.5))"),
    REDUCE("ReduceMean", NULL, "f32[5,6,70] i64[2]={0,2}!", NULL),
    REDUCE("ReduceMean", NULL, "f32[2,3,4,5,6] i64[3]={0,2,-1}!", NULL),
    REDUCE("ReduceMax", "keepdims=0", "f32[3,600] i64[1]={0}!", NULL),
    REDUCE("ReduceMax", NULL, "f32[3,61] i64[1]={1}!", NULL),
    REDUCE("ReduceMin", NULL, "f32[7,3,9] i64[2]={0,1}!", NULL),
    REDUCE("ReduceProd", NULL, "f32[3,9,11] i64[1]={1}!", NULL),
    REDUCE("ReduceL1", NULL, "f32[3,9,21] i64[1]={2}!", NULL),
    REDUCE("ReduceL2", NULL, "f32[3,9,21] i64[1]={0}!", NULL),
    REDUCE("ReduceSumSquare", NULL, "f32[3,9,21] i64[2]={0,2}!", NULL),
    REDUCE("ReduceLogSum", NULL, "f32[3,9,21]~0:3 i64[1]={1}!", NULL),
    REDUCE("ReduceLogSumExp", NULL, "f32[3,9,21]~-50:50 i64[1]={1}!", NULL),
    REDUCE("ReduceLogSumExp", NULL, "f32[3,9,21]~-50:50 i64[1]={2}!", NULL),
    REDUCE("ReduceSum", "noop_with_empty_axes=1", "f32[3,4]", NULL),
    REDUCE("ReduceSum", NULL, "f32[3,0,4] i64[1]={1}!", NULL),
    REDUCE("ReduceMax", NULL, "f32[]", NULL),
    REDUCE("GlobalAveragePool", NULL, "f32[2,5,7,9]", NULL),
    REDUCE("GlobalMaxPool", NULL, "f32[2,5,1,1]", NULL),
    LAYERNORM("LayerNormalization", NULL, "f32[3,5,70] f32[70] f32[70]!"),
    LAYERNORM("LayerNormalization", "axis=1 epsilon=0.001", "f32[3,5,7] f32[5,7]"),
    LAYERNORM("LayerNormalization", "test_outputs=3", "f32[3,5,7]~99:101 f32[1,7] f32[7]"),
    LAYERNORM("RMSNormalization", "axis=-1", "f32[3,70] f32[70]"),
    LAYERNORM("SimplifiedLayerNormalization", "test_outputs=2", "f32[3,70] f32[70]"),
    LAYERNORM("com.microsoft:SkipLayerNormalization", "test_outputs=4",
              "f32[2,3,70] f32[2,3,70] f32[70] f32[70] f32[70]"),
    LAYERNORM("com.microsoft:SkipLayerNormalization", NULL, "f32[2,3,70] f32[1,3,70] f32[70]"),
    LAYERNORM("com.microsoft:SkipSimplifiedLayerNormalization", NULL, "f32[2,3,70] f32[3,70] f32[70] f32[70]"),
    {"batchnorm_f32", "BatchNormalization", NULL, "f32[2,5,7,9] f32[5]! f32[5]! f32[5]! f32[5]~0.1:2!", "f32[5,1,1]",
     "max(mul(acc, in5), const(0))"},
    {"batchnorm_f32", "BatchNormalization", "epsilon=0.01", "f32[20,5] f32[5] f32[5] f32[5] f32[5]~0.1:2", NULL, NULL},
    POOL("MaxPool", "kernel_shape=3,3 strides=2,2 pads=1,1,1,1", "f32[1,3,15,18]", "add(acc, const(1))"),
    POOL("MaxPool", "kernel_shape=2,2 strides=2,2", "f32[2,3,8,64]", NULL),
    POOL("MaxPool", "kernel_shape=3,3 strides=2,2 ceil_mode=1", "f32[1,3,10,11]", NULL),
    POOL("MaxPool", "kernel_shape=2,3 dilations=2,2", "f32[1,3,10,111]", NULL),
    POOL("MaxPool", "kernel_shape=5 pads=2,2", "f32[1,3,50]", NULL),
    POOL("MaxPool", "kernel_shape=3,3 auto_pad='SAME_UPPER' strides=2,2", "f32[1,2,7,8]", NULL),
    POOL("AveragePool", "kernel_shape=3,3 pads=1,1,1,1", "f32[1,3,9,70]", NULL),
    POOL("AveragePool", "kernel_shape=3,3 pads=1,0,2,1 strides=2,2 count_include_pad=1", "f32[2,3,9,12]", NULL),
    POOL("AveragePool", "kernel_shape=3,3 strides=2,2 ceil_mode=1 pads=1,1,1,1", "f32[1,3,10,11]", NULL),
    POOL("AveragePool", "kernel_shape=3,3 strides=2,2 ceil_mode=1 pads=1,1,1,1 count_include_pad=1", "f32[1,3,10,11]",
         NULL),
    POOL("AveragePool", "kernel_shape=7,7", "f32[1,30,7,7]", NULL),
    POOL("AveragePool", "kernel_shape=4 strides=3", "f32[1,3,50]", NULL),
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
    CONV("pads=1,1,1,1", "f32[1,64,56,56] f32[64,64,3,3]! f32[64]!", NULL, "max(acc, const(0))"),
    CONV("pads=1,1,1,1", "f32[1,128,28,28] f32[128,128,3,3]! f32[128]!", NULL, "max(acc, const(0))"),
    CONV("pads=1,1,1,1", "f32[1,256,14,14] f32[256,256,3,3]! f32[256]!", NULL, "max(acc, const(0))"),
    CONV("pads=1,1,1,1", "f32[1,512,7,7] f32[512,512,3,3]! f32[512]!", NULL, "max(acc, const(0))"),
    CONV("pads=3,3,3,3 strides=2,2", "f32[1,3,224,224] f32[64,3,7,7]! f32[64]!", NULL, "max(acc, const(0))"),
    CONV(NULL, "f32[1,256,56,56] f32[64,256,1,1]! f32[64]!", NULL, "max(acc, const(0))"),
    CONV(NULL, "f32[1,256,14,14] f32[1024,256,1,1]! f32[1024]!", NULL, "max(acc, const(0))"),
    CONV("strides=2,2", "f32[1,256,56,56] f32[512,256,1,1]! f32[512]!", NULL, NULL),
    CONV("group=32 pads=1,1,1,1", "f32[1,32,112,112] f32[32,1,3,3]! f32[32]!", NULL,
         "min(max(acc, const(0)), const(6))"),
    CONV("group=144 pads=1,1,1,1", "f32[1,144,56,56] f32[144,1,3,3]! f32[144]!", NULL,
         "min(max(acc, const(0)), const(6))"),
    CONV("group=96 pads=1,1,1,1 strides=2,2", "f32[1,96,112,112] f32[96,1,3,3]! f32[96]!", NULL,
         "min(max(acc, const(0)), const(6))"),
    CONV("group=960 pads=1,1,1,1", "f32[1,960,7,7] f32[960,1,3,3]! f32[960]!", NULL,
         "min(max(acc, const(0)), const(6))"),
    SOFTMAX("Softmax", NULL, "f32[1536,128]", NULL),
    SOFTMAX("Softmax", "axis=1", "f32[16,128,128]", NULL),
    REDUCE("ReduceMean", NULL, "f32[128,3072] i64[1]={1}!", NULL),
    REDUCE("ReduceMean", NULL, "f32[128,3072] i64[1]={0}!", NULL),
    REDUCE("GlobalAveragePool", NULL, "f32[1,2048,7,7]", NULL),
    LAYERNORM("com.microsoft:SkipLayerNormalization", NULL, "f32[1,128,768] f32[1,128,768] f32[768] f32[768] f32[768]"),
    LAYERNORM("LayerNormalization", NULL, "f32[128,768] f32[768] f32[768]"),
    POOL("MaxPool", "kernel_shape=3,3 strides=2,2 pads=1,1,1,1", "f32[1,64,112,112]", NULL),
    POOL("MaxPool", "kernel_shape=2,2 strides=2,2", "f32[1,64,112,112]", NULL),
    POOL("AveragePool", "kernel_shape=3,3 pads=1,1,1,1", "f32[1,64,56,56]", NULL),
    {0},
};
