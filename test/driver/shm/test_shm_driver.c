/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the driver shm beyond the contract that all drivers share: full rings, cold queue pairs,
 * and announcements that arrive late. */
#include "shm_raw.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc.h"
#include "eal.h"
#include "shm_dev.h"
#include "shm_qp.h"

#define MANY  300u
#define FLOOD 32u

static struct end a, b;

static int setup(void **state)
{
	(void)state;
	end_open(&a, "", MANY);
	end_open(&b, "", MANY);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end_close(&a);
	end_close(&b);
	return 0;
}

/* Posts unsignaled Sends of 3000 bytes until the ring is full, while b has no receives. Returns the
 * number of Sends. */
static uint32_t fill_ring(void)
{
	struct shm_qp *qp = (struct shm_qp *)a.qp;
	uint32_t n = 0;

	while (qp->npending == 0) {
		end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, 3000));
		n++;
	}
	assert_in_range(n, 2, end_attr.max_send_wr / 2);
	return n;
}

static void receive(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		end_recv(&b, b.qp, i, 0, 4096);
		end_wc(&b, &a, FABRIC_RECV, FABRIC_OK);
	}
}

static void small_rings(void)
{
	end_close(&a);
	end_open(&a, "ring_kib=16", MANY);
	end_pair(&a, &b);
}

static void options__out_of_their_ranges_are_refused(void **state)
{
	static const char *const bad[] = {"ring_kib=0", "ring_kib=3", "ring_kib=65537",
					  "ring_kib=", "rnr_retry=8"};

	(void)state;
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct fabric_dev_config config = {
			.options = bad[i], .max_connections = 1, .max_regions = 1, .numa_node = -1};
		struct fabric_dev *dev;

		assert_int_equal(a.ops->open(&config, &dev), -EINVAL);
	}
}

/* Checks the memory for Sends that wait for space in the ring. It is the only allocation for Sends,
 * and mem_alloc_count() counts it. */
static void full_ring__room_for_what_waits_is_counted(void **state)
{
	uint64_t before;

	(void)state;
	small_rings();
	end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, 8));
	receive(1);
	before = mem_alloc_count();
	fill_ring();
	assert_int_equal(mem_alloc_count(), before + 1);
}

static void full_ring__inline_data_is_kept(void **state)
{
	const struct fabric_wr wr = {.wr_id = 7, .op = FABRIC_SEND, .flags = FABRIC_INLINE};
	uint32_t n;

	(void)state;
	small_rings();
	n = fill_ring();
	for (uint8_t i = 0; i < 10; i++) {
		memset(a.mem, i + 1, 200);
		end_post(&a, wr, end_sge(&a, 0, 20 * i));
	}
	memset(a.mem, 0xff, 200);
	receive(n);
	for (uint8_t i = 0; i < 10; i++) {
		end_recv(&b, b.qp, i, 0, 4096);
		assert_int_equal(end_wc(&b, &a, FABRIC_RECV, FABRIC_OK).byte_len, 20 * i);
		for (uint32_t at = 0; at < 20u * i; at++)
			assert_int_equal(b.mem[at], i + 1);
	}
}

static void full_ring__all_places_are_counted(void **state)
{
	const struct fabric_wr wr = {.wr_id = 7, .op = FABRIC_SEND, .flags = FABRIC_SIGNALED};
	uint32_t n, waiting;

	(void)state;
	small_rings();
	waiting = n = fill_ring();
	for (; n < end_attr.max_send_wr; n++)
		end_post(&a, wr, end_sge(&a, 0, 8));
	assert_int_equal(a.ops->post_send(a.qp, &wr, 1), 0);
	receive(n);
	END_WAIT(&a, &b, ((struct shm_qp *)a.qp)->sq_used == 0);
	for (uint32_t i = 0; i < a.nwcs; i++)
		assert_int_equal(a.wcs[i].status, FABRIC_OK);
	assert_int_equal(a.nwcs, end_attr.max_send_wr - waiting);
}

/* Checks the order of work requests while the ring is full. A WRITE after a Send that waits is not
 * carried out before that Send, and a Send after the WRITE is not sent before the WRITE. */
