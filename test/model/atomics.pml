/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C11 memory model as a machine of views, for Spin. Spin itself interleaves the steps of
 * sequentially consistent processes. A model therefore reads and writes shared memory only by the
 * operations of this file, whose results have the freedom that C11 gives them.
 *
 * A location that is atomic keeps all values that were ever stored to it, which are called its
 * messages, in their modification order. Message 0 is the initial value. A view has, for each
 * location, the oldest message that its owner is still allowed to read. These rules apply:
 *
 * - A load reads any message that the view of its thread allows, and moves the view to it.
 * - A store puts its message at any place in the modification order after the view of its thread.
 * - A message of a release store carries the view of its thread. A load with acquire order takes
 *   over the view of the message that it reads. A load with relaxed order keeps this view until the
 *   next acquire fence of its thread.
 * - A message of a relaxed store carries the view that its thread had at its latest release fence.
 * - A fence with sequentially consistent order exchanges its thread's view with a common view.
 * - membarrier(2) is such a fence of each thread, at any point between the beginning and the end of
 *   the call.
 * - An update (read-modify-write) directly follows the message that it reads, and its own message
 *   also carries the view of that message.
 *
 * Memory that is not atomic has one value, and the clocks of its latest accesses. A view also has
 * the clocks of the accesses that happened before. An access that conflicts with one that did not
 * happen before it is a data race, which is an error.
 *
 * These differences from C11 only add behaviours, so that a model without an error has none in C11:
 *
 * - A relaxed store does not continue the release sequence of its thread (as in C++20 and C23).
 * - Sequentially consistent loads and stores are only acquire loads and release stores.
 *
 * One difference omits behaviours. As in the model RC11 (Lahav et al., "Repairing sequential
 * consistency in C/C++11", 2017), no atomic load reads from a store that is later in an order made
 * of the program order and of reads-from. C11 permits such loads if they are relaxed. Data races
 * are found in these executions, too.
 *
 * A model defines these constants before it includes this file:
 *
 *   THREADS   number of threads; they are the processes that init starts, in this order
 *   LOCATIONS number of atomic locations, whose initial value is 0
 *   MESSAGES  limit of the messages of a location, with the initial one
 *   PLAINS    number of locations that are not atomic
 */

/* Orders of loads, stores and updates. */
#define RELAXED 0
#define ACQUIRE 1
#define RELEASE 2
#define ACQ_REL 3

typedef view {
	byte at[LOCATIONS];
	byte clock[THREADS]
};

typedef message {
	byte value;
	bool is_update;
	view carried
};

typedef location {
	byte latest; /* index of the last message in modification order */
	message messages[MESSAGES]
};

typedef thread {
	view current;
	view acquired; /* what an acquire fence makes current */
	view released  /* what relaxed stores carry */
};

typedef plain {
	byte value;
	byte author;
	byte written; /* clock of the writer at the latest write */
	byte read[THREADS] /* clock of each thread at its latest read */
};

location memory[LOCATIONS];
plain plains[PLAINS];
thread threads[THREADS];
byte common[LOCATIONS]; /* the view of the sequentially consistent fences */

/* The number of the weakened order, or of the litmus test, by the environment variable VARIANT. */
byte variant;

c_decl {
\#include <stdlib.h>
};

/* Counters of loops in one deterministic step. */
hidden byte i_, j_, k_;

#define me (_pid - 1)

/* The order of an operation of the code. 'number' is that of a weakened order. */
#define ORDER(number, order) (variant == number -> RELAXED : order)

/* The first step of init. */
inline begin()
{
	d_step {
		c_code {
			const char *text = getenv("VARIANT");

			now.variant = (unsigned char)atoi(text ? text : "0");
		};
		for (i_ : 0 .. THREADS - 1) {
			threads[i_].current.clock[i_] = 1;
			threads[i_].acquired.clock[i_] = 1
		}
	}
}

#define MAXIMUM(to, from) to = (from > to -> from : to)

inline join(to, from)
{
	for (i_ : 0 .. LOCATIONS - 1) {
		MAXIMUM(to.at[i_], from.at[i_])
	}
	for (i_ : 0 .. THREADS - 1) {
		MAXIMUM(to.clock[i_], from.clock[i_])
	}
}

inline assign(to, from)
{
	for (i_ : 0 .. LOCATIONS - 1) {
		to.at[i_] = from.at[i_]
	}
	for (i_ : 0 .. THREADS - 1) {
		to.clock[i_] = from.clock[i_]
	}
}

/* Later accesses of a thread have another clock than those that a view has. */
inline tick(t)
{
	threads[t].current.clock[t]++;
	threads[t].acquired.clock[t]++
}

/* Reads message 'index'. */
inline read_message(l, index, order)
{
	threads[me].current.at[l] = index;
	MAXIMUM(threads[me].acquired.at[l], index);
	join(threads[me].acquired, memory[l].messages[index].carried);
	if
	:: order & ACQUIRE ->
		join(threads[me].current, memory[l].messages[index].carried)
	:: else
	fi
}

inline move_up(v, l, index)
{
	v.at[l] = (v.at[l] >= index -> v.at[l] + 1 : v.at[l])
}

/* Makes place for a message with index 'index'. */
inline make_place(l, index)
{
	assert(memory[l].latest + 1 < MESSAGES);
	memory[l].latest++;
	if
	:: index < memory[l].latest ->
		k_ = memory[l].latest;
		do
		:: k_ > index ->
			memory[l].messages[k_].value = memory[l].messages[k_ - 1].value;
			memory[l].messages[k_].is_update = memory[l].messages[k_ - 1].is_update;
			assign(memory[l].messages[k_].carried, memory[l].messages[k_ - 1].carried);
			k_--
		:: else -> break
		od;
		for (i_ : 0 .. LOCATIONS - 1) {
			for (j_ : 0 .. MESSAGES - 1) {
				move_up(memory[i_].messages[j_].carried, l, index)
			}
		}
		for (i_ : 0 .. THREADS - 1) {
			move_up(threads[i_].current, l, index);
			move_up(threads[i_].acquired, l, index);
			move_up(threads[i_].released, l, index)
		}
		common[l] = (common[l] >= index -> common[l] + 1 : common[l])
	:: else
	fi
}

/* Writes message 'index', for which there is a place. */
inline write_message(l, index, order, new, is_rmw)
{
	threads[me].current.at[l] = index;
	MAXIMUM(threads[me].acquired.at[l], index);
	memory[l].messages[index].value = new;
	memory[l].messages[index].is_update = is_rmw;
	if
	:: order & RELEASE ->
		assign(memory[l].messages[index].carried, threads[me].current);
		tick(me)
	:: else ->
		assign(memory[l].messages[index].carried, threads[me].released);
		memory[l].messages[index].carried.at[l] = index
	fi
}

/* Loads the location 'l' into 'result', which must not be hidden. */
inline load(l, order, result)
{
	atomic {
		result = threads[me].current.at[l];
		do
		:: result < memory[l].latest -> result++
		:: break
		od;
		d_step {
			read_message(l, result, order);
			result = memory[l].messages[result].value
		}
	}
}

/* Stores 'new'. 'index' is a variable of the process, which is 0 before and after. */
inline store_at(l, order, new, index)
{
	atomic {
		index = threads[me].current.at[l] + 1;
		do
		:: index <= memory[l].latest -> index++
		:: index > memory[l].latest || !memory[l].messages[index].is_update -> break
		od;
		d_step {
			make_place(l, index);
			write_message(l, index, order, new, false);
			index = 0
		}
	}
}

/* Stores 'new' to a location that only this thread writes. */
inline store(l, order, new)
{
	d_step {
		assert(threads[me].current.at[l] == memory[l].latest);
		make_place(l, memory[l].latest + 1);
		write_message(l, memory[l].latest, order, new, false)
	}
}

/* Replaces the value of 'l', which is stored in 'result', by 'new', an expression that can use
 * 'result'. */
inline update(l, order, result, new)
{
	atomic {
		result = threads[me].current.at[l];
		do
		:: result < memory[l].latest -> result++
		:: result == memory[l].latest || !memory[l].messages[result + 1].is_update -> break
		od;
		d_step {
			read_message(l, result, order);
			make_place(l, result + 1);
			k_ = result;
			result = memory[l].messages[k_].value;
			write_message(l, k_ + 1, order, new, true);
			join(memory[l].messages[k_ + 1].carried, memory[l].messages[k_].carried);
			skip
		}
	}
}

inline fence_acquire()
{
	d_step {
		assign(threads[me].current, threads[me].acquired);
		skip
	}
}

inline fence_release()
{
	d_step {
		assign(threads[me].released, threads[me].current);
		tick(me)
	}
}

/* A fence of thread 't'. It creates no "happens before", except by what an acquire and a release
 * fence do. */
inline full_fence(t)
{
	assign(threads[t].current, threads[t].acquired);
	for (i_ : 0 .. LOCATIONS - 1) {
		MAXIMUM(common[i_], threads[t].current.at[i_]);
		threads[t].current.at[i_] = common[i_];
		threads[t].acquired.at[i_] = common[i_]
	}
	assign(threads[t].released, threads[t].current);
	tick(t)
}

inline fence_seq_cst()
{
	d_step { full_fence(me) }
}

/* membarrier(2). 'other' is a variable of the process, which is 0 before and after. */
inline membarrier(other)
{
	fence_seq_cst();
	do
	:: other < THREADS ->
		d_step { full_fence(other); other++ }
	:: else -> break
	od;
	skip;
	d_step { full_fence(me); other = 0 }
}

/* Accesses to memory that is not atomic. */
inline check_written(p)
{
	assert(plains[p].written <= threads[me].current.clock[plains[p].author]) /* data race */
}

inline read_plain(p, result)
{
	d_step {
		check_written(p);
		plains[p].read[me] = threads[me].current.clock[me];
		result = plains[p].value
	}
}

inline write_plain(p, new)
{
	d_step {
		check_written(p);
		for (i_ : 0 .. THREADS - 1) {
			assert(plains[p].read[i_] <= threads[me].current.clock[i_]) /* data race */
		}
		plains[p].author = me;
		plains[p].written = threads[me].current.clock[me];
		plains[p].value = new
	}
}
