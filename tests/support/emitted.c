#include "support/emitted.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/process.h"
#include "cpu/emit.h"
#include "support/test.h"

int emitted_add(emitted *e, const checkern_case *c)
{
    gopt_err err = {0};
    char symbol[32];
    gopt_operand in[32];
    gopt_group g = checkern_group(c, in);
    if (!e->n)
        gopt_emit_prelude(&e->text);
    snprintf(symbol, sizeof symbol, "function_%d", e->n);
    assert_ok(c->kernel->emit(&g, c->knob, &c->target, symbol, &e->text, &err), &err);
    return e->n++;
}

bool emitted_compile(emitted *e, gopt_isa isa, const char *compiler, const char *optimize, const char *dir)
{
    static const char *const level[GOPT_ISA_COUNT] = {"-mno-avx", "-mno-avx512f", "-march=native"};
    char source[4096], object[4096], found[4096];
    gopt_err err = {0};
    gopt_process_result r = {0};
    if (!gopt_process_find(compiler, found, sizeof found))
        return false;
    test_path(source, dir, "emitted.c");
    test_path(object, dir, gopt_isa_name(isa));
    assert_ok(gopt_file_write_text(source, gopt_text_str(&e->text), &err), &err);
    const char *const argv[] = {found,
                                optimize,
                                "-std=gnu17",
                                "-march=native",
                                level[isa],
                                "-fPIC",
                                "-fno-builtin",
                                "-ffp-contract=fast",
                                "-w",
                                "-fno-math-errno",
                                "-shared",
                                "-nostdlib",
                                "-fno-trapping-math",
                                "-o",
                                object,
                                source,
                                NULL};
    assert_ok(gopt_process_run(&r, argv, 300 * GOPT_NS_PER_S, &err), &err);
    if (r.exit_code)
        fail_msg("%s: %.2000s", compiler, gopt_text_str(&r.output));
    gopt_text_fini(&r.output);
    assert_ok(gopt_dynlib_open(&e->lib, object, &err), &err);
    return true;
}

void (*emitted_function(const emitted *e, int i))(const gopt_task *)
{
    char symbol[32];
    void (*fn)(const gopt_task *);
    snprintf(symbol, sizeof symbol, "function_%d", i);
    void *found = gopt_dynlib_find(e->lib, symbol);
    assert_non_null(found);
    memcpy(&fn, &found, sizeof fn);
    return fn;
}

void emitted_fini(emitted *e)
{
    gopt_text_fini(&e->text);
    gopt_dynlib_close(e->lib);
    *e = (emitted){0};
}
