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
    double busy_s;      /* processor time of all processes on all cores; below 0: not known */
    double own_s;       /* of it, what was ours: of this process, until the caller adds its workers' */
    double waited_s;    /* time that our threads stood in line for a processor; below 0: not known */
    int64_t switches;   /* involuntary context switches of this process and its children */
} gopt_health;

void gopt_health_read(gopt_health *out); /* of this process */
double gopt_health_waited(void);         /* s: as waited_s, of this process; below 0: not known */
/* Steal above 1 % of one core's time, or our own threads' waiting above 10 %, between two readings. Where the latter is
 * not known, the waiting of any task: too strict, since what waits for us does not disturb us. */
bool gopt_health_disturbed(const gopt_health *before, const gopt_health *after);

/* What disturbed, summed over the times between pairs of readings. */
typedef struct gopt_disturbance {
    double seconds;
    double steal_s, others_s; /* processor time of the hypervisor and of other processes */
    double waited_s;          /* as in gopt_health; below 0: not known */
} gopt_disturbance;
void gopt_disturbance_add(gopt_disturbance *d, const gopt_health *before, const gopt_health *after);

#endif
