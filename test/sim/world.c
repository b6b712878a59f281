/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines of weir-sim with their memory, listeners and connections: how they are created,
 * killed and created again.
 */
#include "wsim.h"

#include <errno.h>
#include <string.h>

#include <weir/latency.h>

#include "fault.h"

#define SIDE_BYTES (WSIM_SLOTS * WSIM_SLOT_BYTES + WSIM_PLACED * WSIM_ITEMS * 8192u)
#define CALM	   0xa5u

static _Alignas(4096) uint8_t memory[WSIM_ENGINES][SIDE_BYTES];

uint32_t wsim_nsides(const struct wsim_run *run)
{
	return run->nrequesters + run->nresponders;
}

struct fabric_dev *wsim_device(const struct wsim_side *side)
{
	return fault_inner(side->engine->dev);
}

/* Draws the settings of all engines, and the properties of the wires, from the seed. */
static void draw_profile(struct wsim_run *run)
{
	struct weir_profile *profile = &run->profile;
	bool is_tight = run->options.level >= 2 && wsim_chance(run, 40);

	run->is_tight = is_tight;
	weir_profile_defaults(profile);
	snprintf(profile->driver, sizeof(profile->driver), "fault");
	profile->page_bytes = WEIR_PAGES_THP;
	profile->protocol = run->options.protocol;
	profile->extension = run->options.extension;
	profile->transmissions = 2 + (uint32_t)(run->options.seed % 7);
	/* in these runs the extension is used wherever it is possible */
	if (run->options.seed % 4 > 0) {
		profile->round_trip_ns = profile->operation_ns = 0;
		profile->message_ns = profile->copy_ns = 0;
	}
	profile->targets = 1 + (uint32_t)(run->options.seed / 2 % 4);
	profile->target_bytes = 512u << run->options.seed % 5;
	profile->credits = 1 + wsim_below(run, 8);
	profile->inline_bytes = 1024u << wsim_below(run, 3);
	profile->connections = WSIM_CONNS * 3;
	/* A connection that has ended counts until its end is noticed. */
	profile->recv_buffers = profile->connections * (profile->credits + ENGINE_RECV_RESERVE);
	/*
	 * This value is not drawn from the random numbers, so that the runs of other seeds do not
	 * change.
	 */
	profile->shared_receives =
		run->options.seed % 4 == 3 ? WEIR_SHARED_RECEIVES_ON : WEIR_SHARED_RECEIVES_OFF;
	profile->recv_buffers +=
		profile->connections * engine_reply_recvs(profile, profile->credits);
	profile->send_buffers = is_tight ? 16 + wsim_below(run, 16) : 256;
	profile->long_buffers = is_tight ? 1 + wsim_below(run, 4) : 20;
	profile->bulk_buffers = is_tight ? WSIM_ITEMS + 1 + wsim_below(run, 4) : 20;
	profile->long_buffer_bytes = 72u << 10;
	profile->bulk_buffer_bytes = 72u << 10;
	profile->exposure = wsim_chance(run, 75) ? WEIR_EXPOSURE_WINDOW : WEIR_EXPOSURE_POOL;
	/*
	 * This value is not drawn from the random numbers either. With the policy 'window' it has
	 * no effect.
	 */
	profile->protection = !profile->shared_receives && run->options.seed / 4 % 2
				      ? WEIR_PROTECTION_CONNECTION
				      : WEIR_PROTECTION_SHARED;
	/* These are not drawn from the random numbers either. */
	run->cancels = run->options.level > 0 && run->options.seed % 13 % 5 == 0;
	profile->windows = is_tight ? 64 : 256;
	profile->remote_invalidation = wsim_chance(run, 70);
	profile->call_timeout_ms =
		/* longer than a run, so that a call that only its timeout would end is an error */
		1000;
	profile->connect_timeout_ms = 5;
	profile->reconnect_delay_ms = 1;
	profile->reconnect_delay_max_ms = 1 + wsim_below(run, 4);
	profile->reconnect_give_up_ms = 10 + wsim_below(run, 30);
	profile->resends = 1 + wsim_below(run, 6);
	/* The cache is so large that no reply is dropped during a run. */
	profile->replay_entries = WSIM_CALLS;
	profile->replay_bytes = 4u << 20;
	profile->poll_budget = 1 + wsim_below(run, 64);
}

