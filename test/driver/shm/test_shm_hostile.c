/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of connected peers over shm that write invalid content to all memory that they can write:
 * the rings, and the key table that the other side reads. Such a peer ends its own connection, and
 * has no other effect.
 */
#include "shm_raw.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "eal.h"
#include "shm_qp.h"

static struct end a, b;
static struct raw raw;

static int setup(void **state)
{
	(void)state;
	end_open(&a, "", 16);
	end_open(&b, "", 16);
	raw_init(&raw);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	raw_fini(&raw);
	end_close(&a);
	end_close(&b);
	return 0;
}

/*
 * Checks that the driver under test ended the raw peer's connection with a completion of 'op' with
 * 'status', and that its other connections still work.
 */
static void expect_broken(enum fabric_op op, enum fabric_status status)
{
	struct fabric_qp *broken = b.qp;
	struct fabric_listener *listener = b.listener;

	end_wc(&b, NULL, op, status);
	assert_false(raw_recv(&raw, &b));
	b.ops->qp_destroy(broken);
	b.ops->unlisten(listener);
	b.nwcs = b.nevents = 0;
	b.qp = NULL;
	end_pair(&a, &b);
	end_works(&a, &b);
}

static void write_header(uint32_t word)
{
	atomic_store(ring_header_at(&raw.tx.cells, ring_tail(&raw.tx)),
		     ring_number(ring_tail(&raw.tx)) | word);
}

static void ring__a_good_message_is_received(void **state)
{
	struct fabric_sge sge = {raw.region, 300, 0};

	(void)state;
	memset(raw.region, 0x42, 300);
	raw_pair(&raw, &b);
	end_recv(&b, b.qp, 1, 0, 4096);
	assert_int_equal(ring_put(&raw.tx, &sge, 1, 300, 0), 1);
	assert_int_equal(end_wc(&b, NULL, FABRIC_RECV, FABRIC_OK).byte_len, 300);
	assert_memory_equal(b.mem, raw.region, 300);
}

static void ring__a_header_of_no_message(void **state)
{
	(void)state;
	raw_pair(&raw, &b);
	end_recv(&b, b.qp, 1, 0, 4096);
	write_header(RING_INV | 16);
	expect_broken(FABRIC_RECV, FABRIC_ERR_FATAL);
	assert_int_equal(b.dev->stats.protocol_errors, 1);
}

/*
 * Checks a length that the receive could hold, but that would make the driver read past the end of
 * the ring.
 */
static void ring__a_message_longer_than_can_be(void **state)
{
	(void)state;
	raw_pair(&raw, &b);
	end_recv(&b, b.qp, 1, 0, END_MEM_BYTES);
	write_header(RING_VALID | (ring_msg_max(RAW_RING_BYTES) + 1));
	expect_broken(FABRIC_RECV, FABRIC_ERR_FATAL);
	assert_int_equal(b.dev->stats.protocol_errors, 1);
}

static void ring__the_longest_message_of_all(void **state)
{
	(void)state;
	raw_pair(&raw, &b);
	end_recv(&b, b.qp, 1, 0, END_MEM_BYTES);
	write_header(RING_VALID | RING_LEN_MASK);
	expect_broken(FABRIC_RECV, FABRIC_ERR_FATAL);
}

static void ring__a_key_to_invalidate_that_is_none(void **state)
{
	struct fabric_sge sge = {raw.region, 8, 0};

	(void)state;
	raw_pair(&raw, &b);
	end_recv(&b, b.qp, 1, 0, 4096);
	assert_int_equal(ring_put(&raw.tx, &sge, 1, 8, b.mr.rkey), 1);
	expect_broken(FABRIC_RECV, FABRIC_ERR_REMOTE_ACCESS);
}

/*
 * Sets the position up to which the peer claims to have read, and sends until the ring is full.
 * Then the driver reads that position.
 */
static void mark(uint64_t head)
{
	struct fabric_wr wr = {.op = FABRIC_SEND};

	raw_pair(&raw, &b);
	atomic_store(&raw.mark->head, head);
	for (uint32_t i = 0; i < RAW_RING_BYTES / 1024 - 1; i++)
		end_post(&b, wr, end_sge(&b, 0, 1000));
	end_post(&b, wr, end_sge(&b, 0, 1000));
	expect_broken(FABRIC_SEND, FABRIC_ERR_FATAL);
	assert_int_equal(b.dev->stats.protocol_errors, 1);
}

static void mark__ahead_of_what_was_written(void **state)
{
	(void)state;
	mark(RAW_RING_BYTES * 16);
}

static void mark__not_at_a_cell(void **state)
{
	(void)state;
	mark(63);
}

static void mark__as_large_as_can_be(void **state)
{
	(void)state;
	mark(UINT64_MAX);
}

