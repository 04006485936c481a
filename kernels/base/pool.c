/* Fork/join with a bounded spin.
 *
 * A job is published as one word, its generation and the next part to hand out. Whoever wants a part takes it with one
 * compare-and-swap on that word; success proves that the job read beforehand is still the current one, because a job
 * ends only after its last part was taken and done. So nobody waits for a worker that is late or asleep: the caller
 * takes what the others leave.
 *
 * Only the process that made a pool has its threads: after fork() the child may free it, but must not run it. */
#include "base/pool.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

enum {
    SPIN_NS = 50000,           /* about what a wake-up costs */
    HELD_NS = 20 * 1000 * 1000 /* giving way to others between begin and end: parked after this long all the same */
};

typedef void (*part_fn)(void *ctx, int part);

struct gopt_pool {
    /* Cache lines apart: what everybody takes parts from, what workers wait on, what the caller waits on. */
    _Alignas(64) _Atomic uint64_t next; /* generation << 32 | next part */
    _Atomic(part_fn) fn;
    _Atomic(void *) ctx;
    _Atomic uint32_t parts;
    _Alignas(64) _Atomic uint32_t bell; /* changes when there may be something to do */
    _Atomic int sleepers, held;
    _Atomic bool stop;
    _Alignas(64) _Atomic uint32_t done; /* parts of the current job that are finished */
    _Atomic bool caller_sleeps;
    int threads;
    uint32_t generation;
    pid_t owner;
    pthread_t ids[];
};

static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int waiters)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, waiters, NULL, NULL, 0);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Looks at the word until it differs from seen or `ns` have gone by, giving the processor away between looks if asked.
 */
static bool spin(_Atomic uint32_t *word, uint32_t seen, int64_t ns, bool give_way)
{
    enum { LOOKS = 64 };
    int64_t end = gopt_clock_monotonic() + ns;
    do {
        for (int i = 0; i < (give_way ? 1 : LOOKS); i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return true;
            relax();
        }
        if (give_way)
            sched_yield();
    } while (gopt_clock_monotonic() < end);
    return false;
}

/* Parts of the current job, until there are none left. What is read of the job between taking the word's value and the
 * exchange is the job's own if the exchange succeeds: publish() changes the word before anything else. */
static void work(gopt_pool *p)
{
    uint32_t did = 0;
    uint64_t word = atomic_load_explicit(&p->next, memory_order_acquire);
    for (;;) {
        uint32_t part = (uint32_t)word;
        if (part >= atomic_load_explicit(&p->parts, memory_order_acquire))
            break;
        part_fn fn = atomic_load_explicit(&p->fn, memory_order_acquire);
        void *ctx = atomic_load_explicit(&p->ctx, memory_order_acquire);
        if (!atomic_compare_exchange_weak(&p->next, &word, word + 1))
            continue;
        fn(ctx, (int)part);
        did++;
        word = atomic_load_explicit(&p->next, memory_order_acquire);
    }
    if (did == 0)
        return;
    atomic_fetch_add(&p->done, did);
    if (atomic_load(&p->caller_sleeps))
        futex_wake(&p->done, 1);
}

static void wait_for_bell(gopt_pool *p, uint32_t *seen)
{
    while (atomic_load(&p->bell) == *seen) {
        if (spin(&p->bell, *seen, SPIN_NS, false))
            break;
        if (atomic_load(&p->held) && spin(&p->bell, *seen, HELD_NS, true))
            break;
        atomic_fetch_add(&p->sleepers, 1);
        futex_wait(&p->bell, *seen);
        atomic_fetch_sub(&p->sleepers, 1);
    }
    *seen = atomic_load(&p->bell);
}

static void *worker(void *pool)
{
    gopt_pool *p = pool;
    for (uint32_t seen = 0;;) {
        wait_for_bell(p, &seen);
        if (atomic_load(&p->stop))
            return NULL;
        work(p);
    }
}