static void full_ring__order_is_kept(void **state)
{
	struct fabric_wr write = {
		.op = FABRIC_WRITE, .rkey = b.mr.rkey, .raddr = b.mr.raddr + 8192};
	uint32_t n;

	(void)state;
	small_rings();
	n = fill_ring();
	memset(a.mem + 8192, 0x77, 64);
	memset(b.mem + 8192, 0, 64);
	end_post(&a, write, end_sge(&a, 8192, 64));
	end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, 1));
	assert_int_equal(b.mem[8192], 0);
	receive(n);
	end_recv(&b, b.qp, 0, 0, 4096);
	assert_int_equal(end_wc(&b, &a, FABRIC_RECV, FABRIC_OK).byte_len, 1);
	assert_memory_equal(b.mem + 8192, a.mem + 8192, 64);
}

/* Checks that the key of a BIND is known when the BIND is posted, although it is carried out
 * later. */
static void full_ring__key_of_a_window_is_known_at_the_post(void **state)
{
	struct fabric_wr bind = {.op = FABRIC_BIND_MW, .access = FABRIC_REMOTE_READ};
	struct fabric_wr inv = {.op = FABRIC_LOCAL_INV};
	struct fabric_mw mw = {0};
	uint32_t n, first, second;

	(void)state;
	small_rings();
	assert_int_equal(a.ops->mw_alloc(a.dev, &mw), 0);
	bind.mw = &mw;
	end_post(&a, bind, end_sge(&a, 0, 100));
	first = mw.rkey;
	n = fill_ring();
	inv.rkey = first;
	end_post(&a, inv, end_sge(&a, 0, 0));
	end_post(&a, bind, end_sge(&a, 4096, 64));
	second = mw.rkey;
	assert_int_not_equal(second, first);
	assert_int_not_equal(second, 0);
	receive(n);
	memset(a.mem + 4096, 0x33, 64);
	end_post(&b,
		 (struct fabric_wr){.op = FABRIC_READ,
				    .flags = FABRIC_SIGNALED,
				    .rkey = second,
				    .raddr = a.mr.raddr + 4096},
		 end_sge(&b, 512, 64));
	end_wc(&b, &a, FABRIC_READ, FABRIC_OK);
	assert_memory_equal(b.mem + 512, a.mem + 4096, 64);
	end_post(&b, (struct fabric_wr){.op = FABRIC_READ, .rkey = first, .raddr = a.mr.raddr},
		 end_sge(&b, 512, 64));
	end_wc(&b, &a, FABRIC_READ, FABRIC_ERR_REMOTE_ACCESS);
	a.ops->mw_free(a.dev, &mw);
}

static void full_ring__the_end_flushes_what_waits(void **state)
{
	uint32_t n;

	(void)state;
	small_rings();
	n = fill_ring();
	b.ops->disconnect(b.qp);
	end_event(&a, NULL, FABRIC_CM_DISCONNECTED);
	assert_int_equal(end_wc(&a, NULL, FABRIC_SEND, FABRIC_ERR_FLUSHED).wr_id, 0);
	assert_int_equal(((struct shm_qp *)a.qp)->sq_used, 0);
	assert_true(n > 0);
}

static void established__no_message_comes_before_it(void **state)
{
	const char *addr = end_address();

	(void)state;
	end_listen(&b, addr);
	a.qp = end_connect(&a, addr, &a);
	b.qp = end_accept(&b, &a, &b);
	end_recv(&b, b.qp, 1, 0, 100);
	end_event(&a, NULL, FABRIC_CM_ESTABLISHED);
	end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, 10));
	usleep(20000);
	assert_int_equal(b.ops->poll(b.dev, b.wcs, END_WCS), 0);
	end_event(&b, NULL, FABRIC_CM_ESTABLISHED);
	end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK);
}

static void disconnected__messages_before_it_are_delivered(void **state)
{
	struct fabric_cm_event event;

	(void)state;
	end_pair(&a, &b);
	for (uint32_t i = 0; i < 10; i++) {
		end_recv(&b, b.qp, i, i * 4096, 4096);
		end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, i));
	}
	a.ops->disconnect(a.qp);
	usleep(50000);
	assert_int_equal(b.ops->cm_poll(b.dev, &event, 1), 0);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK).byte_len, i);
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
}

static void disconnected__does_not_wait_for_receives(void **state)
{
	(void)state;
	end_pair(&a, &b);
	end_recv(&b, b.qp, 1, 0, 100);
	for (uint32_t i = 0; i < 5; i++)
		end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, 10));
	a.ops->disconnect(a.qp);
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
	end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK);
}

