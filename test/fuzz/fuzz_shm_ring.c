/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the ring of the driver shm. Each side runs against another side that writes
 * anything to the shared memory.
 *
 * An input is a list of steps. A step is a byte, followed by its data. The steps:
 * - put and receive messages correctly
 * - as the hostile side, store bytes, headers with the correct number, and positions of the reader.
 *   They can be stored between the moment when the reader finds a header and the moment when it
 *   reads the message.
 *
 * While nothing invalid has been stored, messages arrive in order with all bytes correct. An empty
 * ring accepts any message, and a full ring accepts none. At all times:
 * - Neither side accesses memory outside of the ring or after the buffer of the receiver.
 * - The private state of both sides is valid.
 * - An invalid header or position is refused.
 */
#include "fuzz.h"
#include "ring.h"

#define SIZE  4096u
#define QUEUE (SIZE / RING_CELL)
/* bound for the bytes by which a receiver's buffer is longer than the message */
#define MARGIN	128u
#define KEY	0x5eed5eedu
#define SGE_MAX 4u

enum { PUT_ONE, PUT, TAKE, TAKE_SCRIBBLED, SCRIBBLE, HEADER, MARK, NSTEPS };

struct message {
	uint32_t len;
	uint8_t first; /* value of the first byte; the value of each further byte is one more */
	bool has_key;
};

struct run {
	uint8_t *memory;
	struct ring_writer writer;
	struct ring_reader reader;
	uint32_t max_msg;
	struct message queue[QUEUE]; /* messages that were put and not yet received */
	uint32_t nqueued;
	uint8_t next_first;
	/*
	 * Something invalid was stored, so that received messages can differ from those that were
	 * put.
	 */
	bool is_tainted;
	bool is_over; /* one side has detected that the other is invalid */
};

