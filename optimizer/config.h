/* config.h: a configuration: which passes run and every knob's value. The one table that search space, --help,
 * validation, presets, manifest and study read. */
#ifndef GOPT_CONFIG_H
#define GOPT_CONFIG_H

#include "kernel.h"
#include "pass.h"

/* One row of the table: "pass.fuse_chain" (on/off), "fuse_chain.max_ops", "gemm_f32_gen.tile_m", "engine.threads". */
typedef struct gopt_setting {
    char name[64];
    const gopt_knob *knob; /* kind, range, default, meaning */
    const gopt_pass *pass; /* the pass it switches or tunes, or NULL */
    const gopt_kernel *kernel;
    bool is_switch; /* of a pass */
} gopt_setting;

#define GOPT_SETTINGS_MAX 160
typedef struct gopt_config {
    int64_t v[GOPT_SETTINGS_MAX]; /* by row */
} gopt_config;

int gopt_setting_count(void);
const gopt_setting *gopt_setting_at(int row);
int gopt_setting_find(const char *name); /* row, -1 when unknown */

/* Baseline: every pass off, everything else at its default. Default: every pass on. */
void gopt_config_baseline(gopt_config *c);
void gopt_config_default(gopt_config *c);
/* "name=value"; EUSAGE with the nearest name or the allowed values. */
gopt_status gopt_config_set(gopt_config *c, const char *assignment, gopt_err *e);
/* Rows that cannot matter (knobs of passes that are off) get their defaults, so that equal behaviour is equal values.
 */
void gopt_config_normalize(gopt_config *c);
bool gopt_config_equal(const gopt_config *a, const gopt_config *b);
/* Index into gopt_passes of the passes that run, in order; returns their number. */
int gopt_config_pipeline(const gopt_config *c, int *pass);
/* Pass `early` runs right before pass `before` from now on, which comes first otherwise; -1, -1: in the usual order. */
void gopt_config_move_pass(gopt_config *c, int early, int before);
int64_t gopt_config_threads(const gopt_config *c);
bool gopt_config_pass_on(const gopt_config *c, const gopt_pass *p);
void gopt_config_switch_pass(gopt_config *c, const gopt_pass *p, bool on); /* and normalizes */
bool gopt_config_kernel_on(const gopt_config *c, const gopt_kernel *k);
/* Values of the pass's or kernel's knobs in the order of its rows; they lie in c. */
const int64_t *gopt_config_pass_knobs(const gopt_config *c, const gopt_pass *p);
const int64_t *gopt_config_kernel_knobs(const gopt_config *c, const gopt_kernel *k);
/* preset.c. Presets: "debug", "reduce-overhead", "max-autotune", "baseline", "default", or a YAML file (name: value).
 */
int gopt_preset_count(void);
const char *gopt_preset_at(int i, const char **doc); /* name of the i-th, NULL past the end */
gopt_status gopt_config_preset(gopt_config *c, const char *name_or_path, gopt_err *e);

#endif
