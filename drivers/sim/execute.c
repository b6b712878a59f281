/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes work requests.
 *
 * The device starts work requests in order, one at a time. A work request that cannot start delays
 * all later ones. These work requests cannot start:
 * - a READ while max_rd_atomic READs are in flight
 * - a work request with FENCE while READs are in flight
 *
 * After its start, each operation proceeds on its own:
 * - A WRITE is split into pieces, which arrive in any order.
 * - A READ is split into pieces, which arrive after a round trip.
 * - Sends arrive in order, and after all WRITEs that were started before them.
 *
 * The memory of a work request is read and written when a piece or a message arrives, and not
 * earlier. Therefore an error of the user is noticed, who must not reuse this memory before the
 * completion.
 *
 * When a work request fails, later ones have no effect, and earlier ones run to their end. The
 * connection ends when the completion of the failed work request is made.
 */
#include "sim_world.h"

#include <string.h>

static bool is_send(const struct sim_swr *swr)
{
	return swr->wr.op == FABRIC_SEND || swr->wr.op == FABRIC_SEND_INV;
}

static bool has_source(const struct sim_swr *swr)
{
	return is_send(swr) || swr->wr.op == FABRIC_WRITE;
}

static bool sges_ok(const struct sim_qp *qp, const struct sim_swr *swr)
{
	uint32_t access = swr->wr.op == FABRIC_READ ? FABRIC_LOCAL_WRITE : 0;

	if (swr->inline_data)
		return true;
	for (uint32_t i = 0; i < swr->wr.nsge; i++)
		if (!sim_local_ok(qp->dev, swr->sges[i].lkey, swr->sges[i].addr, swr->sges[i].len,
				  access))
			return false;
	return true;
}

bool sim_source_sum(const struct sim_qp *qp, const struct sim_swr *swr, uint64_t *sum)
{
	uint64_t x = 1469598103934665603ull;

	if (!has_source(swr) || swr->inline_data || !sges_ok(qp, swr))
		return false;
	for (uint32_t i = 0; i < swr->wr.nsge; i++) {
		const uint8_t *p = swr->sges[i].addr;
		uint32_t len = swr->sges[i].len;

		for (; len >= 8; len -= 8, p += 8) {
			uint64_t word;

			memcpy(&word, p, 8);
			x = (x ^ word) * 0x9e3779b97f4a7c15ull;
			x ^= x >> 29;
		}
		for (; len > 0; len--)
			x = (x ^ *p++) * 1099511628211ull;
	}
	*sum = x;
	return true;
}

/*
 * Copies the bytes [offset, offset + len) of the work request's data to 'linear'. With 'into',
 * copies from 'linear' to the memory of the work request's elements.
 */
static void copy(const struct sim_swr *swr, uint32_t offset, uint32_t len, uint8_t *linear,
		 bool into)
{
	if (swr->inline_data) {
		memcpy(linear, swr->inline_data + offset, len);
		return;
	}
	for (uint32_t i = 0; i < swr->wr.nsge && len > 0; i++) {
		const struct fabric_sge *sge = &swr->sges[i];
		uint32_t n = sge->len - offset < len ? sge->len - offset : len;

		if (offset >= sge->len) {
			offset -= sge->len;
			continue;
		}
		/* Source and destination can overlap. */
		if (into)
			memmove((uint8_t *)sge->addr + offset, linear, n);
		else
			memmove(linear, (const uint8_t *)sge->addr + offset, n);
		linear += n;
		len -= n;
		offset = 0;
	}
}

static void wr_schedule(struct sim_qp *qp, enum sim_event_kind kind, uint64_t position,
			uint64_t at_ns)
{
	const struct sim_event event = {
		.at_ns = at_ns, .wr = position, .qp = qp->number, .kind = kind};

	sim_schedule(qp->dev->world, &event);
}