static void fill(uint8_t *bytes, uint32_t len, uint8_t first)
{
	for (uint32_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(first + i);
}

/* ---- the writer ---- */

/* Returns true if the reader's position in shared memory is not valid for the writer. */
static bool is_mark_bad(const struct run *run)
{
	uint64_t mark = atomic_load(&ring_shared_of(&run->writer.cells)->head);

	return mark < ring_writer_head(&run->writer) || mark > ring_tail(&run->writer) ||
	       mark % RING_CELL != 0;
}

static int put_gathered(struct run *run, const struct message *msg, const uint8_t *data,
			struct fuzz_in *in)
{
	struct fabric_sge sges[SGE_MAX];
	uint32_t nsges = fuzz_u8(in) % SGE_MAX + 1, at = 0;

	for (uint32_t i = 0; i < nsges; i++) {
		uint32_t len = i + 1 == nsges ? msg->len - at : fuzz_u16(in) % (msg->len - at + 1);

		sges[i] = (struct fabric_sge){(void *)(uintptr_t)(data + at), len, 0};
		at += len;
	}
	return ring_put(&run->writer, sges, nsges, msg->len, msg->has_key ? KEY : 0);
}

static void step_put(struct run *run, bool is_gathered, struct fuzz_in *in)
{
	struct message msg = {.len = fuzz_u16(in) % (run->max_msg + 1), .first = run->next_first++};
	uint8_t *data = fuzz_copy(NULL, msg.len);
	uint64_t tail = ring_tail(&run->writer), used;
	uint32_t need;
	bool is_bad = is_mark_bad(run);
	int rc;

	fill(data, msg.len, msg.first);
	msg.has_key = is_gathered && (fuzz_u8(in) & 1);
	need = ring_cells_bytes(msg.len) + (msg.has_key ? RING_CELL : 0);
	rc = is_gathered ? put_gathered(run, &msg, data, in)
			 : ring_put_one(&run->writer, data, msg.len);
	used = ring_tail(&run->writer) - ring_writer_head(&run->writer);
	free(data);
	REQUIRE(rc == 1 || ring_tail(&run->writer) == tail);
	REQUIRE(rc != 1 || ring_tail(&run->writer) == tail + need);
	REQUIRE(used <= SIZE);
	REQUIRE(rc != -1 || is_bad);
	REQUIRE(rc != 0 || (!is_bad && SIZE - used < need));
	if (rc == 1 && run->nqueued < QUEUE)
		run->queue[run->nqueued++] = msg;
	else
		REQUIRE(run->is_tainted || rc == 0);
	REQUIRE(rc == 1 || run->is_tainted || run->nqueued > 0);
	run->is_over = rc == -1;
}

/* ---- the reader ---- */

static void check_reader(const struct run *run, uint64_t head_before)
{
	const struct ring_reader *r = &run->reader;

	REQUIRE(r->head % RING_CELL == 0 && r->head >= head_before);
	REQUIRE(r->head - head_before <=
		/* so far away that the next header is none of those that were just read */
		SIZE / 2);
	REQUIRE(r->publish_at > r->head && r->publish_at - r->head <= SIZE / 4);
	REQUIRE(r->cells.base == run->memory + sizeof(struct ring_shared) &&
		ring_size(&r->cells) == SIZE);
}

static void expect_message(struct run *run, const uint8_t *got, uint32_t len, uint32_t key)
{
	const struct message *msg = &run->queue[0];
	uint8_t *want;

	REQUIRE(run->nqueued > 0 && len == msg->len);
	want = fuzz_copy(NULL, len);
	fill(want, len, msg->first);
	REQUIRE(len == 0 || memcmp(got, want, len) == 0);
	REQUIRE(key == (msg->has_key ? KEY : 0));
	free(want);
	memmove(&run->queue[0], &run->queue[1], --run->nqueued * sizeof(run->queue[0]));
}

static void scribble(struct run *run, struct fuzz_in *in)
{
	size_t at = fuzz_u16(in) % ring_footprint(SIZE), len = fuzz_u8(in) % RING_CELL + 1;

	for (size_t i = 0; i < len; i++)
		run->memory[(at + i) % ring_footprint(SIZE)] = fuzz_u8(in);
	run->is_tainted = true;
}

static void step_take(struct run *run, bool is_scribbled, struct fuzz_in *in)
{
	uint32_t word = ring_peek(&run->reader), size, key;
	uint64_t head = run->reader.head;
	uint8_t *buffer;
	int64_t len;

	REQUIRE(run->is_tainted || (word != 0) == (run->nqueued > 0));
	if (word == 0)
		return;
	len = ring_msg_len(&run->reader, word);
	if (len < 0) {
		REQUIRE(run->is_tainted);
		run->is_over = true;
		return;
	}
	REQUIRE((uint64_t)len <= run->max_msg);
	if (is_scribbled)
		scribble(run, in);
	size = (uint32_t)len + fuzz_u8(in) % MARGIN;
	buffer = fuzz_copy(NULL, size);
	key = ring_take(&run->reader, word, buffer, size, (uint32_t)len);
	check_reader(run, head);
	REQUIRE(run->reader.head - head ==
		ring_cells_bytes((uint32_t)len) + (word & RING_INV ? RING_CELL : 0));
	if (!run->is_tainted)
		expect_message(run, buffer, (uint32_t)len, key);
	free(buffer);
}

/* ---- one input ---- */

/* Stores a header in the cell for which the reader waits. */
static void step_header(struct run *run, struct fuzz_in *in)
{
	uint32_t word = fuzz_u32(in);

	atomic_store(ring_header_at(&run->reader.cells, run->reader.head),
		     ring_number(run->reader.head) | word);
	run->is_tainted = true;
	if (word & ~(RING_VALID | RING_INV | RING_LEN_MASK) || !(word & RING_VALID) ||
	    (word & RING_LEN_MASK) > run->max_msg)
		REQUIRE(ring_msg_len(&run->reader, word) == -1);
	else
		REQUIRE(ring_msg_len(&run->reader, word) == (word & RING_LEN_MASK));
}

/* Stores a position of the reader that is near a valid one, or any value. */
static void step_mark(struct run *run, struct fuzz_in *in)
{
	bool is_near = (fuzz_u8(in) & 1) == 0;
	uint64_t mark = is_near ? ring_writer_head(&run->writer) + fuzz_u16(in) : fuzz_u64(in);

	atomic_store(&ring_shared_of(&run->writer.cells)->head, mark);
	run->is_tainted = true;
}

static void step(struct run *run, struct fuzz_in *in)
{
	uint8_t kind = fuzz_u8(in) % NSTEPS;

	switch (kind) {
	case PUT_ONE:
	case PUT:
		step_put(run, kind == PUT, in);
		break;
	case TAKE:
	case TAKE_SCRIBBLED:
		step_take(run, kind == TAKE_SCRIBBLED, in);
		break;
	case SCRIBBLE:
		scribble(run, in);
		break;
	case HEADER:
		step_header(run, in);
		break;
	default:
		step_mark(run, in);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run run;
	struct fuzz_in in = {data, size};

	if (size > 4096)
		return 0;
	memset(&run, 0, sizeof(run));
	run.memory = aligned_alloc(RING_CELL, ring_footprint(SIZE));
	REQUIRE(run.memory != NULL);
	memset(run.memory, 0, ring_footprint(SIZE));
	run.max_msg = ring_msg_max(SIZE) - fuzz_u8(&in);
	ring_writer_init(&run.writer, run.memory, SIZE);
	ring_reader_init(&run.reader, run.memory, SIZE, run.max_msg);
	while (in.left > 0 && !run.is_over)
		step(&run, &in);
	free(run.memory);
	return 0;
}
