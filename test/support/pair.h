/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAIR_H
#define PAIR_H

/*
 * A pair: a requester and a responder in one thread, over any driver, for tests of the whole
 * library. A pair has two engines that are polled alternately, a connection, a test program with
 * its binding, and memory. With apart.h the responder runs in another thread or process.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weir/call.h>
#include <weir/request.h>

#include "test_counters.h"

struct sim_options;

#define PAIR_PROG 0x20000099u
#define PAIR_VERS 3u

/*
 * The procedures of the test program. The comments list arguments and results as "arguments ->
 * results". "eligible" means DDP-eligible.
 */
enum pair_proc {
	PAIR_NULL,
	PAIR_ECHO,  /* opaque -> opaque, nothing eligible */
	PAIR_READ,  /* u32 count -> opaque eligible: bytes pair_byte(0), (1), ... */
	PAIR_WRITE, /* u32 before, opaque eligible, u32 after -> u32 before + after, u32 count, u32
		       checksum */
	PAIR_MULTI, /* u32 a, opaque eligible, u32 b, opaque eligible, u32 c -> both opaque
		       eligible, c between, b after */
	/*
	 * u32, and optionally an opaque eligible -> the same u32 + 1. The program holds the
	 * request, and replies when pair_release_later() is called.
	 */
	PAIR_LATER,
	PAIR_GARBAGE,  /* replies GARBAGE_ARGS */
	PAIR_FAIL,     /* replies SYSTEM_ERR */
	PAIR_DENY,     /* replies AUTH_TOOWEAK */
	PAIR_OVERRUN,  /* encodes more results than it announced */
	PAIR_BIG,      /* u32 count -> opaque not eligible of count bytes, inside the message */
	PAIR_FIXED,    /* -> opaque eligible of PAIR_FIXED_BYTES */
	PAIR_COMPOUND, /* see compound.h */
	PAIR_NPROCS,
};

#define PAIR_FIXED_BYTES 300u

/* If the argument 'a' of MULTI has this value, the first result is absent. */
#define PAIR_ABSENT 0xffffffffu

#define PAIR_LATER_MAX	 64
#define PAIR_RESULTS_MAX 64u

struct pair_results {
	uint32_t words[3];
};

struct pair {
	const char *driver;
	char addr[64];
	struct weir_profile profile;
	struct weir_engine *client;
	struct weir_engine *server;
	struct weir_listener *listener;
	struct weir_conn *conn;
	struct weir_region *client_region;
	struct weir_region *server_region;
	uint8_t *client_mem;
	uint8_t *server_mem;
	size_t mem_bytes;
	uint64_t now_ns;
	uint64_t wait_end_ns; /* deadline of the current pair_wait() */
	struct sim_world *world;
	/* set if the test fails when long or bulk buffers do not suffice */
	bool is_never_exhausted;

	/* counts of events of the client's connection; error of CLOSED */
	int opened, lost, closed, close_error;
	int server_opened, server_closed, server_close_error;
	struct weir_conn *server_conn;
	uint32_t handled;
	void (*on_handle)(struct pair *pair); /* called when a handler begins; can be NULL */
	uint32_t cred_flavor;		      /* flavor of the credential of the latest call */
	/*
	 * the handler of FAIL reports that the call had no effect, so that its reply need not be
	 * kept
	 */
	bool forgets;
	bool place_writes; /* data of WRITE are received at server_mem + 64 KiB */
	/* number of calls of pair_arg_sink(), which says where to store an item */
	int asked;
	/*
	 * called if place_writes is set, to change the memory for an item; returns the result of
	 * pair_arg_sink(); can be NULL
	 */
	int (*on_sink)(struct weir_request *req, uint32_t item, struct weir_arg_sink *sink);
	uint32_t nlater;
	struct weir_request *later[PAIR_LATER_MAX];
	/* called when the program has begun to hold another request; can be NULL */
	void (*on_later)(struct pair *pair);
	/* Results of WRITEs, kept while no buffer is free for their replies. */
	uint32_t nresults;
	struct pair_results results[PAIR_RESULTS_MAX];
};

/*
 * The state of a wait for the end of all work (pair_unsettled()). A wait begins with all members
 * zero.
 */
struct pair_quiet {
	uint32_t polls;
	uint64_t since_ns;
};

/* How a call ended: pair_done() sets the members from the result of the call. */
struct outcome {
	struct pair *pair;
	int done; /* number of times that the callback pair_done() ran */
	int status;
	uint32_t rdma_err;
	struct weir_rpc_reply_header reply;
	uint32_t nwords; /* number of results that pair_done() decodes as words; set by the test */
	uint32_t words[8];
	void (*check)(struct outcome *outcome, struct weir_call *call,
		      const struct weir_result *result);
	void *arg;
	uint32_t bytes;
};

static inline uint8_t pair_byte(uint32_t i)
{
	return (uint8_t)(i * 31 + (i >> 8) * 7 + 5);
}

/*
 * The driver is "shm", "sim", "verbs" or "mlx5", and each test program sets it. For drivers of RDMA
 * devices the test program also sets the host, to an address of the device. With "verbs", the path
 * of libibverbs is tested (direct=off).
 */
