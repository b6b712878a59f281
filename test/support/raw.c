/* SPDX-License-Identifier: BSD-3-Clause */

/* The raw peer (raw.h). */

#include "raw.h"

#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cm_private.h"
#include "conn.h"
#include "shm_dev.h"
#include "shm_qp.h"

#define MEM_AT	  (RAW_SEND_AT + RAW_BUF)
#define ALL_BYTES (MEM_AT + RAW_MEM)

static void post_recv(struct raw *raw, uint32_t i)
{
	const struct fabric_recv_wr wr = {i, raw->base + (size_t)i * RAW_BUF, raw->msg_bytes,
					  raw->mr.lkey};

	assert_int_equal(raw->ops->post_recv(raw->qp, &wr, 1), 1);
}

static void attach(struct raw *raw)
{
	for (uint32_t i = 0; i < RAW_RECVS; i++)
		post_recv(raw, i);
}

static struct fabric_qp_attr qp_attr(struct raw *raw)
{
	return (struct fabric_qp_attr){
		.exposes = true,
		.max_send_wr = 64,
		.max_recv_wr = RAW_RECVS,
		.max_sge = 1,
		.max_inline = RAW_MSG_MAX,
		.max_msg_bytes = raw->msg_bytes,
		.max_rd_atomic = 4,
		.ctx = raw,
	};
}

void raw_open(struct raw *raw, struct pair *pair)
{
	const struct fabric_dev_config config = {.options = pair->profile.driver_options,
						 .max_connections = 8,
						 .max_regions = 8,
						 .numa_node = -1};
	int fd;

	memset(raw, 0, sizeof(*raw));
	raw->pair = pair;
	raw->msg_bytes = RAW_MSG_MAX;
	raw->ops = fabric_driver_find(pair->driver);
	assert_int_equal(raw->ops->open(&config, &raw->dev), 0);
	raw->ops = raw->dev->ops;
	fd = memfd_create("raw", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, ALL_BYTES), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	raw->base = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(raw->base != MAP_FAILED);
	assert_int_equal(
		raw->ops->mr_register(raw->dev, raw->base, ALL_BYTES,
				      FABRIC_LOCAL_WRITE | FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE,
				      fd, 0, &raw->mr),
		0);
	close(fd);
	raw->mem = raw->base + MEM_AT;
	raw->raddr = raw->mr.raddr + MEM_AT;
}

/*
 * Makes the driver fetch the region. Over shm, the driver's own thread fetches a region when a
 * message first names it. A test that waits until all work has ended would not notice that fetch.
 */
static void have_region_fetched(struct raw *raw)
{
	const struct shm_dev *dev = (const struct shm_dev *)raw->dev;
	uint32_t id = dev->mrs[raw->mr.lkey - LKEY_BASE].id;
	struct shm_qp *qp = (struct shm_qp *)raw->pair->server_conn->qp;

	for (uint32_t i = 0; !shm_import_find(&qp->peer->imports, id) && pair_wait(raw->pair, i);
	     i++) {
		shm_peer_adopt(qp, id);
		raw_poll(raw);
	}
	assert_non_null(shm_import_find(&qp->peer->imports, id));
}

void raw_connect(struct raw *raw)
{
	struct fabric_qp_attr attr = qp_attr(raw);
	int server_opened = raw->pair->server_opened;

	assert_int_equal(raw->ops->connect(raw->dev, raw->pair->addr, &attr, NULL, 0, &raw->qp), 0);
	attach(raw);
	raw_until(raw, &raw->established, 1);
	raw_until(raw, &raw->pair->server_opened, server_opened + 1);
	if (strcmp(raw->pair->driver, "shm") == 0)
		have_region_fetched(raw);
}

void raw_listen(struct raw *raw, const char *addr)
{
	assert_int_equal(raw->ops->listen(raw->dev, addr, 4, raw, &raw->listener), 0);
}

static void begin_to_serve(struct raw *raw)
{
	const struct weir_connect_options none = {.struct_bytes = sizeof(none)};
	struct pair *pair = raw->pair;
	char addr[80];

	pair_new_addr(addr, sizeof(addr));
	raw_listen(raw, addr);
	assert_int_equal(weir_connect(pair->client, addr, &none, &pair->conn), 0);
	raw_until(raw, &raw->established, 1);
}

