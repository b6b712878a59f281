/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine's thread that falls asleep while a peer sends it messages. A sleep ends when the peer
 * sends WAKE by the socket.
 *
 * The model describes this code:
 *
 *   drivers/shm/rdma.c: shm_barrier_for_both()
 *   drivers/shm/shm_qp.h: shm_wake_peer()
 *   drivers/shm/wake.c: shm_arm(), shm_disarm(), shm_wake_sleeper(), shm_wake_peer_any()
 *
 * No message may be lost to a sleep: the engine must receive all messages. If it sleeps while a
 * message waits and no WAKE comes, the model has a deadlock, which Spin reports. Spin also finds
 * all other executions in which a process waits for ever.
 *
 * The peer relies on membarrier(2), or makes its own barrier. A header has the number of the latest
 * message, because ring.pml is the model of a ring. The case that the engine has no membarrier(2)
 * although the peer relies on it is outside of the model: such a sleep is short.
 */
#define PEER_ORDER 1		/* drivers/shm/shm_qp.h: shm_wake_peer: atomic_signal_fence */
#define PEER_BARRIER 2		/* drivers/shm/wake.c: shm_wake_peer_any: seq_cst */
#define BARRIER_MEMBARRIER 3	/* drivers/shm/rdma.c: shm_barrier_for_both: SYS_membarrier */
#define BARRIER_FENCE 4		/* drivers/shm/rdma.c: shm_barrier_for_both: seq_cst */
#define NEW_VALUE 5		/* drivers/shm/wake.c: shm_arm: narms */
#define LOOK 6			/* drivers/shm/wake.c: shm_arm: look */
#define REACHES_END 255

#define COUNT 2 /* messages */
#define THREADS 2
#define LOCATIONS 2
#define MESSAGES 10
#define PLAINS 1
#include "atomics.pml"

#define HEADER 0
#define ASLEEP 1

bool has_own_barrier;
bool has_wake; /* WAKE is in the socket */

proctype engine()
{
	byte header, received, narms, other;

	do
	:: received < COUNT ->
		load(HEADER, ACQUIRE, header);
		if
		:: header > received -> received = header
		:: else ->
			/* shm_arm() */
			narms = (variant == NEW_VALUE -> 1 : narms + 1);
			store(ASLEEP, RELAXED, narms);
			if
			:: variant != BARRIER_FENCE -> fence_seq_cst()
			:: else
			fi;
			if
			:: !has_own_barrier && variant != BARRIER_MEMBARRIER -> membarrier(other)
			:: else
			fi;
			header = 0;
			if
			:: variant != LOOK -> load(HEADER, ACQUIRE, header)
			:: else
			fi;
			if
			:: header > received
			:: else ->
				/* the sleep */
				d_step { has_wake -> has_wake = false }
			fi;
			store(ASLEEP, RELAXED, 0)
		fi;
		header = 0
	:: else -> break
	od;
	assert(variant != REACHES_END)
}

proctype peer()
{
	byte sent, asleep, woken;

	do
	:: sent < COUNT ->
		sent++;
		/* Without a signal fence, the compiler may load before it stores. */
		if
		:: variant == PEER_ORDER && !has_own_barrier ->
			load(ASLEEP, RELAXED, asleep);
			store(HEADER, RELEASE, sent)
		:: else ->
			store(HEADER, RELEASE, sent);
			if
			:: has_own_barrier && variant != PEER_BARRIER -> fence_seq_cst()
			:: else
			fi;
			load(ASLEEP, RELAXED, asleep)
		fi;
		if
		:: asleep != 0 ->
			load(ASLEEP, RELAXED, asleep); /* shm_wake_sleeper() */
			if
			:: asleep != 0 && asleep != woken ->
				woken = asleep;
				has_wake = true
			:: else
			fi
		:: else
		fi;
		asleep = 0
	:: else -> break
	od
}

init {
	begin();
	atomic {
		if
		:: has_own_barrier = true
		:: has_own_barrier = false
		fi;
		run engine();
		run peer()
	}
}