bool pair_is_rdma(void);
extern const char *pair_driver;
extern const char *pair_host;
extern bool pair_shared; /* connections share receives */
extern uint64_t pair_seed;
/*
 * One flag for each procedure of the test program: the procedure is not idempotent. NULL at first.
 */
extern const bool *pair_non_idempotent;
/* The accept callback of the listener; NULL at first. */
extern weir_accept_fn pair_accept;
extern enum weir_exposure pair_exposure;
extern enum weir_protection pair_protection;
/* The protocol versions that each side speaks. */
extern enum weir_protocol pair_client_protocol, pair_server_protocol;
/* The parts of the extension of version 2 that both sides use. */
extern enum weir_extension pair_extension;
/* The options of the simulated world, or NULL for the defaults. */
extern const struct sim_options *pair_wires;

/*
 * The number of long buffers, and of bulk buffers, of each side, unless the profile of the test
 * sets these numbers. With PAIR_BUFFERS, pair_stop() fails a test that needed more buffers.
 */
#define PAIR_BUFFERS	  2u
#define PAIR_BUFFERS_MORE 12u
extern uint32_t pair_buffers; /* PAIR_BUFFERS at first */

/* Defines a setup that runs 'setup' with PAIR_BUFFERS_MORE. */
#define PAIR_SETUP_MORE(name, setup)                                                               \
	static int name(void **state)                                                              \
	{                                                                                          \
		int rc;                                                                            \
                                                                                                   \
		pair_buffers = PAIR_BUFFERS_MORE;                                                  \
		rc = setup(state);                                                                 \
		pair_buffers = PAIR_BUFFERS;                                                       \
		return rc;                                                                         \
	}

/* Makes an address for the driver at which nobody listens. */
void pair_new_addr(char *addr, size_t size);
/*
 * Creates the engines, the listener and the regions. If 'change' is not NULL, it is called first to
 * change the profile. The pair is not yet connected.
 */
void pair_start(struct pair *pair, void (*change)(struct weir_profile *profile));
/*
 * These functions stop and start only the server. Before it stops, the test must answer the
 * requests that wait for pair_release_later().
 */
void pair_server_stop(struct pair *pair);
void pair_server_start(struct pair *pair);
void pair_connect(struct pair *pair);
int pair_connect_begin(
	/* begins to connect and does not wait; returns the result of weir_connect() */
	struct pair *pair);
void pair_stop(struct pair *pair);

/*
 * Polls both engines once, and lets simulated or real time pass. Returns the amount of work that
 * the polls did.
 */
uint32_t pair_poll(struct pair *pair);
void pair_pass(struct pair *pair); /* lets time pass, without a poll */
/*
 * Returns true if a wait can continue after 'polls' polls, and false if it has reached its bound.
 * From time to time it yields the CPU.
 */
bool pair_wait(struct pair *pair, uint32_t polls);
/* Polls until *flag is at least 'value'. Fails the test if that takes too long. */
void pair_until(struct pair *pair, const int *flag, int value);
/* Polls until 'ms' milliseconds have passed by the clock of the engines. */
void pair_pass_ms(struct pair *pair, uint64_t ms);
/* Polls until 'n' requests wait for pair_release_later(). Fails the test if that takes too long. */
void pair_until_later(struct pair *pair, uint32_t n);
/* Submits a call of the procedure with the argument 'word' on a connection of the client. */
void pair_submit(struct pair *pair, struct weir_conn *conn, uint32_t proc, uint32_t word,
		 struct outcome *outcome);
/*
 * Makes a call whose request the server's program holds until pair_release_later(). Returns the
 * request. '*outcome' is that of the call.
 */
#define PAIR_HELD_WORD 41u
struct weir_request *pair_hold(struct pair *pair, struct outcome *outcome);
void pair_settle(struct pair *pair); /* polls until all work has ended */
/*
 * Returns true if pair_settle() must continue to poll. 'work' is the amount of work that the latest
 * poll did.
 */
bool pair_unsettled(struct pair *pair, struct pair_quiet *quiet, uint32_t work);

/* A callback for weir_call_params.done. 'arg' is a struct outcome. */
void pair_done(struct weir_call *call, const struct weir_result *result, void *arg);
void outcome_init(struct outcome *outcome, struct pair *pair);
struct weir_call_params pair_params(uint32_t proc, struct outcome *outcome);

/* Makes one call of 'proc' with 'nwords' words of arguments and waits for its end. */
void pair_call(struct pair *pair, uint32_t proc, const uint32_t *words, uint32_t nwords,
	       struct outcome *outcome);
void pair_release_later(struct pair *pair);
struct engine_counters pair_stats(const struct weir_engine *engine);
/* Checks that neither side holds buffers, requests or credits for calls that have ended. */
void pair_expect_idle(struct pair *pair);
/* Returns the number of receives that an engine without connections has taken from its pool. */
uint32_t pair_recvs_at_rest(const struct pair *pair);

#endif
