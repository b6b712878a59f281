/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners. The engine that listens receives the requests for connections. It assigns each request
 * to one of the engines of the listener: round-robin, or by the hash of the peer if a program needs
 * a duplicate request cache. If the listening engine is itself the assigned engine, it hands the
 * request over with a function call. Otherwise it sends a message to the mailbox of the assigned
 * engine. The connection is created on the assigned engine. */
#include "responder.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "forked.h"
#include "limit.h"
#include "log.h"
#include "owner.h"
#include "sized_why.h"
#include "ulb_find.h"

struct weir_listener {
	struct engine_endpoint ep;
	struct fabric_listener *fabric;
	struct program_table *programs;
	weir_conn_event_fn on_event;
	weir_listener_lost_fn on_lost;
	weir_accept_fn accept;
	void *arg;
	/* the engines to which requests are assigned, and how many requests each of them got */
	uint32_t nengines;
	struct weir_engine *engines[LISTENER_ENGINES_MAX];
	uint64_t nassigned[LISTENER_ENGINES_MAX];
};

static _Atomic uint64_t serials; /* serial of the latest program table in this process */

/* Returns, for the log, why the application's accept callback refused a peer with the result 'rc':
 * the text of the error, or a general text if 'rc' is not a negative errno or is -EACCES. */
static const char *why_not_taken(int rc)
{
	return rc < 0 && rc != -EACCES ? strerror(-rc)
				       : "the accept callback of this side refuses this peer";
}

/* Processes a request for a connection on the assigned engine, from its mailbox. */
static void on_handover(struct weir_engine *engine, void *arg)
{
	struct responder_handover *handover = arg;

	responder_accept(engine, handover);
	program_table_put(handover->programs);
	mem_free(handover);
}

/* Passes a request for a connection to the mailbox of another engine. If this is not possible, the
 * request is refused. */
static void hand_over(struct weir_listener *listener, struct weir_engine *engine,
		      struct responder_handover *handover)
{
	struct responder_handover *copy = mem_zalloc(sizeof(*copy));

	if (copy) {
		*copy = *handover;
		handover->programs->refs++;
		if (weir_engine_post(engine, on_handover, copy) == 0)
			return;
		program_table_put(handover->programs);
		mem_free(copy);
	}
	responder_refuse(listener->ep.engine, handover,
			 "the engine that would own it does not receive messages");
}

/* Returns a hash of a peer's address without its port. */
static uint32_t hash_of_peer(const char *peer)
{
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0, n = engine_peer_host_bytes(peer); i < n; i++)
		hash = (hash ^ (uint8_t)peer[i]) * 16777619u;
	return hash;
}

/* Writes to 'which' the indices of the engines whose devices can accept a request. If there are
 * none, writes all, and the driver logs the reason when it does not accept the request. Returns
 * their number. */
static uint32_t find_engines(const struct weir_listener *listener,
			     const struct fabric_conn_req *req, uint32_t *which)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < listener->nengines; i++) {
		const struct weir_engine *engine = listener->engines[i];

		if (!engine->ops->can_accept || engine->ops->can_accept(engine->dev, req))
			which[n++] = i;
	}
	for (uint32_t i = 0; n == 0 && i < listener->nengines; i++)
		which[i] = i;
	return n > 0 ? n : listener->nengines;
}

/* Chooses the engine of a request, and returns its index. */
static uint32_t choose_engine(const struct weir_listener *listener,
			      const struct fabric_cm_event *event)
{
	uint32_t which[LISTENER_ENGINES_MAX] = {0}, least = 0;
	uint32_t n = find_engines(listener, event->req, which);

	/* Calls that a peer sends again, on another connection, must arrive at the engine whose
	 * cache has their replies. */
	if (listener->programs->ndrcs > 0)
		return which[hash_of_peer(event->peer.address) % n];
	for (uint32_t i = 1; i < n; i++)
		if (listener->nassigned[which[i]] < listener->nassigned[which[least]])
			least = i;
	return which[least];
}

