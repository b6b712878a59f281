/* SPDX-License-Identifier: BSD-3-Clause */

/* The ends of connections over shm for tests of the driver (shm_ends.h). */

#include "shm_ends.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

const struct fabric_qp_attr end_attr = {
	.exposes = true,
	.max_send_wr = 64,
	.max_recv_wr = 64,
	.max_sge = 4,
	.max_inline = 256,
	.max_msg_bytes = 4096,
	.max_rd_atomic = 4,
};

uint64_t end_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

const char *end_address(void)
{
	static char addr[64];
	static unsigned serial;

	snprintf(addr, sizeof(addr), "ends-%d-%u", (int)getpid(), serial++);
	return addr;
}

void end_open(struct end *end, const char *options, uint32_t max_connections)
{
	const struct fabric_dev_config config = {.options = options,
						 .max_connections = max_connections,
						 .max_regions = 16,
						 .numa_node = -1};

	end_open_as(end, &config);
}

void end_open_as(struct end *end, const struct fabric_dev_config *config)
{
	memset(end, 0, sizeof(*end));
	end->ops = fabric_driver_find("shm");
	assert_non_null(end->ops);
	assert_int_equal(end->ops->open(config, &end->dev), 0);
	end->fd = memfd_create("end", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(end->fd >= 0);
	assert_int_equal(ftruncate(end->fd, END_MEM_BYTES), 0);
	assert_int_equal(fcntl(end->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	end->mem = mmap(NULL, END_MEM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, end->fd, 0);
	assert_ptr_not_equal(end->mem, MAP_FAILED);
	assert_int_equal(end->ops->mr_register(end->dev, end->mem, END_MEM_BYTES,
					       FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ |
						       FABRIC_REMOTE_WRITE | FABRIC_BIND,
					       end->fd, 0, &end->mr),
			 0);
}

void end_close(struct end *end)
{
	if (!end->dev)
		return;
	end->ops->qp_destroy(end->qp);
	if (end->listener)
		end->ops->unlisten(end->listener);
	end->ops->mr_deregister(end->dev, &end->mr);
	end->ops->close(end->dev);
	munmap(end->mem, END_MEM_BYTES);
	close(end->fd);
	end->dev = NULL;
}

uint32_t end_poll(struct end *end)
{
	uint32_t n = end->ops->poll(end->dev, end->wcs + end->nwcs, END_WCS - end->nwcs);
	uint32_t m =
		end->ops->cm_poll(end->dev, end->events + end->nevents, END_EVENTS - end->nevents);

	end->nwcs += n;
	end->nevents += m;
	return n + m;
}

void end_step(struct end *a, struct end *b)
{
	static _Thread_local uint32_t idle;

	if ((a ? end_poll(a) : 0) + (b ? end_poll(b) : 0) > 0)
		idle = 0;
	else if (++idle > 100)
		usleep(50); /* another thread or process must act before this wait can end */
}

struct fabric_cm_event end_event(struct end *end, struct end *other, enum fabric_cm_kind kind)
{
	struct fabric_cm_event event;

	END_WAIT(end, other, end->nevents > 0);
	event = end->events[0];
	end->nevents--;
	memmove(end->events, end->events + 1, end->nevents * sizeof(event));
	assert_int_equal(event.kind, kind);
	return event;
}

struct fabric_wc end_wc(struct end *end, struct end *other, enum fabric_op op,
			enum fabric_status status)
{
	struct fabric_wc wc;

	END_WAIT(end, other, end->nwcs > 0);
	wc = end->wcs[0];
	end->nwcs--;
	memmove(end->wcs, end->wcs + 1, end->nwcs * sizeof(wc));
	assert_int_equal(wc.op, op);
	assert_int_equal(wc.status, status);
	return wc;
}

void end_listen(struct end *end, const char *addr)
{
	assert_int_equal(end->ops->listen(end->dev, addr, 64, end, &end->listener), 0);
}

struct fabric_qp *end_connect(struct end *end, const char *addr, void *ctx)
{
	struct fabric_qp_attr attr = end_attr;
	struct fabric_qp *qp;

	attr.ctx = ctx;
	assert_int_equal(end->ops->connect(end->dev, addr, &attr, NULL, 0, &qp), 0);
	return qp;
}

struct fabric_qp *end_accept(struct end *end, struct end *other, void *ctx)
{
	struct fabric_cm_event event = end_event(end, other, FABRIC_CM_REQUEST);
	struct fabric_qp_attr attr = end_attr;
	struct fabric_qp *qp;

	attr.ctx = ctx;
	assert_int_equal(end->ops->accept(end->dev, event.req, &attr, NULL, 0, &qp), 0);
	return qp;
}

void end_pair(struct end *a, struct end *b)
{
	const char *addr = end_address();

	end_listen(b, addr);
	a->qp = end_connect(a, addr, a);
	b->qp = end_accept(b, a, b);
	end_event(a, b, FABRIC_CM_ESTABLISHED);
	end_event(b, a, FABRIC_CM_ESTABLISHED);
}

struct fabric_sge end_sge(const struct end *end, uint32_t offset, uint32_t len)
{
	return (struct fabric_sge){end->mem + offset, len, end->mr.lkey};
}

void end_recv(struct end *end, struct fabric_qp *qp, uint64_t wr_id, uint32_t offset, uint32_t len)
{
	const struct fabric_recv_wr wr = {wr_id, end->mem + offset, len, end->mr.lkey};

	assert_int_equal(end->ops->post_recv(qp, &wr, 1), 1);
}

void end_post(struct end *end, struct fabric_wr wr, struct fabric_sge sge)
{
	wr.sge = &sge;
	wr.nsge = 1;
	assert_int_equal(end->ops->post_send(end->qp, &wr, 1), 1);
}

void end_works(struct end *a, struct end *b)
{
	memset(a->mem, 0x5a, 100);
	memset(b->mem + 512, 0, 100);
	end_recv(b, b->qp, 1, 512, 100);
	end_post(a, (struct fabric_wr){.wr_id = 2, .op = FABRIC_SEND, .flags = FABRIC_SIGNALED},
		 end_sge(a, 0, 100));
	end_wc(a, b, FABRIC_SEND, FABRIC_OK);
	assert_int_equal(end_wc(b, a, FABRIC_RECV, FABRIC_OK).byte_len, 100);
	assert_memory_equal(a->mem, b->mem + 512, 100);
}

struct end_holdings end_count(void)
{
	struct end_holdings holdings = {0};
	DIR *dir = opendir("/proc/self/fd");
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	assert_non_null(dir);
	assert_non_null(maps);
	while (readdir(dir))
		holdings.fds++;
	while (fgets(line, sizeof(line), maps))
		holdings.maps += strstr(line, "memfd:") != NULL;
	fclose(maps);
	closedir(dir);
	return holdings;
}

void end_until_released(struct end *end, struct end_holdings before)
{
	struct end_holdings now;

	END_WAIT(end, NULL, (now = end_count(), now.fds == before.fds && now.maps == before.maps));
}
