/* SPDX-License-Identifier: BSD-3-Clause */

/* The raw peer over shm (shm_raw.h). */

#include "shm_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int raw_memfd(size_t len, void **map)
{
	int fd = memfd_create("raw", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	if (map) {
		*map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		assert_ptr_not_equal(*map, MAP_FAILED);
	}
	return fd;
}

void raw_init(struct raw *raw)
{
	void *rings, *keys, *region;

	memset(raw, 0, sizeof(*raw));
	raw->fd = -1;
	raw->fds[0] = raw_memfd(2 * ring_footprint(RAW_RING_BYTES), &rings);
	raw->fds[1] = raw_memfd(sizeof(struct key_table_memory), &keys);
	raw->region_fd = raw_memfd(RAW_REGION_BYTES, &region);
	raw->nfds = 2;
	raw->rings = rings;
	raw->keys = keys;
	raw->region = region;
	raw->mark = (struct ring_shared *)(raw->rings + ring_footprint(RAW_RING_BYTES));
	ring_writer_init(&raw->tx, raw->rings, RAW_RING_BYTES);
	raw->hello = (struct shm_msg){
		.magic = SHM_MAGIC,
		.version = SHM_VERSION,
		.type = SHM_HELLO,
		.ring_bytes = RAW_RING_BYTES,
		.max_msg_bytes = 1024,
		.conn_id = RAW_CONN_ID,
		.region = {.id = RAW_REGION_ID, .is_writable = 1, .len = RAW_REGION_BYTES},
	};
}

void raw_close_all(struct raw *raws, struct fabric_qp **qps, uint32_t n, struct end *end)
{
	end->qp = NULL;
	for (uint32_t i = 0; i < n; i++) {
		raw_fini(&raws[i]);
		end->ops->qp_destroy(qps[i]);
	}
	end_close(end);
}

void raw_offer_mux(struct raw *raw)
{
	void *mux_set;

	raw->fds[raw->nfds++] = raw_memfd(sizeof(*raw->muxes), &mux_set);
	raw->muxes = mux_set;
	raw->hello.has_mux = 1;
}

void raw_begin_mux(struct raw *raw)
{
	const struct mux_slot *slot = &raw->answer.slot;
	struct mux_ring *out = &raw->muxes->muxes[slot->mux].to_acceptor,
			*in = &raw->muxes->muxes[slot->mux].to_connector;

	assert_true(raw->answer.has_mux);
	raw->mux_tag = mux_tag(RAW_CONN_ID, raw->answer.conn_id, slot->slot);
	ring_writer_init(&raw->mux_tx, out, MUX_BYTES);
	ring_writer_start(&raw->mux_tx, slot->start);
	ring_reader_init(&raw->mux_rx, in, MUX_BYTES, SHM_MSG_MAX + RING_TAG);
	ring_reader_start(&raw->mux_rx, slot->start);
}

void raw_fini(struct raw *raw)
{
	if (raw->muxes)
		munmap(raw->muxes, sizeof(*raw->muxes));
	if (raw->fd >= 0)
		close(raw->fd);
	for (uint32_t i = 0; i < raw->nfds; i++)
		close(raw->fds[i]);
	close(raw->region_fd);
	munmap(raw->rings, 2 * ring_footprint(RAW_RING_BYTES));
	munmap(raw->keys, sizeof(struct key_table_memory));
	munmap(raw->region, RAW_REGION_BYTES);
}

static socklen_t address(const char *addr, struct sockaddr_un *sun)
{
	*sun = (struct sockaddr_un){.sun_family = AF_UNIX};
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(sun->sun_path + 1, sizeof(sun->sun_path) - 1, "weir/%s",
					    addr));
}

void raw_connect_only(struct raw *raw, const char *addr)
{
	struct sockaddr_un sun;
	socklen_t len = address(addr, &sun);

	raw->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(raw->fd, (struct sockaddr *)&sun, len), 0);
}

void raw_connect(struct raw *raw, const char *addr)
{
	raw_connect_only(raw, addr);
	assert_true(raw_recv(raw, NULL));
	assert_int_equal(raw->answer.type, SHM_WELCOME);
}

bool raw_is_welcome(const char *addr)
{
	struct raw raw;
	bool is;

	raw_init(&raw);
	raw_connect_only(&raw, addr);
	is = raw_recv(&raw, NULL);
	raw_fini(&raw);
	return is;
}

