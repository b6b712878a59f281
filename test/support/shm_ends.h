/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHM_ENDS_H
#define SHM_ENDS_H

/* One end of a connection over shm, for tests: a device, memory, what it was told. */

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
	10000000000u /* what is to come comes within this, however busy the machine is */

struct end {
	const struct fabric_ops *ops;
	struct fabric_dev *dev;
	int fd;
	uint8_t *mem;
	struct fabric_mr mr; /* of all of 'mem', with all rights */
	struct fabric_listener *listener;
	struct fabric_qp *qp;
	uint32_t nwcs, nevents; /* not looked at yet */
	struct fabric_wc wcs[END_WCS];
	struct fabric_cm_event events[END_EVENTS];
};

extern const struct fabric_qp_attr end_attr;

void end_open(struct end *end, const char *options, uint32_t max_connections);
/* The same with all of a configuration. */
void end_open_as(struct end *end, const struct fabric_dev_config *config);
void end_close(struct end *end); /* all of it; nothing, when it is not open */

/* An address that no other test has. */
const char *end_address(void);

uint64_t end_now_ns(void);
/* Poll: what came is added to the end's. The number. */
uint32_t end_poll(struct end *end);
/* Poll both ends, of which one may be NULL, until the condition holds. */
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

/* The next event or completion, which must be of this kind. 'other' is polled as well, when there
 * is one. */
struct fabric_cm_event end_event(struct end *end, struct end *other, enum fabric_cm_kind kind);
struct fabric_wc end_wc(struct end *end, struct end *other, enum fabric_op op,
			enum fabric_status status);

void end_listen(struct end *end, const char *addr);
struct fabric_qp *end_connect(struct end *end, const char *addr, void *ctx);
/* Accept the next request. */
struct fabric_qp *end_accept(struct end *end, struct end *other, void *ctx);
/* Connect a to b, to their 'qp's; contexts are the ends. */
void end_pair(struct end *a, struct end *b);

struct fabric_sge end_sge(const struct end *end, uint32_t offset, uint32_t len);
void end_recv(struct end *end, struct fabric_qp *qp, uint64_t wr_id, uint32_t offset, uint32_t len);
/* Post one request on 'end->qp', which must be taken. */
void end_post(struct end *end, struct fabric_wr wr, struct fabric_sge sge);
/* A message goes from one to the other. */
void end_works(struct end *a, struct end *b);

/* What this process has: descriptors, and mappings of shared memory. */
struct end_holdings {
	uint32_t fds;
	uint32_t maps;
};
struct end_holdings end_count(void);
/* Poll one end, or none, until this process has what it had: the reaper closes and unmaps. */
void end_until_released(struct end *end, struct end_holdings before);

#endif