static uint64_t wire(struct sim_qp *qp)
{
	return sim_draw(qp->dev->world, &qp->dev->world->options.wire);
}

static uint64_t completion(struct sim_qp *qp)
{
	return sim_draw(qp->dev->world, &qp->dev->world->options.completion);
}

static void fail(struct sim_qp *qp, uint64_t position, enum fabric_status status)
{
	struct sim_swr *swr = sim_sq_at(qp, position);

	if (position < qp->failed)
		qp->failed = position;
	swr->state = SIM_DONE;
	swr->status = status;
	sim_sq_complete(qp);
}

/*
 * Lets a work request fail at the peer with 'status'. The sender learns this later, by SIM_NAK.
 * Work requests that were posted after this one have no effect.
 */
static void wr_refuse(struct sim_qp *qp, uint64_t position, enum fabric_status status)
{
	const struct sim_event event = {
		.at_ns = qp->dev->world->now_ns + wire(qp),
		.wr = position,
		.qp = qp->number,
		.len = status,
		.kind = SIM_NAK,
	};

	if (position < qp->failed)
		qp->failed = position;
	sim_sq_at(qp, position)->state = SIM_DELIVERED;
	sim_schedule(qp->dev->world, &event);
}

static void start_pieces(struct sim_qp *qp, uint64_t position, enum sim_event_kind kind)
{
	struct sim_world *world = qp->dev->world;
	struct sim_swr *swr = sim_sq_at(qp, position);
	uint32_t most = swr->len < SIM_PIECES_MAX ? swr->len : SIM_PIECES_MAX;
	uint32_t pieces = most > 1 ? 1 + (uint32_t)sim_random_below(world, most) : 1;
	struct sim_event event = {.wr = position, .qp = qp->number, .kind = kind};

	swr->pieces_left = pieces;
	for (uint32_t left = pieces; left > 0; left--) {
		uint32_t rest = swr->len - event.offset;

		event.len =
			left == 1 ? rest : 1 + (uint32_t)sim_random_below(world, rest - left + 1);
		event.at_ns = world->now_ns + wire(qp) + (kind == SIM_FETCH ? wire(qp) : 0);
		if (kind == SIM_LAND && event.at_ns > qp->landed_ns)
			qp->landed_ns = event.at_ns;
		sim_schedule(world, &event);
		event.offset += event.len;
	}
}

static void start_send(struct sim_qp *qp, uint64_t position)
{
	struct sim_swr *swr = sim_sq_at(qp, position);

	if (qp->attr.max_msg_bytes && swr->len > qp->attr.max_msg_bytes) {
		fail(qp, position, FABRIC_ERR_LOCAL_LEN);
		return;
	}
	swr->arrives_ns = qp->dev->world->now_ns + wire(qp);
	if (swr->arrives_ns <= qp->landed_ns)
		swr->arrives_ns = qp->landed_ns + 1;
	qp->landed_ns = swr->arrives_ns;
	if (qp->sends++ == 0)
		wr_schedule(qp, SIM_ARRIVE, position, swr->arrives_ns);
}

static void start_one(struct sim_qp *qp)
{
	uint64_t position = qp->sq.next++;
	struct sim_swr *swr = sim_sq_at(qp, position);
	bool ok = true;

	swr->state = SIM_STARTED;
	if (swr->wr.op == FABRIC_BIND_MW)
		ok = sim_window_bind(qp, swr);
	else if (swr->wr.op == FABRIC_LOCAL_INV)
		ok = sim_window_invalidate(qp, swr->wr.rkey, false);
	else
		ok = sges_ok(qp, swr);
	if (!ok) {
		fail(qp, position, FABRIC_ERR_LOCAL_PROT);
	} else if (is_send(swr)) {
		start_send(qp, position);
	} else if (swr->wr.op == FABRIC_WRITE) {
		start_pieces(qp, position, SIM_LAND);
	} else if (swr->wr.op == FABRIC_READ) {
		if (++qp->reads > qp->dev->world->reads_most)
			qp->dev->world->reads_most = qp->reads;
		start_pieces(qp, position, SIM_FETCH);
	} else {
		wr_schedule(qp, SIM_ACK, position, qp->dev->world->now_ns + completion(qp));
	}
}

