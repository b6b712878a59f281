/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef PAIR_H
#define PAIR_H

/*
 * A requester and a responder in one thread (or apart: apart.h), over any driver, for tests of the
 * whole: two engines that are polled in turn, a connection, a test program with its binding, and
 * memory.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weir/call.h>
#include <weir/request.h>

struct sim_options;

#define PAIR_PROG 0x20000099u
#define PAIR_VERS 3u

/* The procedures of the test program. */
enum pair_proc {
	PAIR_NULL,
	PAIR_ECHO,  /* opaque -> opaque, nothing eligible */
	PAIR_READ,  /* u32 count -> opaque eligible: bytes pair_byte(0), (1), ... */
	PAIR_WRITE, /* u32 before, opaque eligible, u32 after -> u32 before + after, u32 count, u32
		       checksum */
	PAIR_MULTI, /* u32 a, opaque eligible, u32 b, opaque eligible, u32 c -> both opaque
		       eligible, c between, b after */
	PAIR_LATER, /* u32, perhaps an opaque eligible -> the same u32 + 1, replied when
		       pair_release_later() is called */
	PAIR_GARBAGE,  /* replies GARBAGE_ARGS */
	PAIR_FAIL,     /* SYSTEM_ERR */
	PAIR_DENY,     /* AUTH_TOOWEAK */
	PAIR_OVERRUN,  /* encodes more results than it said */
	PAIR_BIG,      /* u32 count -> opaque not eligible of count bytes, in the message */
	PAIR_FIXED,    /* -> opaque eligible of PAIR_FIXED_BYTES */
	PAIR_COMPOUND, /* compound.h */
	PAIR_NPROCS,
};

#define PAIR_FIXED_BYTES 300u

/* As MULTI's a: the first result is absent. */
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
	uint64_t wait_end_ns; /* pair_wait()'s */
	struct sim_world *world;
	bool is_never_exhausted; /* of long or bulk buffers, it is expected */

	int opened, lost, closed, close_error; /* the client's connection */
	int server_opened, server_closed, server_close_error;
	struct weir_conn *server_conn;
	uint32_t handled;
	uint32_t cred_flavor; /* of the call that was handled last, as its handler saw it */
	bool forgets;	      /* FAIL had no effect, it says */
	bool place_writes;    /* WRITE's data are asked for at server_mem + 64 KiB */
	int asked;	      /* for places of items */
	uint32_t nlater;
	struct weir_request *later[PAIR_LATER_MAX];
	void (*on_later)(struct pair *pair); /* called when there is one more; may be NULL */
	uint32_t nresults;		     /* of WRITEs, kept where no buffer was free for them */
	struct pair_results results[PAIR_RESULTS_MAX];
};

/* A wait for nothing to move any more; of zeros at first. */
struct pair_quiet {
	uint32_t polls;
	uint64_t since_ns;
};

/* How one call ended. */
struct outcome {
	struct pair *pair;
	int done; /* how often the callback ran */
	int status;
	uint32_t rdma_err;
	struct weir_rpc_reply_header reply;
	uint32_t nwords; /* results, as words, when the test asks for those */
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

/* Set by each test program: "shm", "sim" or "verbs"; of the last, an address of the device. */
extern const char *pair_driver;
extern const char *pair_host;
extern bool pair_shared; /* connections share receives */
extern uint64_t pair_seed;
/* Of the test program, one for each procedure; NULL at first. */
extern const bool *pair_non_idempotent;
/* The accept callback of the listener; NULL at first. */
extern weir_accept_fn pair_accept;
extern enum weir_exposure pair_exposure;
extern enum weir_protection pair_protection;
/* The versions of the protocol that either side speaks. */
extern enum weir_protocol pair_client_protocol, pair_server_protocol;
/* Of version 2, at both sides. */
extern enum weir_extension pair_extension;
/* The simulated world's, for the tests that want another; NULL: the usual. */
extern const struct sim_options *pair_wires;

/* Long buffers, and bulk ones, of either side, where the test's profile does not say. With
 * PAIR_BUFFERS pair_stop() fails a test that had need of more. */
#define PAIR_BUFFERS	  2u
#define PAIR_BUFFERS_MORE 12u
extern uint32_t pair_buffers; /* PAIR_BUFFERS at first */

/* A setup like 'setup' with PAIR_BUFFERS_MORE. */
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

/* An address of the driver's kind that nobody listens at. */
void pair_new_addr(char *addr, size_t size);
/* Engines, listener and regions; then pair_connect(). 'change' may alter the profile first, or is
 * NULL. */
void pair_start(struct pair *pair, void (*change)(struct weir_profile *profile));
/* The server alone, to be started again. Requests that wait for pair_release_later() are the test's
 * to release. */
void pair_server_stop(struct pair *pair);
void pair_server_start(struct pair *pair);
void pair_connect(struct pair *pair);
int pair_connect_begin(
	struct pair *pair); /* the same, and wait for nothing; weir_connect()'s result */
void pair_stop(struct pair *pair);

/* Poll both engines once and let time pass: the simulation's, or the real one. The work done. */
uint32_t pair_poll(struct pair *pair);
void pair_pass(struct pair *pair); /* time alone */
/* Whether a wait that has taken 'polls' polls may go on; gives others the CPU now and then. */
bool pair_wait(struct pair *pair, uint32_t polls);
/* Until *flag is at least 'value'; fails the test after a bound. */
void pair_until(struct pair *pair, const int *flag, int value);
/* Until 'n' requests wait for pair_release_later(); fails the test after a bound. */
void pair_until_later(struct pair *pair, uint32_t n);
void pair_settle(struct pair *pair); /* until nothing moves any more */
/* Whether to go on polling for that, after a poll that did so much work. */
bool pair_unsettled(struct pair *pair, struct pair_quiet *quiet, uint32_t work);

/* Callback for weir_call_params.done, with a struct outcome as its argument. */
void pair_done(struct weir_call *call, const struct weir_result *result, void *arg);
void outcome_init(struct outcome *outcome, struct pair *pair);
struct weir_call_params pair_params(uint32_t proc, struct outcome *outcome);

/* Make one call of 'proc' with 'nwords' words of arguments and wait for its end. */
void pair_call(struct pair *pair, uint32_t proc, const uint32_t *words, uint32_t nwords,
	       struct outcome *outcome);
void pair_release_later(struct pair *pair);
struct weir_engine_stats pair_stats(const struct weir_engine *engine);
/* Nothing is held for calls that are over, on either side. */
void pair_expect_idle(struct pair *pair);
/* Receives that an engine without connections has taken from its pool. */
uint32_t pair_recvs_at_rest(const struct pair *pair);

#endif