void raw_welcome(struct raw *raw, int listener, struct end *polled)
{
	raw->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(raw->fd >= 0);
	raw_send_type(raw, SHM_WELCOME);
	assert_true(raw_recv(raw, polled));
	assert_int_equal(raw->answer.type, SHM_HELLO);
}

int raw_listen(const char *addr)
{
	struct sockaddr_un sun;
	socklen_t len = address(addr, &sun);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&sun, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

bool raw_try_send(const struct raw *raw, const void *data, size_t len, const int *fds,
		  uint32_t nfds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE((SHM_FDS_MAX + 1) * sizeof(int))];
	} control = {0};
	struct iovec iov = {(void *)(uintptr_t)data, len};
	struct msghdr hdr = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfds > 0) {
		hdr.msg_control = control.bytes;
		hdr.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		CMSG_FIRSTHDR(&hdr)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&hdr)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&hdr)->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&hdr)), fds, nfds * sizeof(int));
	}
	return sendmsg(raw->fd, &hdr, MSG_NOSIGNAL) == (ssize_t)len;
}

void raw_send(const struct raw *raw, const void *data, size_t len, const int *fds, uint32_t nfds)
{
	assert_true(raw_try_send(raw, data, len, fds, nfds));
}

static void put_header(uint8_t *base, size_t at)
{
	uint64_t cell = at / RING_CELL * RING_CELL, lap = (uint64_t)random() % 4;
	uint64_t before = random() % 2 ? sizeof(struct ring_shared) : 0;

	atomic_store((_Atomic uint64_t *)(void *)(base + cell),
		     ring_number(cell - before + lap * RAW_RING_BYTES) | RING_VALID |
			     ((uint32_t)random() & (RING_INV | 0x7ff)));
}

void raw_scribble(uint8_t *base, size_t len, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++) {
		size_t at = (size_t)random() % (len / 4) * 4;
		uint32_t word = (uint32_t)random();

		if (random() % 4 == 0)
			put_header(base, at);
		else
			atomic_store((_Atomic uint32_t *)(void *)(base + at),
				     random() % 2 ? word % 5 : word);
	}
}

void raw_send_type(const struct raw *raw, enum shm_msg_type type)
{
	const struct shm_msg msg = {
		.magic = SHM_MAGIC, .version = SHM_VERSION, .type = (uint16_t)type};

	raw_send(raw, &msg, sizeof(msg), NULL, 0);
}

bool raw_recv(struct raw *raw, struct end *polled)
{
	uint64_t until = end_now_ns() + END_WAIT_NS;

	for (;;) {
		ssize_t n = recv(raw->fd, &raw->answer, sizeof(raw->answer), MSG_DONTWAIT);

		if (n > 0)
			assert_int_equal(n, sizeof(raw->answer));
		if (n >= 0 || errno == ECONNRESET)
			return n > 0;
		assert_int_equal(errno, EAGAIN);
		assert_true(end_now_ns() < until);
		end_step(polled, NULL);
	}
}

void raw_send_region(const struct raw *raw)
{
	struct shm_msg msg = raw->hello;

	msg.type = SHM_REGION;
	raw_send(raw, &msg, sizeof(msg), &raw->region_fd, 1);
}

void raw_give_region(struct raw *raw, struct end *polled)
{
	END_WAIT(polled, NULL,
		 polled->nwcs > 0 || polled->nevents > 0 ||
			 recv(raw->fd, &raw->answer, sizeof(raw->answer), MSG_DONTWAIT) ==
				 sizeof(raw->answer));
	if (polled->nwcs > 0 || polled->nevents > 0)
		return;
	assert_int_equal(raw->answer.type, SHM_WANT);
	if (raw->answer.region.id == raw->hello.region.id)
		raw_send_region(raw);
}

void raw_pair(struct raw *raw, struct end *end)
{
	const char *addr = end_address();

	end_listen(end, addr);
	raw_connect(raw, addr);
	raw_send(raw, &raw->hello, sizeof(raw->hello), raw->fds, raw->nfds);
	end->qp = end_accept(end, NULL, end);
	assert_true(raw_recv(raw, end));
	assert_int_equal(raw->answer.type, SHM_ACCEPT);
	raw_send_type(raw, SHM_READY);
	end_event(end, NULL, FABRIC_CM_ESTABLISHED);
}
