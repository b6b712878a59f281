/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine's thread that falls asleep while another thread of its process creates work. A sleep
 * ends when the other thread writes to the eventfd of the engine.
 *
 * The model describes this code:
 *
 *   lib/engine/sleep.c: weir_engine_arm(), weir_engine_disarm()
 *   lib/fabric/waker.c: fabric_wake()
 *
 * No work may be lost to a sleep: if the engine sleeps for ever, Spin reports a deadlock. The
 * report of the eventfd orders no accesses to memory here, although it does in the kernel.
 */
#define WAKE_BARRIER 1		/* lib/fabric/waker.c: fabric_wake: seq_cst */
#define ARM_BARRIER 2		/* lib/engine/sleep.c: weir_engine_arm: seq_cst */
#define LOOK 3			/* lib/engine/sleep.c: weir_engine_arm: mailbox_is_empty */
#define ARMED 4			/* lib/engine/sleep.c: weir_engine_arm: atomic_store, reserve */
#define EXCHANGE 5		/* lib/fabric/waker.c: fabric_wake: atomic_exchange, reserve */
#define REACHES_END 255

#define COUNT 2 /* messages of the mailbox */
#define THREADS 2
#define LOCATIONS 2
#define MESSAGES 12
#define PLAINS 1
#include "atomics.pml"

#define WORK 0
#define IS_ARMED 1

bool has_report; /* of the eventfd */

proctype engine()
{
	byte work, done, index;

	do
	:: done < COUNT ->
		load(WORK, ACQUIRE, work);
		if
		:: work > done -> done = work
		:: else ->
			store_at(IS_ARMED, ORDER(ARMED, RELEASE), true, index);
			if
			:: variant != ARM_BARRIER -> fence_seq_cst()
			:: else
			fi;
			work = 0;
			if
			:: variant != LOOK -> load(WORK, ACQUIRE, work)
			:: else
			fi;
			if
			:: work > done
			:: else -> has_report /* the sleep */
			fi;
			store_at(IS_ARMED, RELAXED, false, index);
			has_report = false
		fi;
		work = 0
	:: else -> break
	od;
	assert(variant != REACHES_END)
}

proctype other()
{
	byte created, is_armed;

	do
	:: created < COUNT ->
		created++;
		store(WORK, RELEASE, created);
		if
		:: variant != WAKE_BARRIER -> fence_seq_cst()
		:: else
		fi;
		load(IS_ARMED, RELAXED, is_armed);
		if
		:: is_armed ->
			update(IS_ARMED, ORDER(EXCHANGE, ACQ_REL), is_armed, false);
			has_report = has_report || is_armed
		:: else
		fi;
		is_armed = 0
	:: else -> break
	od
}

init {
	begin();
	atomic { run engine(); run other() }
}