static void connect_many(struct fabric_qp *qps[2][MANY])
{
	const char *addr = end_address();

	end_listen(&b, addr);
	for (uint32_t i = 0; i < MANY; i++) {
		qps[0][i] = end_connect(&a, addr, &qps[0][i]);
		qps[1][i] = end_accept(&b, &a, &qps[1][i]);
		end_event(&a, &b, FABRIC_CM_ESTABLISHED);
		end_event(&b, &a, FABRIC_CM_ESTABLISHED);
	}
}

static void cool_down(const struct end *end)
{
	const struct shm_dev *dev = (const struct shm_dev *)end->dev;

	for (uint32_t i = 0; i < 20 * SHM_COLD_POLLS && dev->nhot > 0; i++)
		end->ops->poll(end->dev, b.wcs, 1);
	assert_int_equal(dev->nhot, 0);
}

static void cold__is_noticed_when_a_message_comes(void **state)
{
	static struct fabric_qp *qps[2][MANY];

	(void)state;
	connect_many(qps);
	cool_down(&a);
	cool_down(&b);
	for (uint32_t n = 0; n < MANY; n++) {
		uint32_t i = n * 7919 % MANY;

		a.qp = qps[0][i];
		end_recv(&b, qps[1][i], i, 0, 100);
		end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, 10));
		assert_ptr_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK).qp_ctx, &qps[1][i]);
		assert_int_equal(b.nwcs, 0);
	}
	a.qp = NULL;
	for (uint32_t i = 0; i < MANY; i++) {
		a.ops->qp_destroy(qps[0][i]);
		b.ops->qp_destroy(qps[1][i]);
	}
}

static void flood(struct fabric_qp *from, struct fabric_qp *to, uint32_t n)
{
	struct fabric_sge sge = end_sge(&a, 0, 10);
	const struct fabric_wr wr = {
		.op = FABRIC_SEND, .flags = FABRIC_SIGNALED, .sge = &sge, .nsge = 1};

	for (uint32_t i = 0; i < n; i++) {
		end_recv(&b, to, 2, 0, 100);
		assert_int_equal(a.ops->post_send(from, &wr, 1), 1);
	}
	while (n > 0)
		n -= a.ops->poll(a.dev, a.wcs, n);
}

/* Checks cold queue pairs while one connection floods. There are no muxes. The first message
 * arrives on the queue pair that was just polled. It is found after each of the other cold queue
 * pairs could have received as much service as the flood. */
static void cold__waits_for_a_share_of_a_flood_each(void **state)
{
	static struct fabric_qp *qps[2][MANY];
	const struct shm_turns *turns = &((struct shm_dev *)b.dev)->turns;
	const struct shm_colds *colds;
	uint32_t of_flood = 0, found = 0, unlucky = 1, numbers[MUX_COUNT], ntaken = 0;

	(void)state;
	while (ntaken < MUX_COUNT && (numbers[ntaken] = mux_number_take()) != MUX_NONE)
		ntaken++;
	connect_many(qps);
	while (ntaken > 0)
		mux_number_put(numbers[--ntaken]);
	cool_down(&a);
	cool_down(&b);
	colds = &TAILQ_FIRST(&turns->all)->cold;
	assert_int_equal(colds->n, MANY);
	flood(qps[0][0], qps[1][0], 1);
	assert_ptr_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK).qp_ctx, &qps[1][0]);
	while (qps[1][unlucky] != &colds->at[colds->next].qp->fabric)
		unlucky++;
	a.qp = qps[0][unlucky];
	end_recv(&b, qps[1][unlucky], 1, 0, 100);
	end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, 10));
	for (uint32_t polls = 0; found == 0 && polls < 2 * MANY; polls++) {
		uint32_t n;

		flood(qps[0][0], qps[1][0], FLOOD);
		n = b.ops->poll(b.dev, b.wcs, FLOOD);
		for (uint32_t i = 0; i < n; i++)
			found += b.wcs[i].qp_ctx == &qps[1][unlucky];
		of_flood += n - found;
	}
	assert_int_equal(found, 1);
	assert_in_range(of_flood, FLOOD, (MANY + 1) * 8);
	a.qp = NULL;
	for (uint32_t i = 0; i < MANY; i++) {
		a.ops->qp_destroy(qps[0][i]);
		b.ops->qp_destroy(qps[1][i]);
	}
}

/* Checks queue pairs that end while they are cold. Their users get the event, and receives
 * complete, including receives that are posted after the end. */