static bool can_start(const struct sim_qp *qp)
{
	const struct sim_swr *swr = sim_sq_at(qp, qp->sq.next);

	if (qp->state == SIM_BROKEN || qp->failed != UINT64_MAX || qp->sq.next == qp->sq.tail)
		return false;
	if (swr->wr.flags & FABRIC_FENCE && qp->reads > 0)
		return false;
	return swr->wr.op != FABRIC_READ || qp->reads < qp->attr.max_rd_atomic;
}

void sim_start(struct sim_qp *qp)
{
	struct sim_world *world = qp->dev->world;

	if (qp->is_starting || !can_start(qp))
		return;
	qp->is_starting = true;
	wr_schedule(qp, SIM_START, qp->sq.next,
		    world->now_ns + sim_draw(world, &world->options.start));
}

static void finish_piece(struct sim_qp *qp, uint64_t position, uint64_t ack_ns)
{
	struct sim_swr *swr = sim_sq_at(qp, position);

	if (--swr->pieces_left > 0)
		return;
	swr->state = SIM_DELIVERED;
	wr_schedule(qp, SIM_ACK, position, qp->dev->world->now_ns + ack_ns);
	if (swr->wr.op == FABRIC_READ) {
		qp->reads--;
		sim_start(qp);
	}
}

static void transfer(struct sim_qp *qp, struct sim_qp *peer, const struct sim_event *event)
{
	struct sim_swr *swr = sim_sq_at(qp, event->wr);
	bool is_read = event->kind == SIM_FETCH;
	/* Each piece checks the whole range of the work request. */
	uint8_t *remote = sim_remote(peer, swr->wr.rkey, swr->wr.raddr, swr->len,
				     is_read ? FABRIC_REMOTE_READ : FABRIC_REMOTE_WRITE);

	if (!sges_ok(qp, swr)) {
		fail(qp, event->wr, FABRIC_ERR_LOCAL_PROT);
		return;
	}
	if (!remote) {
		peer->dev->base.stats.remote_access_errors++;
		wr_refuse(qp, event->wr, FABRIC_ERR_REMOTE_ACCESS);
		return;
	}
	if (event->len > 0)
		copy(swr, event->offset, event->len, remote + event->offset, is_read);
	finish_piece(qp, event->wr, is_read ? completion(qp) : wire(qp));
}

/* Handles a Send for which no receive is posted: it waits, is tried again, or fails with
 * FABRIC_ERR_RNR. */
static void not_ready(struct sim_qp *qp, struct sim_qp *peer, uint64_t position)
{
	struct sim_swr *swr = sim_sq_at(qp, position);
	uint32_t retry = qp->dev->rnr_retry;

	peer->dev->base.stats.rnr++;
	if (retry == 7) {
		qp->is_parked = true;
		qp->parked = position;
	} else if (swr->rnr_tries++ < retry) {
		wr_schedule(qp, SIM_ARRIVE, position,
			    qp->dev->world->now_ns + qp->dev->world->options.rnr_timer_ns);
	} else {
		wr_refuse(qp, position, FABRIC_ERR_RNR);
	}
}

static void receive_done(struct sim_qp *peer, enum fabric_status status)
{
	uint64_t at_ns = peer->dev->world->now_ns + completion(peer);

	sim_rq_at(peer, peer->rq.filled)->status = status;
	if (at_ns < peer->recv_ns)
		at_ns = peer->recv_ns;
	peer->recv_ns = at_ns;
	wr_schedule(peer, SIM_RECV_DONE, peer->rq.filled++, at_ns);
}

/* Schedules the arrival of the next Send, if one was started, after the Send at 'position' has
 * arrived. */
