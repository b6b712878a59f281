/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a thread whose poll found no work spin, pause, yield or sleep, as the profile's 'idle'
 * says. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <time.h>

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_pause.h>

#include "engine.h"
#include "owner.h"

#define YIELD_POLLS 64u	       /* yield: polls without work after which a thread yields */
#define SPIN_NS	    20000u     /* adaptive: the thread polls without a pause for this time */
#define PAUSE_NS    200000u    /* adaptive: from then on, it pauses between polls up to this time */
#define PAUSE_US    2u	       /* length of a pause */
#define PAUSES	    32u	       /* instructions of a pause, on a processor without WAITPKG */
#define NAP_NS	    50000u     /* a sleep with a driver that cannot wake a thread */
#define SLEEP_NS    100000000u /* the longest sleep */

static bool is_pinned(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1;
}

static enum weir_idle choose(const struct weir_engine *engine)
{
	if (engine->profile.idle != WEIR_IDLE_AUTO)
		return engine->profile.idle;
	return is_pinned() ? WEIR_IDLE_SPIN : WEIR_IDLE_YIELD;
}

#ifdef __x86_64__
/* Pauses until the clock of the processor has the value 'until', by the instruction TPAUSE in its
 * deeper state C0.2. Returns false if the processor does not have the instruction (WAITPKG). */
static bool pause_until(uint64_t until)
{
	if (rte_cpu_get_flag_enabled(RTE_CPUFLAG_WAITPKG) != 1)
		return false;
	/* the bytes of "tpause %edi", which older assemblers do not know */
	__asm__ volatile(".byte 0x66, 0x0f, 0xae, 0xf7"
			 :
			 : "D"(0), "a"((uint32_t)until), "d"((uint32_t)(until >> 32))
			 : "cc");
	return true;
}
#else
static bool pause_until(uint64_t until)
{
	(void)until;
	return false;
}
#endif

/* Pauses for about two microseconds. TPAUSE leaves the resources of the core to its other thread.
 */
static void short_pause(void)
{
	if (pause_until(rte_rdtsc() + rte_get_tsc_hz() / 1000000 * PAUSE_US))
		return;
	for (uint32_t i = 0; i < PAUSES; i++)
		rte_pause();
}

static struct timespec of_ns(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};
}

/* Sleeps until there is work, a deadline of the engine, or the time 'until_ns'. */
static void sleep_until_work(struct weir_engine *engine, uint64_t now_ns, uint64_t until_ns)
{
	struct pollfd pfd = {.fd = weir_engine_fd(engine), .events = POLLIN};
	uint64_t timeout_ns = NAP_NS, left_ns = until_ns - now_ns;
	struct timespec timeout;
	int rc = pfd.fd < 0 ? -EOPNOTSUPP : weir_engine_arm(engine, now_ns, &timeout_ns);

	if (rc != 0 && rc != -EOPNOTSUPP)
		return;
	if (left_ns > SLEEP_NS)
		left_ns = SLEEP_NS;
	timeout = of_ns(timeout_ns < left_ns ? timeout_ns : left_ns);
	(void)ppoll(&pfd, rc == 0 ? 1 : 0, &timeout, NULL);
	if (rc == 0)
		weir_engine_disarm(engine);
}

static void adapt(struct weir_engine *engine, uint64_t now_ns, uint64_t until_ns)
{
	uint64_t idle_ns = now_ns - engine->idle_since_ns;

	if (idle_ns < SPIN_NS)
		return;
	if (idle_ns < PAUSE_NS)
		short_pause();
	else if (now_ns < until_ns)
		sleep_until_work(engine, now_ns, until_ns);
}

static void be_idle(struct weir_engine *engine, uint32_t work, uint64_t now_ns, uint64_t until_ns)
{
	if (work > 0) {
		engine->nidle = 0;
		return;
	}
	if (engine->nidle++ == 0) {
		engine->idle_since_ns = now_ns;
		if (engine->idle_policy == WEIR_IDLE_AUTO)
			engine->idle_policy = choose(engine);
	}
	switch (engine->idle_policy) {
	case WEIR_IDLE_ADAPTIVE:
		adapt(engine, now_ns, until_ns);
		break;
	case WEIR_IDLE_EVENT:
		if (now_ns < until_ns)
			sleep_until_work(engine, now_ns, until_ns);
		break;
	case WEIR_IDLE_YIELD:
		if (engine->nidle % YIELD_POLLS == 0)
			sched_yield();
		break;
	case WEIR_IDLE_AUTO:
	case WEIR_IDLE_SPIN:
		break;
	}
}

void weir_engine_idle(struct weir_engine *engine, uint32_t work, uint64_t now_ns)
{
	if (!OTHER_THREAD(engine))
		be_idle(engine, work, now_ns, UINT64_MAX);
}

void weir_engine_idle_until(struct weir_engine *engine, uint32_t work, uint64_t now_ns,
			    uint64_t until_ns)
{
	if (!OTHER_THREAD(engine))
		be_idle(engine, work, now_ns, until_ns);
}
