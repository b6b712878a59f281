/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Litmus tests of atomics.pml. VARIANT chooses the test. The word after the number of a test is its
 * expected result. An outcome is 'allowed' if an execution reaches it, and otherwise 'forbidden'.
 * With 'race', an execution has a data race.
 */
#define MP 1			/* forbidden */
#define MP_RELAXED 2		/* allowed */
#define MP_RELAXED_LOAD 3	/* allowed */
#define MP_RELAXED_STORE 4	/* allowed */
#define MP_FENCES 5		/* forbidden */
#define MP_OVERWRITTEN 6	/* allowed: the relaxed store ends the release sequence */
#define MP_UPDATED 7		/* forbidden: an update continues the release sequence */
#define SB 8			/* allowed */
#define SB_FENCES 9		/* forbidden */
#define SB_ONE_FENCE 10		/* allowed */
#define SB_MEMBARRIER 11	/* forbidden */
#define LB 12			/* forbidden: by RC11, but not by C11 */
#define IRIW 13			/* allowed */
#define IRIW_FENCES 14		/* forbidden */
#define TWO_WRITES 15		/* allowed: often called 2+2W */
#define TWO_WRITES_FENCES 16	/* forbidden */
#define COHERENCE_RR 17		/* forbidden */
#define COHERENCE_WR 18		/* forbidden */
#define COHERENCE_RW 19		/* forbidden */
#define COHERENCE_WW 20		/* forbidden */
#define WRC 21			/* forbidden */
#define WRC_RELAXED 22		/* allowed */
#define LOST_UPDATE 23		/* forbidden */
#define RWC_FENCES 24		/* forbidden */
#define R 25			/* allowed */
#define R_FENCES 26		/* forbidden */
#define S 27			/* forbidden */
#define PLAIN_MP 28		/* forbidden */
#define PLAIN_MP_RELAXED 29	/* race */
#define PLAIN_REUSE 30		/* forbidden */
#define PLAIN_REUSE_RELAXED 31	/* race */
#define PLAIN_SB_FENCES 32	/* race: the fences order only the accesses that are atomic */

#define THREADS 4
#define LOCATIONS 2
#define MESSAGES 4
#define PLAINS 1
#include "atomics.pml"

#define X 0
#define Y 1

#define STEPS 3

/* The operations of the threads, and the results of loads. */
mtype = { NONE, LOAD, STORE, INCREMENT, IF_ONE, FENCE_ACQUIRE, FENCE_RELEASE, FENCE, MEMBARRIER,
	READ_PLAIN, WRITE_PLAIN };
typedef step {
	mtype op;
	byte at;
	byte strength;
	byte number /* value to store, or index of the result */
};
typedef program {
	byte length;
	step steps[STEPS]
};
program programs[THREADS];
byte r[4];
byte done;

inline add(t, what, where, how, what_number)
{
	programs[t].steps[programs[t].length].op = what;
	programs[t].steps[programs[t].length].at = where;
	programs[t].steps[programs[t].length].strength = how;
	programs[t].steps[programs[t].length].number = what_number;
	programs[t].length++
}

#define OP programs[me].steps[pc]

proctype execute()
{
	byte pc, index;

	do
	:: pc < programs[me].length ->
		if
		:: OP.op == LOAD -> load(OP.at, OP.strength, r[OP.number])
		:: OP.op == STORE -> store_at(OP.at, OP.strength, OP.number, index)
		:: OP.op == INCREMENT -> update(OP.at, OP.strength, r[OP.number], r[OP.number] + 1)
		:: OP.op == IF_ONE ->
			if
			:: r[OP.number] == 1
			:: else -> break
			fi
		:: OP.op == FENCE_ACQUIRE -> fence_acquire()
		:: OP.op == FENCE_RELEASE -> fence_release()
		:: OP.op == FENCE -> fence_seq_cst()
		:: OP.op == MEMBARRIER -> membarrier(index)
		:: OP.op == READ_PLAIN -> read_plain(0, r[OP.number])
		:: OP.op == WRITE_PLAIN -> write_plain(0, OP.number)
		fi;
		pc++
	:: else -> break
	od;
	done++
}

#define IS(a) (variant == a)
#define IN(a, b) (variant >= a && variant <= b)
#define RELAXED_IF(condition, order) ((condition) -> RELAXED : order)

