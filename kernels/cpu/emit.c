#include "cpu/emit.h"

#include <string.h>

/* The texts of headers in simd/, made by the build. */
extern const unsigned char gopt_text_vector[], gopt_text_vmath[], gopt_text_winograd[];

static const char types[] = "typedef signed char int8_t;\n"
                            "typedef unsigned char uint8_t;\n"
                            "typedef short int16_t;\n"
                            "typedef unsigned short uint16_t;\n"
                            "typedef int int32_t;\n"
                            "typedef unsigned uint32_t;\n"
                            "typedef __INT64_TYPE__ int64_t;\n"
                            "typedef __UINT64_TYPE__ uint64_t;\n"
                            "typedef __SIZE_TYPE__ size_t;\n"
                            "#define NULL ((void *)0)\n"
                            "#define bool _Bool\n"
                            "typedef struct gopt_task {\n"
                            "    const void *const *in;\n"
                            "    void *const *out;\n"
                            "    void *workspace;\n"
                            "    const void *spec;\n"
                            "    int part, parts, phase;\n"
                            "} gopt_task;\n";

/* All but the lines that include other files. */
static void put_header(gopt_text *t, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        n += text[n] == '\n';
        if (strncmp(text, "#include", 8))
            gopt_text_putn(t, text, n);
        text += n;
    }
}

void gopt_emit_prelude(gopt_text *t)
{
    gopt_text_put(t, types);
    put_header(t, (const char *)gopt_text_vector);
    put_header(t, (const char *)gopt_text_vmath);
    put_header(t, (const char *)gopt_text_winograd);
}