static void until_open(struct raw *raw)
{
	struct pair *pair = raw->pair;

	for (uint32_t i = 0; !weir_conn_is_open(pair->conn) && pair_wait(pair, i); i++)
		raw_poll(raw);
	assert_true(weir_conn_is_open(pair->conn));
}

void raw_serve(struct raw *raw)
{
	begin_to_serve(raw);
	until_open(raw);
}

void raw_serve_v2(struct raw *raw, const struct words *properties)
{
	struct words m = {0}, r = *properties;

	begin_to_serve(raw);
	raw_recv_words(raw, &m);
	assert_int_equal(m.w[3], 6);
	r.w[0] = htobe32(m.w[0]);
	raw_send_words(raw, &r);
	until_open(raw);
}

void raw_end(struct raw *raw)
{
	struct pair *pair = raw->pair;

	raw_close(raw);
	pair_stop(pair);
}

void raw_close(struct raw *raw)
{
	if (raw->qp) {
		raw->ops->disconnect(raw->qp);
		raw->ops->qp_destroy(raw->qp);
	}
	raw->ops->unlisten(raw->listener);
	raw->ops->mr_deregister(raw->dev, &raw->mr);
	raw->ops->close(raw->dev);
	munmap(raw->base, ALL_BYTES);
}

static void on_event(struct raw *raw, const struct fabric_cm_event *event)
{
	const struct cm_private mine = {RAW_MSG_MAX, RAW_MSG_MAX, true};
	struct fabric_qp_attr attr = qp_attr(raw);
	uint8_t data[CM_PRIVATE_SIZE];

	switch (event->kind) {
	case FABRIC_CM_REQUEST:
		cm_private_encode(&mine, data);
		assert_int_equal(raw->ops->accept(raw->dev, event->req, &attr, data,
						  raw->may_invalidate ? sizeof(data) : 0, &raw->qp),
				 0);
		attach(raw);
		break;
	case FABRIC_CM_ESTABLISHED:
		raw->established++;
		break;
	default:
		raw->disconnected++;
	}
}

uint32_t raw_poll(struct raw *raw)
{
	struct fabric_cm_event events[4];
	struct fabric_wc wcs[16];
	uint32_t n, work = pair_poll(raw->pair);

	n = raw->ops->cm_poll(raw->dev, events, 4);
	work += n;
	for (uint32_t i = 0; i < n; i++)
		on_event(raw, &events[i]);
	n = raw->ops->poll(raw->dev, wcs, 16);
	work += n;
	for (uint32_t i = 0; i < n; i++) {
		if (wcs[i].op != FABRIC_RECV)
			raw->status = wcs[i].status;
		if (wcs[i].op != FABRIC_RECV)
			/*
			 * A flushed Send counts as well, because the peer can have ended the
			 * connection because of this message.
			 */
			raw->sent++;
		if (wcs[i].op != FABRIC_RECV || wcs[i].status != FABRIC_OK)
			continue;
		if (raw->ignores) {
			post_recv(raw, (uint32_t)wcs[i].wr_id);
			continue;
		}
		assert_true(raw->nmsgs < (int)RAW_RECVS);
		raw->inv_rkey = wcs[i].inv_rkey;
		raw->len[raw->nmsgs] = wcs[i].byte_len;
		memcpy(raw->msgs[raw->nmsgs++], raw->base + wcs[i].wr_id * RAW_BUF,
		       wcs[i].byte_len);
		if (!raw->stops)
			post_recv(raw, (uint32_t)wcs[i].wr_id);
	}
	return work;
}

void raw_take_one(struct raw *raw)
{
	raw->nmsgs = 0;
	post_recv(raw, 0);
}

void raw_until(struct raw *raw, const int *flag, int value)
{
	for (uint32_t i = 0; *flag < value && pair_wait(raw->pair, i); i++)
		raw_poll(raw);
	assert_true(*flag >= value);
}

void raw_settle(struct raw *raw)
{
	struct pair_quiet quiet = {0};

	while (pair_unsettled(raw->pair, &quiet, raw_poll(raw)))
		;
}

