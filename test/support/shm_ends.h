/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_ENDS_H
#define SHM_ENDS_H

/*
 * An end of a connection over shm, for tests of the driver: a device, memory, and the events and
 * completions that the end received.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver.h"

#define END_MEM_BYTES (1u << 20)
#define END_WCS	      512u
#define END_EVENTS    64u
#define END_WAIT_NS                                                                                \
	10000000000u /* each wait of a test ends within this time, however busy the machine is */

struct end {
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	int fd;
	uint8_t *mem;
	struct fabric_mr mr; /* covers all of 'mem', with all rights */
	struct fabric_listener *listener;
	struct fabric_qp *qp;
	/* numbers of completions and of events that the test has not yet read */
	uint32_t nwcs, nevents;
	struct fabric_wc wcs[END_WCS];
	struct fabric_cm_event events[END_EVENTS];
};

extern const struct fabric_qp_attr end_attr;

void end_open(struct end *end, const char *options, uint32_t max_connections);
/* Opens the end as end_open() does, with a complete configuration. */
void end_open_as(struct end *end, const struct fabric_dev_config *config);
/* frees all that the end has; does nothing if the end is not open */
void end_close(struct end *end);

/* Returns an address that no other test uses. */
const char *end_address(void);

uint64_t end_now_ns(void);
/*
 * Polls the end, and adds events and completions to its arrays. Returns the number of those that
 * were added.
 */
uint32_t end_poll(struct end *end);
/*
 * Polls both ends until the condition is true. Fails the test after END_WAIT_NS. One of the ends
 * can be NULL.
 */
#define END_WAIT(a, b, condition)                                                                  \
	do {                                                                                       \
		uint64_t until = end_now_ns() + END_WAIT_NS;                                       \
		while (!(condition)) {                                                             \
			end_step(a, b);                                                            \
			if (end_now_ns() > until)                                                  \
				fail_msg("never came: %s", #condition);                            \
		}                                                                                  \
	} while (0)
void end_step(struct end *a, struct end *b);

/*
 * These functions wait for the next event or completion of 'end' and return it. It must be of the
 * given kind. If 'other' is not NULL, the functions poll 'other' as well.
 */
struct fabric_cm_event end_event(struct end *end, struct end *other, enum fabric_cm_kind kind);
struct fabric_wc end_wc(struct end *end, struct end *other, enum fabric_op op,
			enum fabric_status status);

void end_listen(struct end *end, const char *addr);
struct fabric_qp *end_connect(struct end *end, const char *addr, void *ctx);
/* Accepts the next connection request. */
struct fabric_qp *end_accept(struct end *end, struct end *other, void *ctx);
/*
 * Connects a to b, and stores the two queue pairs in a->qp and b->qp. The context of each queue
 * pair is its end.
 */
void end_pair(struct end *a, struct end *b);

struct fabric_sge end_sge(const struct end *end, uint32_t offset, uint32_t len);
void end_recv(struct end *end, struct fabric_qp *qp, uint64_t wr_id, uint32_t offset, uint32_t len);
/* Posts a work request on end->qp. Fails the test if the driver does not accept it. */
void end_post(struct end *end, struct fabric_wr wr, struct fabric_sge sge);
/* Sends a message from a to b and checks that it arrives. */
void end_works(struct end *a, struct end *b);

/* Numbers of file descriptors, and of mappings of shared memory, that this process has. */
struct end_holdings {
	uint32_t fds;
	uint32_t maps;
};
struct end_holdings end_count(void);
/*
 * Polls the end, which can be NULL, until this process has no more descriptors and mappings than
 * 'before'. The reaper thread closes and unmaps the others.
 */
void end_until_released(struct end *end, struct end_holdings before);

#endif