static void cold__is_noticed_when_it_ends(void **state)
{
	static struct fabric_qp *qps[2][MANY];

	(void)state;
	connect_many(qps);
	for (uint32_t i = 0; i < MANY; i++)
		end_recv(&b, qps[1][i], i, 0, 100);
	cool_down(&b);
	for (uint32_t i = 0; i < MANY; i += 3) {
		a.ops->disconnect(qps[0][i]);
		assert_ptr_equal(end_event(&b, NULL, FABRIC_CM_DISCONNECTED).qp_ctx, &qps[1][i]);
		assert_int_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_ERR_FLUSHED).wr_id, i);
	}
	cool_down(&b);
	end_recv(&b, qps[1][3], 5000, 0, 100);
	assert_int_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_ERR_FLUSHED).wr_id, 5000);
	for (uint32_t i = 0; i < MANY; i++) {
		a.ops->qp_destroy(qps[0][i]);
		b.ops->qp_destroy(qps[1][i]);
	}
}

/* Checks a message that waits for a receive, in the ring of a cold queue pair, for longer than the
 * limit. */
static void cold__rnr_breaks_it(void **state)
{
	static struct fabric_qp *qps[2][MANY];

	(void)state;
	end_close(&b);
	end_open(&b, "rnr_retry=1", MANY);
	connect_many(qps);
	cool_down(&b);
	for (uint32_t i = 0; i < MANY; i += 50) {
		a.qp = qps[0][i];
		end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, 10));
		assert_ptr_equal(end_event(&a, &b, FABRIC_CM_DISCONNECTED).qp_ctx, &qps[0][i]);
	}
	assert_int_equal(b.dev->stats.rnr, MANY / 50);
	a.qp = NULL;
	for (uint32_t i = 0; i < MANY; i++) {
		a.ops->qp_destroy(qps[0][i]);
		b.ops->qp_destroy(qps[1][i]);
	}
}

/* Checks that a message of any length waits for a receive, even a message of 0 bytes. When the
 * message was received, the time limit for the next message starts anew. */
static void rnr__is_over_when_the_message_is_taken(void **state)
{
	static const uint32_t lens[] = {10, 0, 0, 10, 0};

	(void)state;
	end_pair(&a, &b);
	for (uint32_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, lens[i]));
		END_WAIT(&b, NULL, b.dev->stats.rnr == i + 1);
		end_recv(&b, b.qp, i, 0, 100);
		assert_int_equal(end_wc(&b, &a, FABRIC_RECV, FABRIC_OK).byte_len, lens[i]);
		assert_false(((struct shm_qp *)b.qp)->is_rnr);
	}
}

/* Checks the longest message: it is bounded by the ring. The connecting side creates the ring. The
 * accepting side would accept longer messages than that ring holds. */
static void max_msg__is_what_the_ring_holds(void **state)
{
	struct fabric_qp_attr attr = end_attr;
	const char *addr = end_address();
	struct fabric_cm_event event;

	(void)state;
	end_close(&a);
	end_open(&a, "ring_kib=16", MANY);
	end_listen(&b, addr);
	a.qp = end_connect(&a, addr, &a);
	event = end_event(&b, &a, FABRIC_CM_REQUEST);
	attr.max_msg_bytes = 65536;
	assert_int_equal(b.ops->accept(b.dev, event.req, &attr, NULL, 0, &b.qp), 0);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
	end_event(&b, &a, FABRIC_CM_ESTABLISHED);
	end_recv(&b, b.qp, 1, 0, 65536);
	end_post(&a, (struct fabric_wr){.op = FABRIC_SEND}, end_sge(&a, 0, ring_msg_max(16384)));
	assert_int_equal(end_wc(&b, &a, FABRIC_RECV, FABRIC_OK).byte_len, ring_msg_max(16384));
	end_post(&a, (struct fabric_wr){.op = FABRIC_SEND},
		 end_sge(&a, 0, ring_msg_max(16384) + 1));
	end_wc(&a, &b, FABRIC_SEND, FABRIC_ERR_REMOTE_LEN);
}

/* Checks a peer that asks for many regions and does not read its socket. When it reads, it gets
 * each region in its latest state. */