inline add_if(condition, t, what)
{
	if
	:: condition -> add(t, what, 0, 0, 0)
	:: else
	fi
}

inline write_programs()
{
	if
	:: IN(MP, MP_UPDATED) ->
		add(0, STORE, X, RELAXED, 1);
		add_if(IS(MP_FENCES), 0, FENCE_RELEASE);
		add(0, STORE, Y, RELAXED_IF(IS(MP_RELAXED) || IS(MP_RELAXED_STORE) || IS(MP_FENCES),
					    RELEASE), 1);
		if
		:: IS(MP_OVERWRITTEN) -> add(0, STORE, Y, RELAXED, 2)
		:: IS(MP_UPDATED) -> add(2, INCREMENT, Y, RELAXED, 2)
		:: else
		fi;
		add(1, LOAD, Y, RELAXED_IF(IS(MP_RELAXED) || IS(MP_RELAXED_LOAD) || IS(MP_FENCES),
					   ACQUIRE), 0);
		add_if(IS(MP_FENCES), 1, FENCE_ACQUIRE);
		add(1, LOAD, X, RELAXED, 1)
	:: IN(SB, SB_MEMBARRIER) ->
		add(0, STORE, X, RELEASE, 1);
		add_if(IS(SB_FENCES) || IS(SB_ONE_FENCE), 0, FENCE);
		add_if(IS(SB_MEMBARRIER), 0, MEMBARRIER);
		add(0, LOAD, Y, ACQUIRE, 0);
		add(1, STORE, Y, RELEASE, 1);
		add_if(IS(SB_FENCES), 1, FENCE);
		add(1, LOAD, X, ACQUIRE, 1)
	:: IS(LB) ->
		add(0, LOAD, X, RELAXED, 0);
		add(0, STORE, Y, RELAXED, 1);
		add(1, LOAD, Y, RELAXED, 1);
		add(1, STORE, X, RELAXED, 1)
	:: IN(IRIW, IRIW_FENCES) ->
		add(0, STORE, X, RELEASE, 1);
		add(1, STORE, Y, RELEASE, 1);
		add(2, LOAD, X, ACQUIRE, 0);
		add_if(IS(IRIW_FENCES), 2, FENCE);
		add(2, LOAD, Y, ACQUIRE, 1);
		add(3, LOAD, Y, ACQUIRE, 2);
		add_if(IS(IRIW_FENCES), 3, FENCE);
		add(3, LOAD, X, ACQUIRE, 3)
	:: IN(TWO_WRITES, TWO_WRITES_FENCES) ->
		add(0, STORE, X, RELEASE, 1);
		add_if(IS(TWO_WRITES_FENCES), 0, FENCE);
		add(0, STORE, Y, RELEASE, 2);
		add(1, STORE, Y, RELEASE, 1);
		add_if(IS(TWO_WRITES_FENCES), 1, FENCE);
		add(1, STORE, X, RELEASE, 2)
	:: IS(COHERENCE_RR) ->
		add(0, STORE, X, RELAXED, 1);
		add(1, LOAD, X, RELAXED, 0);
		add(1, LOAD, X, RELAXED, 1)
	:: IS(COHERENCE_WR) ->
		add(0, STORE, X, RELAXED, 1);
		add(1, STORE, X, RELAXED, 2);
		add(1, LOAD, X, RELAXED, 0)
	:: IS(COHERENCE_RW) ->
		add(0, STORE, X, RELAXED, 1);
		add(1, LOAD, X, RELAXED, 0);
		add(1, STORE, X, RELAXED, 2)
	:: IS(COHERENCE_WW) ->
		add(0, STORE, X, RELAXED, 1);
		add(0, STORE, X, RELAXED, 2)
	:: IN(WRC, WRC_RELAXED) ->
		add(0, STORE, X, RELAXED, 1);
		add(0, STORE, Y, RELEASE, 1);
		add(1, LOAD, Y, RELAXED_IF(IS(WRC_RELAXED), ACQUIRE), 0);
		add(1, STORE, Y, RELEASE, 2);
		add(2, LOAD, Y, ACQUIRE, 1);
		add(2, LOAD, X, RELAXED, 2)
	:: IS(LOST_UPDATE) ->
		add(0, INCREMENT, X, RELAXED, 0);
		add(1, INCREMENT, X, RELAXED, 1)
	:: IS(RWC_FENCES) ->
		add(0, STORE, X, RELAXED, 1);
		add(1, LOAD, X, RELAXED, 0);
		add(1, FENCE, 0, 0, 0);
		add(1, LOAD, Y, RELAXED, 1);
		add(2, STORE, Y, RELAXED, 1);
		add(2, FENCE, 0, 0, 0);
		add(2, LOAD, X, RELAXED, 2)
	:: IN(R, R_FENCES) ->
		add(0, STORE, X, RELEASE, 1);
		add_if(IS(R_FENCES), 0, FENCE);
		add(0, STORE, Y, RELEASE, 1);
		add(1, STORE, Y, RELEASE, 2);
		add_if(IS(R_FENCES), 1, FENCE);
		add(1, LOAD, X, ACQUIRE, 0)
	:: IS(S) ->
		add(0, STORE, X, RELAXED, 2);
		add(0, STORE, Y, RELEASE, 1);
		add(1, LOAD, Y, ACQUIRE, 0);
		add(1, STORE, X, RELAXED, 1)
	:: IN(PLAIN_MP, PLAIN_REUSE_RELAXED) ->
		add(0, (IN(PLAIN_MP, PLAIN_MP_RELAXED) -> WRITE_PLAIN : READ_PLAIN), 0, 0, 1);
		add(0, STORE, Y,
		    RELAXED_IF(IS(PLAIN_MP_RELAXED) || IS(PLAIN_REUSE_RELAXED), RELEASE), 1);
		add(1, LOAD, Y, ACQUIRE, 0);
		add(1, IF_ONE, 0, 0, 0);
		add(1, (IN(PLAIN_MP, PLAIN_MP_RELAXED) -> READ_PLAIN : WRITE_PLAIN), 0, 0, 2)
	:: IS(PLAIN_SB_FENCES) ->
		add(0, WRITE_PLAIN, 0, 0, 1);
		add(0, FENCE, 0, 0, 0);
		add(0, STORE, X, RELAXED, 1);
		add(1, LOAD, X, RELAXED, 0);
		add(1, IF_ONE, 0, 0, 0);
		add(1, WRITE_PLAIN, 0, 0, 2)
	fi
}