static void listener_on_cm(struct engine_endpoint *ep, const struct fabric_cm_event *event)
{
	struct weir_listener *listener = (struct weir_listener *)ep;
	struct program_table *programs = listener->programs;
	struct responder_handover handover = {.event = *event,
					      .listening = ep->engine,
					      .programs = programs,
					      .on_event = listener->on_event,
					      .arg = listener->arg};
	struct weir_engine *engine;
	uint32_t which;
	int rc;

	if (event->kind == FABRIC_CM_UNLISTENED && listener->on_lost)
		listener->on_lost(listener, event->error, listener->arg);
	if (event->kind != FABRIC_CM_REQUEST)
		return;
	rc = listener->accept ? listener->accept(&event->peer, listener->arg) : 0;
	if (rc != 0) {
		responder_refuse(ep->engine, &handover, why_not_taken(rc));
		return;
	}
	which = choose_engine(listener, event);
	listener->nassigned[which]++;
	if (programs->ndrcs > 0)
		handover.drc = programs->drcs[which];
	engine = listener->engines[which];
	if (engine == ep->engine)
		responder_accept(engine, &handover);
	else
		hand_over(listener, engine, &handover);
}

static void listener_on_wc(struct engine_endpoint *ep, const struct fabric_wc *wc)
{
	(void)ep;
	(void)wc;
}

static bool listener_on_tick(struct engine_endpoint *ep, uint64_t now_ns)
{
	(void)ep;
	(void)now_ns;
	return false;
}

static uint64_t listener_next_tick(struct engine_endpoint *ep)
{
	(void)ep;
	return ENGINE_NEVER_NS;
}

static void listener_on_flush(struct engine_endpoint *ep)
{
	(void)ep;
}

static void listener_on_reap(struct engine_endpoint *ep)
{
	struct weir_listener *listener = (struct weir_listener *)ep;

	if (listener->fabric)
		ep->engine->ops->unlisten(listener->fabric);
	engine_remove(ep->engine, ep);
	program_table_put(listener->programs);
	mem_free(listener);
}

/* Creates a duplicate request cache for each engine of the listener, if one of the programs has
 * procedures that are not idempotent. Returns 0 or -ENOMEM. */
static int make_drcs(struct weir_listener *listener, const struct weir_profile *profile)
{
	struct program_table *table = listener->programs;
	bool is_needed = false;

	for (uint32_t i = 0; i < table->nprograms; i++)
		is_needed |= table->programs[i].non_idempotent != NULL;
	for (; is_needed && table->ndrcs < listener->nengines; table->ndrcs++) {
		table->drcs[table->ndrcs] =
			drc_create(profile->replay_entries, profile->replay_bytes);
		if (!table->drcs[table->ndrcs])
			return -ENOMEM;
	}
	return 0;
}

/* Copies one program of the application, and checks its binding. Returns 0, or the error of
 * sized_read(), with the reason in 'why'. */
static int read_program(struct weir_program *own, const struct weir_program *theirs, char *why)
{
	static const struct sized_type type = SIZED_TYPE(weir_program, non_idempotent);
	int rc = sized_read_why(&type, own, theirs, why);

	return rc == 0 && own->ulb ? sized_check_why(&ulb_type, own->ulb, why) : rc;
}

/* Copies the programs of the application to the table. In the application, they are as far apart as
 * the first one says. Returns 0, -EINVAL or -E2BIG, after a log line. */
static int read_programs(struct program_table *table, const struct weir_listen_options *options)
{
	char why[SIZED_WHY_BYTES];

	for (uint32_t i = 0; i < options->nprograms; i++) {
		const char *first = (const char *)options->programs;
		size_t apart = options->programs->struct_bytes;
		const struct weir_program *theirs = (const void *)(first + i * apart);
		int rc = -EINVAL;

		if (theirs->struct_bytes != apart)
			snprintf(why, sizeof(why),
				 "weir_program.struct_bytes is %zu in program %u and %zu in "
				 "program 0: set it to sizeof(struct weir_program) in each",
				 theirs->struct_bytes, i, apart);
		else
			rc = read_program(&table->programs[i], theirs, why);
		if (rc != 0) {
			LOG(RESPONDER, ERROR, "%s", why);
			return rc;
		}
	}
	table->nprograms = options->nprograms;
	return 0;
}

