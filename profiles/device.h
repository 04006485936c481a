/* device.h: what machine this is, and whether it is quiet. */
#ifndef GOPT_DEVICE_H
#define GOPT_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

typedef struct gopt_device {
    char name[128];       /* processor */
    char fingerprint[33]; /* hash of all that makes measurements comparable */
    char isa[16], kernel[96], hypervisor[32], compiler[160];
    int cores;                  /* this process may use */
    int64_t l1, l2, l3, memory; /* bytes */
} gopt_device;

void gopt_device_read(gopt_device *out);

/* Counters of disturbance, since boot or start; differences of two readings tell what happened in between. */
typedef struct gopt_health {
    int64_t at_ns;
    double steal_s;     /* processor time taken by the hypervisor, all cores */
    double pressure_us; /* PSI: time some task waited for a processor; below 0: not known */
    int64_t switches;   /* involuntary context switches of this process and its children */
} gopt_health;

void gopt_health_read(gopt_health *out);
/* Steal above 1 % of one core's time, or other tasks' waiting above 10 %, between two readings. */
bool gopt_health_disturbed(const gopt_health *before, const gopt_health *after);

#endif