#define last(l) memory[l].messages[memory[l].latest].value

/* True if the execution that has ended has the outcome of the test. */
#define IS_OUTCOME                                                                                \
	((IN(MP, MP_FENCES) && r[0] == 1 && r[1] == 0) ||                                          \
	 (IN(MP_OVERWRITTEN, MP_UPDATED) && r[0] == 2 && r[1] == 0) ||                             \
	 (IN(SB, SB_MEMBARRIER) && r[0] == 0 && r[1] == 0) ||                                      \
	 (IS(LB) && r[0] == 1 && r[1] == 1) ||                                                     \
	 (IN(IRIW, IRIW_FENCES) && r[0] == 1 && r[1] == 0 && r[2] == 1 && r[3] == 0) ||            \
	 (IN(TWO_WRITES, TWO_WRITES_FENCES) && last(X) == 1 && last(Y) == 1) ||                    \
	 (IS(COHERENCE_RR) && r[0] == 1 && r[1] == 0) ||                                           \
	 (IS(COHERENCE_WR) && r[0] == 1 && last(X) == 2) ||                                        \
	 (IS(COHERENCE_RW) && r[0] == 1 && last(X) == 1) ||                                        \
	 (IS(COHERENCE_WW) && last(X) == 1) ||                                                     \
	 (IN(WRC, WRC_RELAXED) && r[0] == 1 && r[1] == 2 && r[2] == 0) ||                          \
	 (IS(LOST_UPDATE) && last(X) == 1) ||                                                      \
	 (IS(RWC_FENCES) && r[0] == 1 && r[1] == 0 && r[2] == 0) ||                                \
	 (IN(R, R_FENCES) && last(Y) == 2 && r[0] == 0) ||                                         \
	 (IS(S) && r[0] == 1 && last(X) == 2) ||                                                   \
	 (IN(PLAIN_MP, PLAIN_MP_RELAXED) && r[0] == 1 && r[2] != 1))

init {
	bool is_outcome;

	begin();
	d_step { write_programs() };
	atomic { run execute(); run execute(); run execute(); run execute() };
	done == 4;
	is_outcome = IS_OUTCOME;
	assert(!is_outcome)
}