/* Draws the settings that can differ between engines. */
static void draw_side(struct wsim_side *side)
{
	struct wsim_run *run = side->run;

	side->profile = run->profile;
	if (run->options.mixes)
		side->profile.protocol = side->is_requester || wsim_chance(run, 50)
						 ? WEIR_PROTOCOL_AUTO
						 : WEIR_PROTOCOL_V1;
	if (wsim_chance(run, 50))
		return;
	side->profile.credits = 1 + wsim_below(run, run->profile.credits);
	side->profile.inline_bytes = 1024u << wsim_below(run, 3);
}

static void draw_wires(struct wsim_run *run, struct sim_options *wires)
{
	sim_options_init(wires);
	wires->start.max_ns = 20 + wsim_below(run, 1000);
	wires->wire.max_ns = 500 + wsim_below(run, 20000);
	wires->completion.max_ns = 100 + wsim_below(run, 20000);
	wires->cm_timeout_ns = 50 * MS;
	wires->attr.max_inline = wsim_chance(run, 30) ? 0 : wsim_below(run, 300);
	wires->attr.max_sge = 1 + wsim_below(run, FABRIC_SGE_MAX);
	wires->attr.max_rd_atomic = 1 + wsim_below(run, 8);
	wires->attr.max_send_wr = wsim_chance(run, 30) ? 64 : 4096;
	wires->trace = run->options.trace;
}

static void draw_faults(struct wsim_run *run)
{
	static const uint32_t kinds[] = {
		0,
		1u << FAULT_DELAY | 1u << FAULT_REORDER,
		((2u << FAULT_DISCONNECTING) - 1),
		FAULT_ALL & ~(1u << FAULT_MR | 1u << FAULT_LISTEN),
	};
	static const uint32_t rates[] = {0, 100, 2000, 300};
	uint32_t level = run->options.level;

	run->kinds = kinds[level];
	run->one_in = rates[level] ? 1 + rates[level] / 2 + wsim_below(run, rates[level] * 2) : 0;
}

/*
 * The operations of the driver with direct operations added. They are those of sim, if no other
 * driver is above sim.
 */
static struct fabric_ops ops_now;

static bool send_direct(struct fabric_qp *qp, const void *data, uint32_t len)
{
	struct fabric_qp *inner = fault_inner_qp(qp);

	return inner && sim_send_direct(inner, data, len);
}

static bool write_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey,
			 uint64_t raddr)
{
	struct fabric_qp *inner = fault_inner_qp(qp);

	return inner && sim_write_direct(inner, local, rkey, raddr);
}

static bool read_direct(struct fabric_qp *qp, struct fabric_sge local, uint32_t rkey,
			uint64_t raddr)
{
	struct fabric_qp *inner = fault_inner_qp(qp);

	return inner && sim_read_direct(inner, local, rkey, raddr);
}

static void add_direct_ops(struct weir_engine *engine)
{
	ops_now = *engine->dev->ops;
	ops_now.send_direct = send_direct;
	ops_now.write_direct = write_direct;
	ops_now.read_direct = read_direct;
	engine->ops = &ops_now;
}

static int regions_create(struct wsim_side *side)
{
	size_t bytes;
	uint8_t *table = wsim_table(&bytes);
	int rc = weir_region_adopt(side->mem, SIDE_BYTES, -1, 0, &side->region);

	if (rc == 0)
		rc = weir_region_adopt(table, bytes, -1, 0, &side->table);
	if (rc == 0)
		rc = weir_engine_add_region(side->engine, side->region);
	if (rc == 0)
		rc = weir_engine_add_region(side->engine, side->table);
	return rc;
}

static void on_conn(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct wsim_run *run = arg;
	struct wsim_side *side = &run->sides[0];

	while (side->engine != weir_conn_engine(conn))
		side++;
	wsim_note(run, event == WEIR_CONN_OPEN ? "accepted" : "accepted-end", side->index,
		  (uint64_t)-error, 0);
	if (event == WEIR_CONN_OPEN) {
		if (side->nconns == sizeof(side->conns) / sizeof(side->conns[0]))
			wsim_violation(run, "engine %u: too many connections", side->index);
		else
			side->conns[side->nconns++] = conn;
		return;
	}
	for (uint32_t i = 0; i < side->nconns; i++)
		if (side->conns[i] == conn)
			side->conns[i] = side->conns[--side->nconns];
}