/* Changes all memory that the peer can write, at random, while messages are exchanged. */
static void ring__scribbled_at_random(void **state)
{
	uint32_t nbroken = 0;

	(void)state;
	srandom(1);
	for (uint32_t round = 0; round < 300; round++) {
		raw_pair(&raw, &b);
		for (uint32_t i = 0; i < 8; i++)
			end_recv(&b, b.qp, i, i * 4096, i % 2 ? 4096 : 64);
		for (uint32_t i = 0; i < 40 && b.nevents == 0; i++) {
			raw_scribble(raw.rings, 2 * ring_footprint(RAW_RING_BYTES), 200);
			b.ops->post_send(
				b.qp,
				&(struct fabric_wr){
					.op = FABRIC_SEND,
					.sge = &(struct fabric_sge){b.mem, 1000, b.mr.lkey},
					.nsge = 1},
				1);
			end_poll(&b);
			b.nwcs = 0;
		}
		nbroken += b.dev->stats.protocol_errors > 0;
		b.ops->qp_destroy(b.qp);
		b.ops->unlisten(b.listener);
		b.qp = NULL;
		b.listener = NULL;
		b.nwcs = b.nevents = 0;
		b.dev->stats.protocol_errors = 0;
		raw_fini(&raw);
		raw_init(&raw);
	}
	assert_true(nbroken > 100);
	end_pair(&a, &b);
	end_works(&a, &b);
}

/* A valid entry of the peer's key table, for the whole region of the peer. */
static const struct key_entry good = {.key = 5u << KEY_INDEX_BITS | 9,
				      .access = FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE,
				      .region = RAW_REGION_ID,
				      .raddr = 4096,
				      .len = RAW_REGION_BYTES};

static void access_remote(enum fabric_op op, const struct key_entry *entry, uint64_t raddr,
			  uint32_t len)
{
	struct fabric_wr wr = {.op = op,
			       .flags = FABRIC_SIGNALED,
			       .rkey = 5u << KEY_INDEX_BITS | 9,
			       .raddr = raddr};

	raw_pair(&raw, &b);
	memcpy(&raw.keys[9], entry, sizeof(*entry));
	end_post(&b, wr, end_sge(&b, 0, len));
	raw_give_region(&raw, &b);
}

static void keys__a_good_one_gives_access(void **state)
{
	(void)state;
	memset(raw.region, 0x17, RAW_REGION_BYTES);
	access_remote(FABRIC_READ, &good, 4096, RAW_REGION_BYTES);
	end_wc(&b, NULL, FABRIC_READ, FABRIC_OK);
	assert_memory_equal(b.mem, raw.region, RAW_REGION_BYTES);
}

/*
 * Checks that a work request with an invalid entry fails, and that no memory outside of the peer's
 * file is accessed.
 */
static void expect_refused(const struct key_entry *entry, uint64_t raddr, uint32_t len)
{
	access_remote(FABRIC_WRITE, entry, raddr, len);
	expect_broken(FABRIC_WRITE, FABRIC_ERR_REMOTE_ACCESS);
}

static void keys__longer_than_the_region(void **state)
{
	struct key_entry entry = good;

	(void)state;
	entry.len = RAW_REGION_BYTES + 1;
	expect_refused(&entry, 4096, RAW_REGION_BYTES + 1);
}

static void keys__all_of_memory(void **state)
{
	struct key_entry entry = good;

	(void)state;
	entry.raddr = 0;
	entry.len = UINT64_MAX;
	expect_refused(&entry, UINT64_MAX - 64, 64);
}

static void keys__an_offset_behind_the_region(void **state)
{
	struct key_entry entry = good;

	(void)state;
	entry.offset = RAW_REGION_BYTES;
	expect_refused(&entry, 4096, 1);
}

static void keys__an_offset_that_wraps(void **state)
{
	struct key_entry entry = good;

	(void)state;
	entry.offset = UINT64_MAX - 15;
	expect_refused(&entry, 4096 + 16, 64);
}

static void keys__no_region(void **state)
{
	struct key_entry entry = good;

	(void)state;
	entry.region = 0;
	expect_refused(&entry, 4096, 1);
}

/*
 * Checks that the wait for a region has a limit, which is a time and a number of tries. The test
 * moves the start of the wait back.
 */
static void keys__a_region_that_is_never_announced(void **state)
{
	struct key_entry entry = good;
	struct shm_qp *qp;

	(void)state;
	entry.region = RAW_REGION_ID + 1;
	access_remote(FABRIC_WRITE, &entry, 4096, 1);
	qp = (struct shm_qp *)b.qp;
	END_WAIT(&b, NULL, qp->region_tries >= SHM_REGION_TRIES_MIN);
	end_poll(&b);
	assert_int_equal(b.nwcs + b.nevents, 0);
	qp->region_tries = 0;
	qp->region_since -= SHM_REGION_WAIT_S * rte_get_tsc_hz();
	END_WAIT(&b, NULL, qp->region_tries == SHM_REGION_TRIES_MIN - 1);
	assert_int_equal(b.nwcs + b.nevents, 0);
	expect_broken(FABRIC_WRITE, FABRIC_ERR_REMOTE_ACCESS);
}

static void keys__an_entry_that_is_written_for_ever(void **state)
{
	struct key_entry entry = good;

	(void)state;
	entry.seq = 1;
	expect_refused(&entry, 4096, 1);
}

