/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a connection or of a key, while the peer writes or reads the memory of this side. The
 * ending side stores a mark and makes a barrier. Then it waits for an RDMA Write that the peer is
 * carrying out, and uses the memory for something else.
 *
 * The model describes this code:
 *
 *   drivers/shm/end.c: shm_end(), shm_writes_have_ended()
 *   drivers/shm/keys.c: key_invalidate(), write_begin(), write_end()
 *   drivers/shm/rdma.c: shm_barrier_for_both(), shm_wait_begin(), shm_wait_look(), shm_local_inv()
 *   drivers/shm/rdma.c: key_cache_get(), find_remote(), check_read(), busy_begin(), busy_end()
 *   drivers/shm/rdma.c: write_all(), read_all(), shm_write_direct(), shm_read_direct()
 *
 * An RDMA Write must not be a data race with the later use of the memory. An RDMA Read that returns
 * success must have read what was in the memory before the end. The copy of an RDMA Read races with
 * the later use by design, and its result is then discarded. Therefore it is a relaxed load here.
 *
 * The peer writes twice, each time by one of two keys, of which key 1 can end. If the peer could
 * not register for membarrier(2), it makes its own barrier, and that of the ending side does not
 * reach it. These cases are outside of the model, because they depend on time: the ending side has
 * no membarrier(2) although the peer relies on it (UNSEEN_MS), and the peer does not answer
 * (BUSY_WAIT_S).
 */
#define BUSY_BEGIN 1		/* drivers/shm/rdma.c: busy_begin: release */
#define BUSY_BEGIN_ORDER 2	/* drivers/shm/rdma.c: busy_begin: atomic_signal_fence */
#define OWN_BARRIER 3		/* drivers/shm/rdma.c: busy_begin: seq_cst */
#define BUSY_END 4		/* drivers/shm/rdma.c: busy_end: release */
#define WAIT_LOOK 5		/* drivers/shm/rdma.c: shm_wait_look: acquire */
#define BARRIER_MEMBARRIER 6	/* drivers/shm/rdma.c: shm_barrier_for_both: SYS_membarrier */
#define BARRIER_FENCE 7		/* drivers/shm/rdma.c: shm_barrier_for_both: seq_cst */
#define CHECK_READ 8		/* drivers/shm/rdma.c: check_read: acquire */
#define CACHE_IS_OVER 9		/* drivers/shm/rdma.c: key_cache_get: acquire, reserve */
#define CACHE_SEQ 10		/* drivers/shm/rdma.c: key_cache_get: acquire, reserve */
#define END 11			/* drivers/shm/end.c: shm_end: atomic_store, reserve */
#define WRITE_END 12		/* drivers/shm/keys.c: write_end: release, reserve */
#define REACHES_END 255

#define THREADS 2
#define LOCATIONS 4
#define MESSAGES 6
#define PLAINS 2
#include "atomics.pml"

#define IS_OVER 0
#define BUSY 1
#define SEQ 2
#define BLOCK 3 /* the memory that an RDMA Read reads */

/* The choices of init: the ender ends key 1 or the connection, the peer makes its own barrier or
 * relies on membarrier(2), and the peer reads or writes. */
bool ends_key, has_own_barrier, reads;

inline shm_barrier_for_both()
{
	if
	:: variant != BARRIER_FENCE -> fence_seq_cst()
	:: else
	fi;
	if
	:: !has_own_barrier && variant != BARRIER_MEMBARRIER -> membarrier(other)
	:: else
	fi
}

proctype ender()
{
	byte other, busy;

	if
	:: ends_key ->
		store(SEQ, RELAXED, 1);
		store(SEQ, ORDER(WRITE_END, RELEASE), 2)
	:: else -> store(IS_OVER, ORDER(END, RELEASE), 1)
	fi;
	shm_barrier_for_both();
	do
	:: !reads ->
		load(BUSY, ORDER(WAIT_LOOK, ACQUIRE), busy);
		if
		:: busy == 0 || (ends_key && busy != 1) -> break
		:: else -> busy = 0
		fi
	:: else -> break
	od;
	busy = 0;
	/* The memory is used for something else. */
	if
	:: reads -> store(BLOCK, RELAXED, 1)
	:: else ->
		write_plain(0, 9);
		if
		:: !ends_key -> write_plain(1, 9)
		:: else
		fi
	fi
}

/* Looks whether an access by the key is still permitted. Key 2 never ends. */
inline look(key)
{
	load(IS_OVER, ORDER(CACHE_IS_OVER, ACQUIRE), is_over);
	if
	:: !is_over && key == 1 -> load(SEQ, ORDER(CACHE_SEQ, ACQUIRE), seq)
	:: else -> seq = 0
	fi
}

proctype peer()
{
	byte key, is_over, seq, n, value;

	do
	:: !reads && n < 2 ->
		n++;
		if
		:: key = 1
		:: key = 2
		fi;
		if
		/* Without a signal fence, the compiler may look before it stores. */
		:: variant == BUSY_BEGIN_ORDER && !has_own_barrier ->
			look(key);
			store(BUSY, RELEASE, key)
		:: else ->
			store(BUSY, ORDER(BUSY_BEGIN, RELEASE), key);
			if
			:: has_own_barrier && variant != OWN_BARRIER -> fence_seq_cst()
			:: else
			fi;
			look(key)
		fi;
		if
		:: !is_over && seq == 0 -> write_plain(key - 1, key)
		:: else
		fi;
		store(BUSY, ORDER(BUSY_END, RELEASE), 0)
	:: reads && n == 0 ->
		n++;
		look(1);
		if
		:: !is_over && seq == 0 ->
			load(BLOCK, RELAXED, value);
			if
			:: variant != CHECK_READ -> fence_acquire()
			:: else
			fi;
			load(IS_OVER, RELAXED, is_over);
			load(SEQ, RELAXED, seq);
			assert(is_over || seq != 0 || value == 0)
		:: else
		fi
	:: else -> break
	od;
	assert(variant != REACHES_END || !is_over)
}

init {
	begin();
	atomic {
		if
		:: ends_key = true
		:: ends_key = false
		fi;
		if
		:: reads = true
		:: reads = false
		fi;
		if
		:: has_own_barrier = true
		:: has_own_barrier = false
		fi;
		run ender();
		run peer()
	}
}