static void ring(gopt_pool *p, int wanted)
{
    atomic_fetch_add(&p->bell, 1);
    if (atomic_load(&p->sleepers) > 0)
        futex_wake(&p->bell, wanted);
}

static void publish(gopt_pool *p, part_fn fn, void *ctx, int parts)
{
    uint64_t generation = (uint64_t)++p->generation << 32;
    atomic_store(&p->next, generation | UINT32_MAX); /* no part to be had */
    atomic_store_explicit(&p->fn, fn, memory_order_release);
    atomic_store_explicit(&p->ctx, ctx, memory_order_release);
    atomic_store_explicit(&p->parts, (uint32_t)parts, memory_order_release);
    atomic_store_explicit(&p->done, 0, memory_order_relaxed);
    atomic_store(&p->next, generation);
    ring(p, parts - 1);
}

static void wait_until_done(gopt_pool *p, uint32_t parts)
{
    uint32_t done;
    while ((done = atomic_load(&p->done)) != parts) {
        if (spin(&p->done, done, SPIN_NS, false) ||
            spin(&p->done, done, atomic_load(&p->held) ? HELD_NS : SPIN_NS, true))
            continue;
        atomic_store(&p->caller_sleeps, true);
        futex_wait(&p->done, done);
        atomic_store(&p->caller_sleeps, false);
    }
}

void gopt_pool_run(gopt_pool *p, void (*fn)(void *ctx, int part), void *ctx, int parts)
{
    if (p->threads == 1 || parts <= 1) {
        for (int i = 0; i < parts; i++)
            fn(ctx, i);
        return;
    }
    publish(p, fn, ctx, parts);
    work(p);
    wait_until_done(p, (uint32_t)parts);
}

void gopt_pool_begin(gopt_pool *p)
{
    atomic_fetch_add(&p->held, 1);
    ring(p, INT_MAX);
}

void gopt_pool_end(gopt_pool *p)
{
    atomic_fetch_sub(&p->held, 1);
    atomic_fetch_add(&p->bell, 1); /* ends the long spin of those awake, and wakes nobody */
}

int gopt_pool_threads(const gopt_pool *p)
{
    return p->threads;
}

/* Starts the workers with all signals blocked: those are the caller's to handle. On failure p->threads tells how many
 * there are. */
static int start(gopt_pool *p, int threads)
{
    sigset_t all, before;
    int failed = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (p->threads < threads && !(failed = pthread_create(&p->ids[p->threads - 1], NULL, worker, p)))
        p->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

gopt_status gopt_pool_new(gopt_pool **out, int threads, gopt_err *e)
{
    *out = NULL;
    if (threads < 1 || threads > GOPT_POOL_MOST)
        return gopt_fail(e, GOPT_EUSAGE, "%d threads asked for, 1 to %d can be had", threads, GOPT_POOL_MOST);
    size_t bytes = sizeof(gopt_pool) + (size_t)(threads - 1) * sizeof(pthread_t);
    gopt_pool *p = gopt_aligned(_Alignof(gopt_pool), bytes);
    if (!p)
        return gopt_oom(e);
    memset(p, 0, bytes);
    p->threads = 1;
    p->owner = getpid();
    atomic_store(&p->next, UINT32_MAX);
    int failed = start(p, threads);
    if (failed) {
        int started = p->threads;
        gopt_pool_free(p);
        return gopt_fail(e, GOPT_ELIMIT, "thread %d of %d: %s", started + 1, threads, strerror(failed));
    }
    *out = p;
    return GOPT_OK;
}

void gopt_pool_free(gopt_pool *p)
{
    if (!p)
        return;
    if (p->owner == getpid()) {
        atomic_store(&p->stop, true);
        ring(p, INT_MAX);
        for (int i = 0; i < p->threads - 1; i++)
            pthread_join(p->ids[i], NULL);
    }
    gopt_free(p);
}