/*
 * Checks an entry that permits writes to a region that was offered, and therefore mapped,
 * read-only.
 */
static void keys__say_that_a_region_for_reading_may_be_written(void **state)
{
	(void)state;
	raw.hello.region.is_writable = 0;
	expect_refused(&good, 4096, 64);
}

#define KEY (5u << KEY_INDEX_BITS | 9)

static void post_rdma(enum fabric_op op, uint32_t rkey, uint64_t raddr, uint32_t len)
{
	struct fabric_wr wr = {.op = op, .flags = FABRIC_SIGNALED, .rkey = rkey, .raddr = raddr};

	end_post(&b, wr, end_sge(&b, 0, len));
}

/*
 * Checks entries that change after a valid access, which the driver may have stored. The next
 * access is outside of the entry, or the key has changed.
 */
static void keys__that_gave_access_before(void **state)
{
	struct key_entry ended = good, bounded = good, readable = good, written = good;
	const struct {
		const struct key_entry *entry; /* the new entry, or NULL if it stays unchanged */
		uint32_t rkey;
		uint64_t raddr;
		uint32_t len;
	} cases[] = {
		{NULL, KEY, 4095, 1},
		{NULL, KEY, 4096 + RAW_REGION_BYTES, 1},
		{NULL, KEY, 4096 + RAW_REGION_BYTES - 1, 2},
		{NULL, KEY, 4096, RAW_REGION_BYTES + 1},
		{NULL, KEY, UINT64_MAX - 63, 64},
		{NULL, KEY + (1u << KEY_INDEX_BITS), 4096, 1},
		{NULL, KEY + 1, 4096, 1},
		{NULL, 0, 4096, 1},
		{&ended, KEY, 4096, 1},
		{&bounded, KEY, 4096, 65},
		{&readable, KEY, 4096, 1},
		{&written, KEY, 4096, 1},
	};

	(void)state;
	ended.seq = bounded.seq = readable.seq = 2;
	ended.key = 0;
	bounded.len = 64;
	readable.access = FABRIC_REMOTE_READ;
	written.seq = 1;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		access_remote(FABRIC_WRITE, &good, 4096, RAW_REGION_BYTES);
		end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
		if (cases[i].entry)
			memcpy(&raw.keys[9], cases[i].entry, sizeof(good));
		post_rdma(FABRIC_WRITE, cases[i].rkey, cases[i].raddr, cases[i].len);
		expect_broken(FABRIC_WRITE, FABRIC_ERR_REMOTE_ACCESS);
		teardown(NULL);
		setup(NULL);
	}
}

/*
 * Checks a changed entry if the access continues at another address, which the new entry permits.
 */
static void keys__that_were_set_anew(void **state)
{
	struct key_entry moved = good;

	(void)state;
	moved.seq = 2;
	moved.offset = 128;
	moved.len = 64;
	moved.raddr = 1 << 20;
	memset(b.mem, 0x11, RAW_REGION_BYTES);
	access_remote(FABRIC_WRITE, &good, 4096, RAW_REGION_BYTES);
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
	memcpy(&raw.keys[9], &moved, sizeof(moved));
	memset(b.mem, 0x22, 64);
	post_rdma(FABRIC_WRITE, KEY, 1 << 20, 64);
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
	for (uint32_t i = 0; i < RAW_REGION_BYTES; i++)
		assert_int_equal(raw.region[i], i >= 128 && i < 192 ? 0x22 : 0x11);
}

/*
 * Checks a region that can only be read. The driver may have stored its entry, but must not write
 * to the region.
 */
static void keys__of_a_region_for_reading_that_was_read(void **state)
{
	(void)state;
	raw.hello.region.is_writable = 0;
	access_remote(FABRIC_READ, &good, 4096, 64);
	end_wc(&b, NULL, FABRIC_READ, FABRIC_OK);
	post_rdma(FABRIC_WRITE, KEY, 4096, 64);
	expect_broken(FABRIC_WRITE, FABRIC_ERR_REMOTE_ACCESS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ring__a_good_message_is_received),
		TEST(ring__a_header_of_no_message),
		TEST(ring__a_message_longer_than_can_be),
		TEST(ring__the_longest_message_of_all),
		TEST(ring__a_key_to_invalidate_that_is_none),
		TEST(ring__scribbled_at_random),
		TEST(mark__ahead_of_what_was_written),
		TEST(mark__not_at_a_cell),
		TEST(mark__as_large_as_can_be),
		TEST(keys__a_good_one_gives_access),
		TEST(keys__that_gave_access_before),
		TEST(keys__that_were_set_anew),
		TEST(keys__of_a_region_for_reading_that_was_read),
		TEST(keys__longer_than_the_region),
		TEST(keys__all_of_memory),
		TEST(keys__an_offset_behind_the_region),
		TEST(keys__an_offset_that_wraps),
		TEST(keys__no_region),
		TEST(keys__a_region_that_is_never_announced),
		TEST(keys__an_entry_that_is_written_for_ever),
		TEST(keys__say_that_a_region_for_reading_may_be_written),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
