/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of a server with few send buffers. A peer that makes calls and receives no reply holds its
 * share of these buffers (doc/limits.rst). Meanwhile calls of another peer are carried out and
 * answered, once each. When the first peer receives its replies, none of them has been refused or
 * lost.
 */
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"
#include "nfs3_xdr.h"
#include "shm_ends.h"

/*
 * SENDS is the number of send buffers of the server, the minimum of a profile. READS is the number
 * of calls of the peer that receives no reply. Some of its replies fit into its ring, and stay
 * there unread while their Sends have completed. A reply returns a chunk of SEGS segments, so that
 * the reply is long, and it holds its buffer until its Send has completed. CALLS is the number of
 * calls of the other peer.
 */
#define SENDS	   16u
#define READS	   (SENDS + 48u) /* equal to the number of credits */
#define SEGS	   28u
#define READ_BYTES (4u * SEGS)
#define UNREAD	   40u /* number of replies that fill the peer's ring */
#define LONG_BYTES                                                                                 \
	(1u << 20) /* READS of so much hold all memory of a "dir" export, if they may              \
		    */
#define LONG_READS	16u
#define SERVER_READS_US 100000u
#define CALLS		60u
/* an end's memory has the calls first, then the receives, then the data */
#define CALL_MAX 1024u
#define RECV_AT	 65536u
#define RECV_MAX 4096u
#define DATA_AT	 524288u
#define HEAD_MIN 28u /* bytes of an RPC-over-RDMA header without chunks */
/* bytes of a header with a Write chunk of SEGS segments */
#define HEAD_CHUNK (36u + 16u * SEGS)

static struct end hog, other;

static const char *profile(const char *memory, const char *limits)
{
	static char path[80];
	FILE *file;

	snprintf(path, sizeof(path), "%s/few.ini", client_dir);
	file = fopen(path, "w");
	assert_non_null(file);
	/*
	 * The ends send all calls at once. Therefore a connection must have its own credits from
	 * the start, and does not share receives.
	 */
	fprintf(file, "[memory]\n%s\n[limits]\n%s\n[connection]\nshared_receives = off\n", memory,
		limits);
	if (client_has_two)
		fputs("[engine]\nlcores = 0,1\nidle = yield\n", file);
	fclose(file);
	return path;
}

static void open_end(struct end *end, const char *options)
{
	end_open(end, options, 4);
	end->qp = end_connect(end, c->addr, end);
	end_event(end, NULL, FABRIC_CM_ESTABLISHED);
}

static int setup_by(const char *memory, const char *limits)
{
	char export[128];
	const char *args[] = {"--export", export,      "--state",
			      client_dir, "--profile", profile(memory, limits),
			      NULL};

	client_export(export, sizeof(export));
	start(args);
	open_end(&hog, "ring_kib=4");
	open_end(&other, "ring_kib=8");
	return 0;
}

static int setup_few(void **state)
{
	char sends[32];

	(void)state;
	snprintf(sends, sizeof(sends), "send_buffers = %u", SENDS);
	return setup_by(sends, "");
}

/* Allows the stalled peer to keep its connection for longer than the test runs. */
static int setup_patient(void **state)
{
	(void)state;
	return setup_by("", "send_timeout_ms = 30000");
}

static int teardown_ends(void **state)
{
	end_close(&hog);
	end_close(&other);
	return teardown(state);
}

/* Encodes the RPC header of call i. */
static void call_begin(struct weir_xdr_out *out, uint32_t i, uint32_t proc)
{
	static const char name[252];
	const uint32_t rpc[] = {i, 0, 2, NFS3_PROGRAM, NFS3_V3, proc, 1, 20 + sizeof(name), 7};

	weir_xdr_put_u32(out, 0); /* no Reply chunk */
	for (uint32_t n = 0; n < sizeof(rpc) / sizeof(rpc[0]); n++)
		weir_xdr_put_u32(out, rpc[n]);
	/* The name is so long that only few calls fit into the ring. */
	weir_xdr_put_opaque(out, name, sizeof(name));
	for (uint32_t n = 0; n < 5; n++) /* uid, gid, no other groups; AUTH_NONE */
		weir_xdr_put_u32(out, n < 2 ? 1000 : 0);
}