static int listen(struct wsim_side *side)
{
	struct wsim_run *run = side->run;
	const struct weir_program program = {
		.struct_bytes = sizeof(program),
		.prog = WSIM_PROG,
		.vers_low = WSIM_VERS,
		.vers_high = WSIM_VERS,
		.nprocs = WSIM_NPROCS,
		.ulb = &wsim_ulb,
		.handle = wsim_handle,
		.arg_sink = wsim_place,
		.arg = run,
		.non_idempotent = run->keeps_replies ? wsim_non_idempotent : NULL,
	};
	struct weir_engine *engines[WSIM_ENGINES];
	struct weir_listen_options options = {.struct_bytes = sizeof(options),
					      .programs = &program,
					      .nprograms = 1,
					      .on_event = on_conn,
					      .arg = run};
	char addr[16];

	if (run->hands_over) {
		options.engines = engines;
		options.nengines = run->nresponders;
		for (uint32_t i = 0; i < run->nresponders; i++)
			engines[i] = run->sides[run->nrequesters + i].engine;
	}
	snprintf(addr, sizeof(addr), "responder-%u", side->index);
	return weir_listen(side->engine, addr, &options, &side->listener);
}

int wsim_side_create(struct wsim_run *run, uint32_t index)
{
	struct wsim_side *side = &run->sides[index];
	struct weir_profile profile = side->profile;
	int rc;

	snprintf(profile.driver_options, sizeof(profile.driver_options),
		 "over=sim,world=%u,seed=%u", sim_world_id(run->world),
		 (unsigned)(wsim_random(run) >> 33));
	rc = weir_engine_create(&profile, &side->engine);
	if (rc == 0)
		rc = weir_engine_set_clock(side->engine, NULL, NULL);
	if (rc != 0)
		return rc;
	side->is_dead = false;
	side->life++;
	side->ncancelled = 0;
	if (run->has_now)
		add_direct_ops(side->engine);
	rc = regions_create(side);
	if (rc == 0 && !side->is_requester && !run->hands_over)
		rc = listen(side);
	return rc;
}

void wsim_count_side(struct wsim_side *side)
{
	struct wsim_counts *counts = &side->run->counts;
	struct engine_counters stats = {0};

	test_counters(side->engine, &stats);
	counts->reconnected += stats.reconnects;
	counts->resent += stats.calls_resent;
	counts->given_up += stats.reconnects_given_up + stats.calls_given_up;
	counts->replays += stats.replays;
	counts->continued += stats.continued_calls + stats.continued_replies;
	counts->directed += stats.directed_calls;
	counts->placed += stats.placed_received;
	counts->fallbacks +=
		stats.fallbacks_credits + stats.fallbacks_limits + stats.fallbacks_buffers;
}

void wsim_side_destroy(struct wsim_side *side)
{
	weir_engine_destroy(side->engine);
	weir_region_destroy(side->region);
	weir_region_destroy(side->table);
	side->engine = NULL;
	side->region = NULL;
	side->table = NULL;
	side->listener = NULL;
}

/*
 * Kills the process of a side. The state of its application is lost. The engine object is kept only
 * to be destroyed.
 */
void wsim_side_kill(struct wsim_side *side)
{
	wsim_note(side->run, "kill", side->index, 0, 0);
	side->run->counts.kills++;
	sim_kill(side->run->world, wsim_device(side));
	wsim_reply_all_of(side);
	wsim_count_side(side);
	wsim_side_destroy(side);
	side->is_dead = true;
}

int wsim_world_create(struct wsim_run *run)
{
	struct sim_options wires;
	int rc = 0;

	draw_profile(run);
	draw_wires(run, &wires);
	draw_faults(run);
	run->world = sim_world_create(wsim_random(run), &wires);
	if (!run->world)
		return -ENOMEM;
	run->nrequesters = 1 + wsim_below(run, 3);
	run->nresponders = 1 + wsim_below(run, 2);
	run->has_now = wsim_chance(run, 50);
	run->keeps_replies = run->options.seed % 8 != 3; /* not drawn either */
	run->calls_again = run->options.seed % 4 == 2;	 /* not drawn either */
	/*
	 * An engine to which a listener hands connections must exist for longer than the listener.
	 * Therefore runs in which processes are killed are excluded.
	 */
	run->hands_over = run->options.level < 3 && wsim_chance(run, 40);
	for (uint32_t i = 0; i < wsim_nsides(run) && rc == 0; i++) {
		struct wsim_side *side = &run->sides[i];

		*side = (struct wsim_side){.run = run, .index = i, .mem = memory[i]};
		side->is_requester = i < run->nrequesters;
		side->nlinks = side->is_requester ? 1 + wsim_below(run, 3) : 0;
		for (uint32_t j = 0; j < side->nlinks; j++)
			side->links[j] = (struct wsim_link){
				.side = side,
				.responder = run->nrequesters + wsim_below(run, run->nresponders)};
		draw_side(side);
		rc = wsim_side_create(run, i);
	}
	for (uint32_t i = run->nrequesters; run->hands_over && i < wsim_nsides(run) && rc == 0; i++)
		rc = listen(&run->sides[i]);
	if (rc == 0)
		wsim_faults_set(run, run->one_in);
	return rc;
}

