/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entry of a key table, which is a sequence lock. The owner of the table sets key 1, ends it
 * and sets key 2. Meanwhile a peer looks up one of the keys.
 *
 * The model describes this code:
 *
 *   drivers/shm/keys.c: write_begin(), write_end(), key_set(), key_invalidate(), key_put()
 *   drivers/shm/keys.h: key_find()
 *
 * A lookup that finds a key must return the members that key_set() stored for this key, and the
 * sequence count that key_set() left. With a later count, the key cache would take a key that has
 * ended for a valid one. A try that finds a changing entry can only restrict what later tries
 * read. Therefore the peer tries once.
 *
 * All members are loaded with acquire order. So the second load of the sequence count, which is
 * relaxed, is not made before them.
 */
#define WRITE_END 1		/* drivers/shm/keys.c: write_end: release */
#define SET_KEY 2		/* drivers/shm/keys.c: key_set: release */
#define SET_ACCESS 3		/* drivers/shm/keys.c: key_set: release */
#define SET_CONN_ID 4		/* drivers/shm/keys.c: key_set: release */
#define SET_REGION 5		/* drivers/shm/keys.c: key_set: release */
#define SET_RADDR 6		/* drivers/shm/keys.c: key_set: release */
#define SET_LENGTH 7		/* drivers/shm/keys.c: key_set: release */
#define SET_OFFSET 8		/* drivers/shm/keys.c: key_set: release */
#define FIND_SEQ 9		/* drivers/shm/keys.h: key_find: acquire */
#define FIND_KEY 10		/* drivers/shm/keys.h: key_find: acquire */
#define FIND_ACCESS 11		/* drivers/shm/keys.h: key_find: acquire */
#define FIND_CONN_ID 12		/* drivers/shm/keys.h: key_find: acquire */
#define FIND_REGION 13		/* drivers/shm/keys.h: key_find: acquire */
#define FIND_RADDR 14		/* drivers/shm/keys.h: key_find: acquire */
#define FIND_LENGTH 15		/* drivers/shm/keys.h: key_find: acquire */
#define FIND_OFFSET 16		/* drivers/shm/keys.h: key_find: acquire */
#define INVALIDATE 17		/* drivers/shm/keys.c: key_invalidate: release, reserve */
#define PUT 18			/* drivers/shm/keys.c: key_put: release, reserve */
#define REACHES_END 255

#define THREADS 2
#define LOCATIONS 8
#define MESSAGES 7
#define PLAINS 1
#include "atomics.pml"

/* The locations of the members, in the order in which key_set() stores them and key_find() loads
 * them. */
#define SEQ 0
#define KEY 1
#define OFFSET 7

inline add_to_seq(order)
{
	d_step {
		i_ = memory[SEQ].messages[memory[SEQ].latest].value;
		seq = i_ + 1
	};
	store(SEQ, order, seq)
}

/* key_set(), which stores 'key' in all members. */
inline key_set(key)
{
	add_to_seq(RELAXED);
	at = KEY;
	do
	:: at <= OFFSET ->
		store(at, ORDER(SET_KEY - KEY + at, RELEASE), key);
		at++
	:: else -> break
	od;
	add_to_seq(ORDER(WRITE_END, RELEASE));
	at = 0
}

/* key_invalidate() and key_put() differ in what they check. */
inline key_end(variant_of_end)
{
	add_to_seq(RELAXED);
	store(KEY, ORDER(variant_of_end, RELEASE), 0);
	add_to_seq(ORDER(WRITE_END, RELEASE))
}

proctype owner()
{
	byte at, seq;

	key_set(1);
	if
	:: key_end(INVALIDATE)
	:: key_end(PUT)
	fi;
	key_set(2)
}

proctype peer()
{
	byte key, at, seq, found, member, again, loaded;

	if
	:: key = 1
	:: key = 2
	fi;
	load(SEQ, ORDER(FIND_SEQ, ACQUIRE), seq);
	load(KEY, ORDER(FIND_KEY, ACQUIRE), found);
	member = found;
	at = KEY + 1;
	do
	:: at <= OFFSET ->
		load(at, ORDER(FIND_KEY - KEY + at, ACQUIRE), loaded);
		/* 255: the members do not belong together */
		member = (loaded == member -> member : 255);
		loaded = 0;
		at++
	:: else -> break
	od;
	load(SEQ, RELAXED, again);
	if
	:: seq % 2 == 0 && again == seq && found == key ->
		assert(member == key && seq == (key == 1 -> 2 : 6));
		assert(variant != REACHES_END || key != 2)
	:: else
	fi
}

init {
	begin();
	atomic { run owner(); run peer() }
}