/*
 * Encodes the start of an RPC-over-RDMA header: version 1, 64 credits, RDMA_MSG, an empty Read
 * list.
 */
static void head_begin(struct end *end, struct weir_xdr_out *out, uint32_t i)
{
	const uint32_t words[] = {i, 1, 64, 0, 0};

	weir_xdr_out_init(out, end->mem + i * CALL_MAX, CALL_MAX);
	for (uint32_t n = 0; n < sizeof(words) / sizeof(words[0]); n++)
		weir_xdr_put_u32(out, words[n]);
}

static void call_end(struct end *end, const struct weir_xdr_out *out, uint32_t i)
{
	assert_false(out->failed);
	end_post(end, (struct fabric_wr){.op = FABRIC_SEND, .flags = FABRIC_SIGNALED},
		 end_sge(end, i * CALL_MAX, (uint32_t)weir_xdr_out_len(out)));
}

/*
 * Sends a READ call of 'bytes' bytes. If there are more than READ_BYTES, the segments overlap in
 * the peer's memory.
 */
static void send_read(uint32_t i, const struct nfs3_fh *fh, uint32_t bytes)
{
	const struct nfs3_read_args args = {.fh = *fh, .count = bytes};
	uint32_t segment = (bytes + SEGS - 1) / SEGS;
	struct weir_xdr_out out;

	head_begin(&hog, &out, i);
	weir_xdr_put_u32(&out, 1);
	weir_xdr_put_u32(&out, SEGS);
	for (uint32_t n = 0; n < SEGS; n++) {
		weir_xdr_put_u32(&out, hog.mr.rkey);
		weir_xdr_put_u32(&out, segment);
		weir_xdr_put_u64(&out,
				 hog.mr.raddr + DATA_AT + (bytes == READ_BYTES ? n * segment : 0));
	}
	weir_xdr_put_u32(&out, 0);
	call_begin(&out, i, NFS3_READ);
	nfs3_read_args_put(&out, &args);
	call_end(&hog, &out, i);
}

/*
 * Sends a CREATE call for a name that must not exist. If the server carried it out twice, the
 * second time would fail.
 */
static void send_create(uint32_t i)
{
	const struct nfs3_sattr attr = {.set_mode = true, .mode = 0600};
	struct nfs3_dirop dirop = {.dir = root};
	struct weir_xdr_out out;
	char name[8];

	snprintf(name, sizeof(name), "n%u", i);
	client_name(&dirop.name, name);
	head_begin(&other, &out, i);
	weir_xdr_put_u32(&out, 0); /* no Write list */
	call_begin(&out, i, NFS3_CREATE);
	nfs3_dirop_put(&out, &dirop);
	weir_xdr_put_u32(&out, NFS3_GUARDED);
	nfs3_sattr_put(&out, &attr);
	call_end(&other, &out, i);
}

static void post_recvs(struct end *end, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		end_recv(end, end->qp, i, RECV_AT + i * RECV_MAX, RECV_MAX);
}

static uint32_t completed(const struct end *end, enum fabric_op op)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < end->nwcs; i++) {
		assert_int_equal(end->wcs[i].status, FABRIC_OK);
		n += end->wcs[i].op == op;
	}
	return n;
}

/*
 * Checks that each of n calls has exactly one reply, with NFS3_OK. The RPC reply follows a header
 * of 'head' bytes.
 */