void wsim_faults_set(struct wsim_run *run, uint32_t one_in)
{
	for (uint32_t i = 0; i < wsim_nsides(run); i++)
		if (!run->sides[i].is_dead)
			fault_rate(run->sides[i].engine->dev, run->kinds, one_in);
}

static void on_link(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct wsim_link *link = arg;
	struct wsim_run *run = link->side->run;

	wsim_note(run,
		  event == WEIR_CONN_OPEN   ? "open"
		  : event == WEIR_CONN_LOST ? "lost"
					    : "closed",
		  link->side->index, (uint64_t)-error, 0);
	if (link->conn != conn || (event == WEIR_CONN_OPEN && link->is_open))
		wsim_violation(run, "a connection that is over has an event");
	if (event == WEIR_CONN_LOST && (!link->reconnects || !link->is_open))
		wsim_violation(run, "a connection is remade that was not asked to be, or not open");
	if (event == WEIR_CONN_OPEN) {
		link->is_open = true;
		run->counts.opened++;
	} else if (event == WEIR_CONN_LOST) {
		link->is_open = false;
	} else {
		link->conn = NULL;
		link->is_open = false;
	}
}

void wsim_link_connect(struct wsim_link *link)
{
	struct wsim_run *run = link->side->run;
	struct weir_connect_options options = {
		.struct_bytes = sizeof(options), .on_event = on_link, .arg = link};
	char addr[16];
	int rc;

	options.credits = 1 + wsim_below(run, link->side->profile.credits);
	link->reconnects = wsim_chance(run, 60);
	options.reconnect = link->reconnects ? WEIR_RECONNECT_ON : WEIR_RECONNECT_OFF;
	snprintf(addr, sizeof(addr), "responder-%u", link->responder);
	rc = weir_connect(link->side->engine, addr, &options, &link->conn);
	wsim_note(run, "connect", link->side->index, link->responder, (uint64_t)-rc);
	if (rc == 0)
		weir_conn_set_user(link->conn, link);
	else
		link->conn = NULL;
	if (rc != 0 && (run->options.level < 3 || run->is_calm))
		wsim_violation(run, "connect was refused with %d", rc);
}

int wsim_slot_get(struct wsim_side *side)
{
	for (uint32_t i = 0; i < WSIM_SLOTS; i++) {
		if (side->slots[i].is_busy)
			continue;
		if (!wsim_slot_is_calm(side, i))
			wsim_violation(side->run,
				       "engine %u: memory of a call that is over was written to",
				       side->index);
		side->slots[i] = (struct wsim_slot){.is_busy = true};
		side->nslots_busy++;
		return (int)i;
	}
	return -1;
}

uint8_t *wsim_slot_item(const struct wsim_side *side, uint32_t slot, uint32_t item)
{
	return side->mem + slot * WSIM_SLOT_BYTES + item * 8192u;
}

void wsim_slot_put(struct wsim_side *side, uint32_t slot)
{
	for (uint32_t i = 0; i < 2 * WSIM_ITEMS; i++)
		memset(wsim_slot_item(side, slot, i), CALM, side->slots[slot].used[i]);
	side->slots[slot].is_busy = false;
	side->nslots_busy--;
}

bool wsim_slot_is_calm(const struct wsim_side *side, uint32_t slot)
{
	if (side->slots[slot].is_busy)
		return true;
	for (uint32_t i = 0; i < 2 * WSIM_ITEMS; i++) {
		const uint8_t *at = wsim_slot_item(side, slot, i);
		uint32_t n = side->slots[slot].used[i];

		if (n > 0 && (at[0] != CALM || memcmp(at, at + 1, n - 1) != 0))
			return false;
	}
	return true;
}