void raw_send(struct raw *raw, const uint8_t *msg, uint32_t len)
{
	struct fabric_sge sge = {raw->base + RAW_SEND_AT, len, raw->mr.lkey};
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};
	int sent = raw->sent;

	memcpy(raw->base + RAW_SEND_AT, msg, len);
	assert_int_equal(raw->ops->post_send(raw->qp, &wr, 1), 1);
	raw_until(raw, &raw->sent, sent + 1);
}

void raw_send_inv(struct raw *raw, const struct words *words, uint32_t handle)
{
	struct fabric_sge sge = {raw->base + RAW_SEND_AT, words->n * 4, raw->mr.lkey};
	const struct fabric_wr wr = {.op = FABRIC_SEND_INV,
				     .flags = FABRIC_SIGNALED,
				     .sge = &sge,
				     .nsge = 1,
				     .rkey = handle};
	int sent = raw->sent;

	memcpy(raw->base + RAW_SEND_AT, words->w, words->n * 4);
	assert_int_equal(raw->ops->post_send(raw->qp, &wr, 1), 1);
	raw_until(raw, &raw->sent, sent + 1);
}

enum fabric_status raw_access(struct raw *raw, enum fabric_op op, uint32_t handle, uint64_t offset,
			      uint32_t len)
{
	struct fabric_sge sge = {raw->mem, len, raw->mr.lkey};
	const struct fabric_wr wr = {.op = op,
				     .flags = FABRIC_SIGNALED,
				     .sge = &sge,
				     .nsge = 1,
				     .rkey = handle,
				     .raddr = offset};
	int sent = raw->sent;

	assert_int_equal(raw->ops->post_send(raw->qp, &wr, 1), 1);
	raw_until(raw, &raw->sent, sent + 1);
	return raw->status;
}

void raw_write(struct raw *raw, uint32_t handle, uint64_t offset, uint32_t len)
{
	raw_access(raw, FABRIC_WRITE, handle, offset, len);
}

uint32_t raw_recv(struct raw *raw, uint8_t *msg)
{
	uint32_t len;

	raw_until(raw, &raw->nmsgs, 1);
	len = raw->len[0];
	memcpy(msg, raw->msgs[0], len);
	raw->nmsgs--;
	memmove(raw->msgs[0], raw->msgs[1], sizeof(raw->msgs[0]) * (size_t)raw->nmsgs);
	memmove(&raw->len[0], &raw->len[1], sizeof(raw->len[0]) * (size_t)raw->nmsgs);
	return len;
}

void words_put(struct words *words, uint32_t n, ...)
{
	va_list args;

	va_start(args, n);
	while (n-- > 0)
		words->w[words->n++] = htobe32(va_arg(args, uint32_t));
	va_end(args);
}

void words_put_rpc(struct words *words, uint32_t xid, uint32_t proc)
{
	words_put(words, 10, xid, 0, 2, PAIR_PROG, PAIR_VERS, proc, 0, 0, 0, 0);
}

void raw_put_segment(const struct raw *raw, struct words *words, uint32_t len, uint32_t at)
{
	const uint64_t raddr = raw->raddr + at;

	words_put(words, 4, raw->mr.rkey, len, (uint32_t)(raddr >> 32), (uint32_t)raddr);
}

void raw_send_words(struct raw *raw, const struct words *words)
{
	raw_send(raw, (const uint8_t *)words->w, words->n * 4);
}

void raw_recv_words(struct raw *raw, struct words *words)
{
	uint32_t len = raw_recv(raw, (uint8_t *)words->w);

	assert_int_equal(len % 4, 0);
	words->n = len / 4;
	for (uint32_t i = 0; i < words->n; i++)
		words->w[i] = be32toh(words->w[i]);
}

void raw_ask_words(struct raw *raw, const struct words *m, struct words *answer)
{
	memset(answer, 0, sizeof(*answer));
	raw_send_words(raw, m);
	raw_settle(raw);
	if (raw->nmsgs > 0)
		raw_recv_words(raw, answer);
	assert_int_equal(raw->nmsgs, 0);
	answer->w[2] = 0;
	assert_int_equal(raw->disconnected, 0);
}
