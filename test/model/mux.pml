/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The switch of a connection from its own rings to a mux. Two sides send data messages to each
 * other, first by their own rings. Then each side says by a SWITCH in the mux that it sends by the
 * mux.
 *
 * The model describes this code:
 *
 *   drivers/shm/mux_switch.c: mux_put_control(), shm_mux_step(), shm_mux_on_control()
 *   drivers/shm/recv.c: recv_control(), recv_mux_slow()
 *
 * The messages of a side must be received once and in order. When a side handles a SWITCH, it must
 * have received all messages that the other side sent by its own ring. ring.pml is the model of one
 * ring. Therefore each cell has one message here, and is written once.
 */
#define OWN_STORE 1		/* drivers/shm/ring_cells.h: ring_write_small: release */
#define MUX_STORE 2		/* drivers/shm/ring.c: put_whole: release */
#define OWN_LOAD 3		/* drivers/shm/ring.h: ring_header: acquire */
#define MUX_LOAD 4		/* drivers/shm/ring.h: ring_header: acquire, again */
#define DRAIN 5			/* drivers/shm/recv.c: recv_control: shm_recv_ring */
#define REACHES_END 255

#define CONNECTOR 0
#define COUNT(side) (side == CONNECTOR -> 2 : 1) /* data messages */
#define OWN_CELLS 2
#define MUX_CELLS 4
#define CELLS (OWN_CELLS + MUX_CELLS)
#define THREADS 2
#define LOCATIONS (2 * CELLS)
#define MESSAGES 3
#define PLAINS (2 * CELLS)
#include "atomics.pml"

/* Cells of the direction whose sender is 'side'. They hold one message each. */
#define own_cell(side, at) ((side) * CELLS + (at))
#define mux_cell(side, at) ((side) * CELLS + OWN_CELLS + (at))

#define DATA 1
#define HELLO 2
#define SWITCH 3

/* A header is the kind of the message, and the payload is the number of the data message, or the
 * number of the data messages before a SWITCH. */
inline put(cell, order, kind, number)
{
	write_plain(cell, number);
	store(cell, order, kind)
}

inline receive_data(cell)
{
	read_plain(cell, payload);
	received++;
	assert(payload == received);
	payload = 0
}

inline look_at_own()
{
	header = 0;
	if
	:: own_head < OWN_CELLS ->
		load(own_cell(1 - me, own_head), ORDER(OWN_LOAD, ACQUIRE), header)
	:: else
	fi
}

/* Receives what has arrived by the own ring. */
inline receive_own()
{
	do
	:: look_at_own();
		if
		:: header == DATA ->
			receive_data(own_cell(1 - me, own_head));
			own_head++
		:: else -> break
		fi
	od;
	header = 0
}

#define is_done                                                                                   \
	(sent == COUNT(me) && received == COUNT(1 - me) && tx_in_mux && rx_in_mux)

proctype side()
{
	byte own_tail, own_head, mux_tail, mux_head, sent, received, header, payload;
	bool is_greeted, is_heard, tx_in_mux, rx_in_mux;

	do
	:: sent < COUNT(me) && !tx_in_mux ->
		sent++;
		put(own_cell(me, own_tail), ORDER(OWN_STORE, RELEASE), DATA, sent);
		own_tail++
	:: sent < COUNT(me) && tx_in_mux ->
		sent++;
		put(mux_cell(me, mux_tail), ORDER(MUX_STORE, RELEASE), DATA, sent);
		mux_tail++
	:: me == CONNECTOR && !is_greeted ->
		put(mux_cell(me, mux_tail), ORDER(MUX_STORE, RELEASE), HELLO, 0);
		mux_tail++;
		is_greeted = true
	:: is_heard && !tx_in_mux ->
		put(mux_cell(me, mux_tail), ORDER(MUX_STORE, RELEASE), SWITCH, sent);
		mux_tail++;
		tx_in_mux = true
	:: !rx_in_mux -> receive_own()
	:: mux_head < MUX_CELLS && !is_done ->
		load(mux_cell(1 - me, mux_head), ORDER(MUX_LOAD, ACQUIRE), header);
		if
		:: header == DATA ->
			assert(rx_in_mux);
			header = 0;
			receive_data(mux_cell(1 - me, mux_head));
			mux_head++
		:: header == HELLO ->
			header = 0;
			is_heard = true;
			mux_head++
		:: header == SWITCH ->
			assert(!rx_in_mux);
			if
			:: variant != DRAIN -> receive_own()
			:: else
			fi;
			header = 0;
			read_plain(mux_cell(1 - me, mux_head), payload);
			assert(payload == received);
			payload = 0;
			is_heard = true;
			rx_in_mux = true;
			mux_head++
		:: else
		fi
	:: is_done -> break
	od;
	assert(variant != REACHES_END)
}

init {
	begin();
	atomic { run side(); run side() }
}