static void expect_replies(struct end *end, uint32_t n, uint32_t head)
{
	bool came[64] = {false};

	END_WAIT(end, NULL, completed(end, FABRIC_RECV) == n || end->nevents > 0);
	assert_int_equal(end->nevents, 0); /* the connection is open */
	for (uint32_t i = 0; i < end->nwcs; i++) {
		const uint8_t *reply = end->mem + RECV_AT + end->wcs[i].wr_id * RECV_MAX;
		uint32_t words[7] = {0};
		struct weir_xdr_in in;

		if (end->wcs[i].op != FABRIC_RECV)
			continue;
		assert_true(end->wcs[i].byte_len > head + sizeof(words));
		weir_xdr_in_init(&in, reply + head, end->wcs[i].byte_len - head);
		for (uint32_t w = 0; w < 7;
		     w++) /* XID, REPLY, accepted, no verifier, SUCCESS; then NFS3_OK */
			assert_int_equal(weir_xdr_get_u32(&in, &words[w]), 0);
		assert_true(words[0] < n && !came[words[0]]);
		came[words[0]] = true;
		assert_int_equal(words[1], 1);
		for (uint32_t w = 2; w < 7; w++)
			assert_int_equal(words[w], 0);
	}
}

static void exhausted__replies_wait_and_none_is_lost(void **state)
{
	struct nfs3_fh file;

	(void)state;
	assert_int_equal(client_create(c, &root, "data", &file), NFS3_OK);
	memset(c->mem, 0x5a, READ_BYTES);
	assert_int_equal(client_write(c, &file, 0, READ_BYTES, NFS3_FILE_SYNC), NFS3_OK);
	for (uint32_t i = 0; i < READS; i++)
		send_read(i, &file, READ_BYTES);
	/*
	 * The server must still read the calls that did not fit into a ring. No event shows when it
	 * has read them, so that the test waits.
	 */
	END_WAIT(&hog, NULL, completed(&hog, FABRIC_SEND) == READS || hog.nevents > 0);
	usleep(SERVER_READS_US);
	post_recvs(&other, CALLS);
	for (uint32_t i = 0; i < CALLS; i++)
		send_create(i);
	END_WAIT(&other, NULL, completed(&other, FABRIC_SEND) == CALLS || other.nevents > 0);
	assert_int_equal(other.nevents, 0);
	/* succeeds while the first peer receives no reply */
	expect_replies(&other, CALLS, HEAD_MIN);
	assert_int_equal(client_getattr(c, &file, NULL), NFS3_OK);
	post_recvs(&hog, READS);
	expect_replies(&hog, READS, HEAD_CHUNK);
	assert_memory_equal(hog.mem + DATA_AT, c->mem, READ_BYTES);
	assert_int_equal(client_getattr(c, &file, NULL), NFS3_OK);
}

/*
 * Checks that replies which the peer does not receive hold only a part of the export's memory for
 * data that were read.
 */
static void stall__reads_leave_memory_for_others(void **state)
{
	struct nfs3_fh file;

	(void)state;
	assert_int_equal(client_create(c, &root, "data", &file), NFS3_OK);
	memset(c->mem, 0x5a, LONG_BYTES);
	assert_int_equal(client_write(c, &file, 0, LONG_BYTES, NFS3_FILE_SYNC), NFS3_OK);
	for (uint32_t i = 0; i < UNREAD; i++)
		send_read(i, &file, READ_BYTES);
	END_WAIT(&hog, NULL, completed(&hog, FABRIC_SEND) == UNREAD || hog.nevents > 0);
	usleep(SERVER_READS_US);
	for (uint32_t i = 0; i < READS; i++)
		send_read(i, &file, LONG_BYTES);
	END_WAIT(&hog, NULL, completed(&hog, FABRIC_SEND) == UNREAD + READS || hog.nevents > 0);
	usleep(SERVER_READS_US);
	for (uint32_t i = 0; i < LONG_READS; i++) {
		memset(c->mem + CLIENT_MEM / 2, 0, LONG_BYTES);
		assert_int_equal(client_read(c, &file, 0, LONG_BYTES), NFS3_OK);
		assert_int_equal(c->data_bytes, LONG_BYTES);
		assert_memory_equal(c->mem, c->mem + CLIENT_MEM / 2, LONG_BYTES);
	}
	end_poll(&hog);
	/* The connection of the stalled peer is open, so that no call has waited for its end. */
	assert_int_equal(hog.nevents, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(exhausted__replies_wait_and_none_is_lost, setup_few,
						teardown_ends),
		cmocka_unit_test_setup_teardown(stall__reads_leave_memory_for_others, setup_patient,
						teardown_ends),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