static void next_send(struct sim_qp *qp, uint64_t position)
{
	uint64_t now_ns = qp->dev->world->now_ns;

	if (--qp->sends == 0)
		return;
	do
		position++;
	while (!is_send(sim_sq_at(qp, position)));
	wr_schedule(qp, SIM_ARRIVE, position,
		    sim_sq_at(qp, position)->arrives_ns > now_ns
			    ? sim_sq_at(qp, position)->arrives_ns
			    : now_ns + 1);
}

static void arrive(struct sim_qp *qp, struct sim_qp *peer, uint64_t position)
{
	struct sim_swr *swr = sim_sq_at(qp, position);
	struct sim_rwr *rwr;
	uint64_t ack_ns;

	if (!sges_ok(qp, swr)) {
		fail(qp, position, FABRIC_ERR_LOCAL_PROT);
		return;
	}
	rwr = sim_next_receive(peer);
	if (!rwr) {
		not_ready(qp, peer, position);
		return;
	}
	if (!sim_local_ok(peer->dev, rwr->wr.lkey, rwr->wr.addr, rwr->wr.len, FABRIC_LOCAL_WRITE)) {
		receive_done(peer, FABRIC_ERR_LOCAL_PROT);
		wr_refuse(qp, position, FABRIC_ERR_FATAL);
		return;
	}
	if (swr->len > rwr->wr.len) {
		receive_done(peer, FABRIC_ERR_LOCAL_LEN);
		wr_refuse(qp, position, FABRIC_ERR_REMOTE_LEN);
		return;
	}
	if (swr->wr.op == FABRIC_SEND_INV) {
		if (!sim_window_invalidate(peer, swr->wr.rkey, true)) {
			peer->dev->base.stats.remote_access_errors++;
			wr_refuse(qp, position, FABRIC_ERR_REMOTE_ACCESS);
			return;
		}
		rwr->inv_rkey = swr->wr.rkey;
	}
	if (swr->len > 0)
		copy(swr, 0, swr->len, rwr->wr.addr, false);
	rwr->len = swr->len;
	peer->dev->base.stats.recvs++;
	receive_done(peer, FABRIC_OK);
	swr->state = SIM_DELIVERED;
	/*
	 * The random draws are in two statements, because the order within one expression would
	 * depend on the compiler.
	 */
	ack_ns = qp->dev->world->now_ns + wire(qp);
	ack_ns += completion(qp);
	wr_schedule(qp, SIM_ACK, position, ack_ns);
	next_send(qp, position);
}

static void count(struct fabric_stats *stats, const struct sim_swr *swr)
{
	if (is_send(swr))
		stats->sends++;
	else if (swr->wr.op == FABRIC_WRITE)
		stats->writes++;
	else if (swr->wr.op == FABRIC_READ)
		stats->reads++;
}

/* Counts a source that has changed since the post. */
static void check_source(const struct sim_qp *qp, uint64_t position)
{
	const struct sim_swr *swr = sim_sq_at(qp, position);
	uint64_t sum;

	if (!swr->has_sum || !sim_source_sum(qp, swr, &sum) || sum == swr->source_sum)
		return;
	qp->dev->world->sources_changed++;
	sim_note(qp->dev->world, "changed!", qp->number, position, swr->len);
}

void sim_sources_check(const struct sim_qp *qp)
{
	for (uint64_t position = qp->sq.completed; position < qp->sq.tail; position++)
		if (sim_sq_at(qp, position)->state != SIM_DONE)
			check_source(qp, position);
}

static void acknowledged(struct sim_qp *qp, uint64_t position)
{
	struct sim_swr *swr = sim_sq_at(qp, position);

	/* Until the acknowledgement, a device is allowed to send the data again. */
	check_source(qp, position);
	count(&qp->dev->base.stats, swr);
	swr->state = SIM_DONE;
	swr->status = FABRIC_OK;
	sim_sq_complete(qp);
}