int responder_read_listen_options(const struct weir_listen_options *options,
				  struct weir_listen_options *own)
{
	static const struct sized_type type = SIZED_TYPE(weir_listen_options, accept);
	char why[SIZED_WHY_BYTES];
	int rc;

	if (!options)
		return -EINVAL;
	rc = sized_read_why(&type, own, options, why);
	if (rc != 0)
		LOG(RESPONDER, ERROR, "%s", why);
	return rc;
}

/* Copies the options of the application to *own, except the programs, and checks them. Returns 0,
 * or -EINVAL or -E2BIG. */
static int read_options(const struct weir_listen_options *options, struct weir_listen_options *own)
{
	int rc = responder_read_listen_options(options, own);

	if (rc != 0)
		return rc;
	if (!own->programs || own->nprograms == 0 || own->nprograms > LISTENER_PROGRAMS_MAX ||
	    own->nengines > LISTENER_ENGINES_MAX)
		return -EINVAL;
	return 0;
}

/* Creates a listener without its engines and programs, or returns NULL if there is no memory. */
static struct weir_listener *listener_create(const struct weir_listen_options *options)
{
	struct weir_listener *listener = mem_zalloc(sizeof(*listener));

	if (!listener)
		return NULL;
	listener->programs = mem_zalloc(sizeof(*listener->programs));
	if (!listener->programs) {
		mem_free(listener);
		return NULL;
	}
	listener->programs->refs = 1;
	listener->programs->serial = atomic_fetch_add(&serials, 1) + 1;
	listener->on_event = options->on_event;
	listener->on_lost = options->on_lost;
	listener->accept = options->accept;
	listener->arg = options->arg;
	listener->ep.on_wc = listener_on_wc;
	listener->ep.on_cm = listener_on_cm;
	listener->ep.on_tick = listener_on_tick;
	listener->ep.next_tick = listener_next_tick;
	listener->ep.on_flush = listener_on_flush;
	listener->ep.on_reap = listener_on_reap;
	return listener;
}

int weir_listen(struct weir_engine *engine, const char *addr,
		const struct weir_listen_options *options, struct weir_listener **out)
{
	struct weir_listen_options own;
	struct weir_listener *listener;
	int rc = read_options(options, &own);

	if (OTHER_THREAD(engine))
		return -EPERM;
	if (rc != 0)
		return rc;
	if (!addr)
		return -EINVAL;
	if (engine_is_forked(engine))
		return engine_fork_refuse();
	if (engine->is_ending)
		return -ECANCELED;
	listener = listener_create(&own);
	if (!listener)
		return -ENOMEM;
	rc = read_programs(listener->programs, &own);
	if (rc != 0) {
		program_table_put(listener->programs);
		mem_free(listener);
		return rc;
	}
	listener->nengines = own.nengines ? own.nengines : 1;
	listener->engines[0] = engine;
	for (uint32_t i = 0; i < own.nengines; i++)
		listener->engines[i] = own.engines[i];
	engine_add(engine, &listener->ep);
	rc = make_drcs(listener, &engine->profile);
	if (rc == 0)
		rc = engine->ops->listen(engine->dev, addr, ENGINE_REQUESTS_MAX, &listener->ep,
					 &listener->fabric);
	if (rc != 0) {
		mem_explain_limit(rc);
		listener_on_reap(&listener->ep);
		return rc;
	}
	*out = listener;
	return 0;
}

void weir_listener_close(struct weir_listener *listener)
{
	if (!listener || OTHER_THREAD(listener->ep.engine) || engine_is_forked(listener->ep.engine))
		return;
	responder_drop_arrivals(listener->ep.engine, listener->programs);
	listener->ep.engine->ops->unlisten(listener->fabric);
	listener->fabric = NULL;
	engine_want_reap(&listener->ep);
}