static void want__waits_for_a_slow_peer(void **state)
{
	struct fabric_mr mrs[SHM_REGIONS_MAX - 1];
	uint32_t seen[SHM_REGIONS_MAX] = {0}, nseen = 0;
	struct shm_msg want;
	struct raw raw;

	(void)state;
	raw_init(&raw);
	raw_pair(&raw, &b);
	for (uint32_t i = 0; i < SHM_REGIONS_MAX - 1; i++)
		assert_int_equal(b.ops->mr_register(b.dev, b.mem, 4096, FABRIC_REMOTE_READ, b.fd, 0,
						    &mrs[i]),
				 0);
	want = raw.hello;
	want.type = SHM_WANT;
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < SHM_REGIONS_MAX; i++) {
			want.region.id = SHM_REGIONS_MAX + i;
			raw_send(&raw, &want, sizeof(want), NULL, 0);
		}
	}
	/* These regions are replaced by others. At the end, the peer must not have the old ones. */
	for (uint32_t i = 0; i < SHM_REGIONS_MAX - 1; i++) {
		b.ops->mr_deregister(b.dev, &mrs[i]);
		assert_int_equal(b.ops->mr_register(b.dev, b.mem, 4096, FABRIC_REMOTE_READ, b.fd, 0,
						    &mrs[i]),
				 0);
		want.region.id = ((struct shm_mr *)mrs[i].driver)->id;
		raw_send(&raw, &want, sizeof(want), NULL, 0);
	}
	while (nseen < SHM_REGIONS_MAX - 1) {
		nseen = 0;
		assert_true(raw_recv(&raw, &b));
		assert_int_equal(raw.answer.type, SHM_REGION);
		seen[raw.answer.region.id % SHM_REGIONS_MAX] = raw.answer.region.id;
		for (uint32_t i = 0; i < SHM_REGIONS_MAX - 1; i++) {
			uint32_t id = ((struct shm_mr *)mrs[i].driver)->id;

			nseen += seen[id % SHM_REGIONS_MAX] == id;
		}
	}
	for (uint32_t i = 0; i < SHM_REGIONS_MAX - 1; i++)
		b.ops->mr_deregister(b.dev, &mrs[i]);
	assert_int_equal(b.nevents, 0);
	raw_fini(&raw);
}

static uint32_t maps_of(const char *name, const char *rights)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	uint32_t n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, name) && strstr(line, rights);
	fclose(maps);
	return n;
}

static void region__for_reading_is_mapped_so(void **state)
{
	int fd = memfd_create("to-be-read", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct fabric_mr mr;
	struct stat st;

	(void)state;
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_int_equal(pwrite(fd, "here", 4, 4096), 4);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	end_pair(&a, &b);
	/* This memory is not accessed in this test, so that any address is valid. */
	assert_int_equal(b.ops->mr_register(b.dev, b.mem, 4096, FABRIC_REMOTE_READ, fd, 4096, &mr),
			 0);
	assert_int_equal(fcntl(((struct shm_mr *)mr.driver)->exposed->fd, F_GETFL) & O_ACCMODE,
			 O_RDONLY);
	end_post(&a,
		 (struct fabric_wr){.op = FABRIC_READ,
				    .flags = FABRIC_SIGNALED,
				    .rkey = mr.rkey,
				    .raddr = mr.raddr},
		 end_sge(&a, 0, 4));
	end_wc(&a, &b, FABRIC_READ, FABRIC_OK);
	assert_memory_equal(a.mem, "here", 4);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & (S_IRWXG | S_IRWXO),
			 0); /* another user cannot open the file again for writing */
	assert_int_equal(fstat(((struct shm_dev *)b.dev)->keys.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0);
	assert_int_equal(maps_of("to-be-read", " r--s "), 1);
	assert_int_equal(maps_of("to-be-read", " rw-s "), 0);
	b.ops->mr_deregister(b.dev, &mr);
	close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(options__out_of_their_ranges_are_refused),
		TEST(full_ring__room_for_what_waits_is_counted),
		TEST(full_ring__inline_data_is_kept),
		TEST(full_ring__all_places_are_counted),
		TEST(full_ring__order_is_kept),
		TEST(full_ring__key_of_a_window_is_known_at_the_post),
		TEST(full_ring__the_end_flushes_what_waits),
		TEST(established__no_message_comes_before_it),
		TEST(disconnected__messages_before_it_are_delivered),
		TEST(disconnected__does_not_wait_for_receives),
		TEST(cold__is_noticed_when_a_message_comes),
		TEST(cold__waits_for_a_share_of_a_flood_each),
		TEST(cold__is_noticed_when_it_ends),
		TEST(cold__rnr_breaks_it),
		TEST(rnr__is_over_when_the_message_is_taken),
		TEST(max_msg__is_what_the_ring_holds),
		TEST(want__waits_for_a_slow_peer),
		TEST(region__for_reading_is_mapped_so),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