void sim_execute(struct sim_qp *qp, const struct sim_event *event)
{
	struct sim_qp *peer = sim_world_qp(qp->dev->world, qp->peer);

	if (event->kind == SIM_START) {
		qp->is_starting = false;
		if (can_start(qp))
			start_one(qp);
		sim_start(qp);
		return;
	}
	if (event->kind == SIM_NAK) {
		fail(qp, event->wr, (enum fabric_status)event->len);
		return;
	}
	if (event->kind == SIM_ACK) {
		acknowledged(qp, event->wr);
		return;
	}
	/* After the failure of an earlier work request, or without a peer, the event has no effect
	 * and no answer. */
	if (event->wr >= qp->failed || !peer || peer->state == SIM_BROKEN || peer->dev->is_dead)
		return;
	if (event->kind == SIM_ARRIVE)
		arrive(qp, peer, event->wr);
	else
		transfer(qp, peer, event);
}

/* Returns the peer's queue pair, or NULL if a direct operation would have to wait or is not
 * possible. */
static struct sim_qp *peer_now(const struct sim_qp *qp)
{
	struct sim_qp *peer = sim_world_qp(qp->dev->world, qp->peer);

	if (qp->dev->is_dead || !qp->may_send || qp->state != SIM_CONNECTED ||
	    qp->sq.completed != qp->sq.tail)
		return NULL;
	return peer && peer->state != SIM_BROKEN && !peer->dev->is_dead ? peer : NULL;
}

bool sim_send_direct(struct fabric_qp *fqp, const void *data, uint32_t len)
{
	struct sim_qp *qp = (struct sim_qp *)fqp, *peer = peer_now(qp);
	struct sim_rwr *rwr;

	if (!peer || (qp->attr.max_msg_bytes && len > qp->attr.max_msg_bytes))
		return false;
	rwr = sim_next_receive(peer);
	if (!rwr)
		return false;
	if (len > rwr->wr.len ||
	    !sim_local_ok(peer->dev, rwr->wr.lkey, rwr->wr.addr, rwr->wr.len, FABRIC_LOCAL_WRITE))
		return false;
	sim_note(qp->dev->world, "send-now", qp->number, peer->rq.filled, len);
	if (len > 0)
		memcpy(rwr->wr.addr, data, len);
	rwr->len = len;
	rwr->inv_rkey = 0;
	qp->dev->base.stats.sends_direct++;
	peer->dev->base.stats.recvs++;
	receive_done(peer, FABRIC_OK);
	return true;
}

static bool rdma_now(struct fabric_qp *fqp, bool is_read, struct fabric_sge local, uint32_t rkey,
		     uint64_t raddr)
{
	struct sim_qp *qp = (struct sim_qp *)fqp, *peer = peer_now(qp);
	struct fabric_stats *stats = &qp->dev->base.stats;
	uint8_t *remote;

	if (!peer || !sim_local_ok(qp->dev, local.lkey, local.addr, local.len,
				   is_read ? FABRIC_LOCAL_WRITE : 0))
		return false;
	remote = sim_remote(peer, rkey, raddr, local.len,
			    is_read ? FABRIC_REMOTE_READ : FABRIC_REMOTE_WRITE);
	if (!remote)
		return false;
	sim_note(qp->dev->world, "rdma-now", qp->number, is_read ? FABRIC_READ : FABRIC_WRITE,
		 local.len);
	if (is_read)
		memmove(local.addr, remote, local.len);
	else
		memmove(remote, local.addr, local.len);
	*(is_read ? &stats->reads : &stats->writes) += 1;
	return true;
}

bool sim_write_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey, uint64_t raddr)
{
	return rdma_now(qp, false, local, rkey, raddr);
}

bool sim_read_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey, uint64_t raddr)
{
	return rdma_now(qp, true, local, rkey, raddr);
}
