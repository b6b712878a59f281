/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of retransmitted calls (RFC 1813 section 4.7). A raw peer sends the bytes of a call again,
 * as a client does that has not received the reply. Each procedure that is not idempotent must be
 * carried out once, and answered twice.
 */
#include "fixture.h"
#include "nfs3_xdr.h"
#include "shm_ends.h"

#define RECVS	 8u
#define RECV_AT	 8192u /* offset in the end's memory; calls are at the start of that memory */
#define MSG_MAX	 4096u
#define HEAD_MIN 28u /* bytes of an RPC-over-RDMA header without chunks */

static struct end raw;
static uint8_t call[MSG_MAX], reply[MSG_MAX];
static uint32_t call_bytes, reply_bytes;

static void raw_open(struct end *end)
{
	end_open(end, NULL, 4);
	end->qp = end_connect(end, c->addr, end);
	for (uint32_t i = 0; i < RECVS; i++)
		end_recv(end, end->qp, i, RECV_AT + i * MSG_MAX, MSG_MAX);
	end_event(end, NULL, FABRIC_CM_ESTABLISHED);
}

static int setup_raw(void **state)
{
	setup(state);
	raw_open(&raw);
	return 0;
}

static int teardown_raw(void **state)
{
	end_close(&raw);
	return teardown(state);
}

/* Encodes the message of a call by 'uid' to 'call', up to its arguments. */
static void call_begin(struct weir_xdr_out *out, uint32_t xid, uint32_t proc, uint32_t uid)
{
	const uint32_t words[] = {
		/* RPC-over-RDMA: version 1, 4 credits, RDMA_MSG, no chunks. */
		xid, 1, 4, 0, 0, 0, 0,
		/* ONC RPC: a call. */
		xid, 0, 2, NFS3_PROGRAM, NFS3_V3, proc,
		/* AUTH_SYS: stamp, no name, uid, gid, no other groups; AUTH_NONE. */
		1, 20, 7, 0, uid, uid, 0, 0, 0};

	weir_xdr_out_init(out, call, sizeof(call));
	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		weir_xdr_put_u32(out, words[i]);
}

static void call_end(const struct weir_xdr_out *out)
{
	assert_false(out->failed);
	call_bytes = (uint32_t)weir_xdr_out_len(out);
}

static void post_call(struct end *end)
{
	memcpy(end->mem, call, call_bytes);
	end_post(end, (struct fabric_wr){.op = FABRIC_SEND, .flags = FABRIC_SIGNALED},
		 end_sge(end, 0, call_bytes));
}

static void send_call(struct end *end)
{
	post_call(end);
	end_wc(end, NULL, FABRIC_SEND, FABRIC_OK);
}

/* Sends the call twice, without a pause in which the server could answer it. Waits for both
 * replies. They can arrive before the completions of the sends, which this function takes. */
static void send_call_twice(struct end *end)
{
	struct fabric_wc replies[2];
	uint32_t n = 0;

	post_call(end);
	post_call(end);
	END_WAIT(end, NULL, end->nwcs == 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(end->wcs[i].status, FABRIC_OK);
		if (end->wcs[i].op != FABRIC_RECV)
			continue;
		assert_in_range(n, 0, 1);
		replies[n++] = end->wcs[i];
	}
	memcpy(end->wcs, replies, sizeof(replies));
	end->nwcs = n;
}

/* Waits for the next reply, copies it to 'reply', and returns its NFS status. */
static enum nfs3_status take_reply(struct end *end)
{
	struct fabric_wc wc = end_wc(end, NULL, FABRIC_RECV, FABRIC_OK);
	uint32_t at = RECV_AT + (uint32_t)wc.wr_id * MSG_MAX;
	struct weir_xdr_in in;
	uint32_t words[6], status = 0;

	reply_bytes = wc.byte_len;
	memcpy(reply, end->mem + at, reply_bytes);
	end_recv(end, end->qp, wc.wr_id, at, MSG_MAX);
	assert_true(reply_bytes >= HEAD_MIN);
	weir_xdr_in_init(&in, reply + HEAD_MIN, reply_bytes - HEAD_MIN);
	for (uint32_t i = 0; i < 6; i++) /* XID, REPLY, accepted, verifier, SUCCESS */
		assert_int_equal(weir_xdr_get_u32(&in, &words[i]), 0);
	assert_memory_equal(reply, call, 4);
	assert_memory_equal(reply + HEAD_MIN, call, 4);
	assert_int_equal(words[1], 1);
	assert_true(words[2] == 0 && words[3] == 0 && words[4] == 0 && words[5] == 0);
	assert_int_equal(weir_xdr_get_u32(&in, &status), 0);
	return (enum nfs3_status)status;
}

static enum nfs3_status sent(struct end *end)
{
	send_call(end);
	return take_reply(end);
}

/* Sends the same bytes again on the connection of 'end', and expects the same RPC reply. */
static void expect_again(struct end *end)
{
	uint8_t first[MSG_MAX];
	uint32_t bytes = reply_bytes;

	memcpy(first, reply, bytes);
	sent(end);
	assert_int_equal(reply_bytes, bytes);
	assert_memory_equal(reply + HEAD_MIN, first + HEAD_MIN, bytes - HEAD_MIN);
}

static void make_dirop(uint32_t xid, uint32_t proc, uint32_t uid, const char *name)
{
	struct nfs3_dirop dirop = {.dir = root};
	struct weir_xdr_out out;

	client_name(&dirop.name, name);
	call_begin(&out, xid, proc, uid);
	nfs3_dirop_put(&out, &dirop);
	if (proc == NFS3_MKDIR || proc == NFS3_SYMLINK || proc == NFS3_CREATE ||
	    proc == NFS3_MKNOD) {
		struct nfs3_sattr attr = {.set_mode = true, .mode = 0700};

		if (proc == NFS3_CREATE)
			weir_xdr_put_u32(&out, NFS3_GUARDED);
		else if (proc == NFS3_MKNOD)
			weir_xdr_put_u32(&out, NFS3_FIFO);
		nfs3_sattr_put(&out, &attr);
		if (proc == NFS3_SYMLINK)
			weir_xdr_put_opaque(&out, "target", 6);
	}
	call_end(&out);
}

static void again__what_is_made_is_made_once(void **state)
{
	static const uint32_t procs[] = {NFS3_CREATE, NFS3_MKDIR, NFS3_SYMLINK, NFS3_MKNOD};

	(void)state;
	for (uint32_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		char name[8] = "m0";

		name[1] = (char)('0' + i);
		make_dirop(100 + i, procs[i], 1000, name);
		assert_int_equal(sent(&raw), NFS3_OK);
		expect_again(&raw);
		expect_again(&raw);
		/*
		 * A call with another XID is a new call. Its answer is that of a second execution.
		 */
		make_dirop(200 + i, procs[i], 1000, name);
		assert_int_equal(sent(&raw), NFS3ERR_EXIST);
		expect_again(&raw);
	}
}

static void again__what_is_removed_is_removed_once(void **state)
{
	(void)state;
	assert_int_equal(client_create(c, &root, "f", NULL), NFS3_OK);
	make_dirop(1, NFS3_REMOVE, 1000, "f");
	assert_int_equal(sent(&raw), NFS3_OK);
	/* Another client has created a file of that name meanwhile, which must not be removed. */
	assert_int_equal(client_create(c, &root, "f", NULL), NFS3_OK);
	expect_again(&raw);
	assert_int_equal(client_lookup(c, &root, "f", NULL), NFS3_OK);
	make_dirop(2, NFS3_REMOVE, 1000, "f");
	assert_int_equal(sent(&raw), NFS3_OK);
	assert_int_equal(client_lookup(c, &root, "f", NULL), NFS3ERR_NOENT);
	assert_int_equal(client_mkdir(c, &root, "d", NULL), NFS3_OK);
	make_dirop(3, NFS3_RMDIR, 1000, "d");
	assert_int_equal(sent(&raw), NFS3_OK);
	assert_int_equal(client_mkdir(c, &root, "d", NULL), NFS3_OK);
	expect_again(&raw);
	assert_int_equal(client_lookup(c, &root, "d", NULL), NFS3_OK);
}

static void again__rename_link_and_setattr(void **state)
{
	struct nfs3_rename_args rename = {.from.dir = root, .to.dir = root};
	struct nfs3_setattr_args setattr = {.attr = {.set_size = true}};
	struct nfs3_link_args link = {.link.dir = root};
	struct weir_xdr_out out;
	struct nfs3_fh file;

	(void)state;
	assert_int_equal(client_create(c, &root, "from", &file), NFS3_OK);
	client_name(&rename.from.name, "from");
	client_name(&rename.to.name, "to");
	call_begin(&out, 1, NFS3_RENAME, 1000);
	nfs3_rename_args_put(&out, &rename);
	call_end(&out);
	assert_int_equal(sent(&raw), NFS3_OK);
	expect_again(&raw);
	link.fh = file;
	client_name(&link.link.name, "hard");
	call_begin(&out, 2, NFS3_LINK, 1000);
	nfs3_link_args_put(&out, &link);
	call_end(&out);
	assert_int_equal(sent(&raw), NFS3_OK);
	expect_again(&raw);
	assert_int_equal(client_getattr(c, &file, NULL), NFS3_OK);
	assert_int_equal(c->res.getattr.attr.nlink, 2);
	/*
	 * A truncation that arrives again must not remove data that were written since the first
	 * time.
	 */
	setattr.fh = file;
	call_begin(&out, 3, NFS3_SETATTR, 1000);
	nfs3_setattr_args_put(&out, &setattr);
	call_end(&out);
	assert_int_equal(sent(&raw), NFS3_OK);
	assert_int_equal(client_write(c, &file, 0, 100, NFS3_FILE_SYNC), NFS3_OK);
	expect_again(&raw);
	assert_int_equal(client_getattr(c, &file, NULL), NFS3_OK);
	assert_int_equal(c->res.getattr.attr.size, 100);
}

static void again__on_another_connection(void **state)
{
	static struct end other;

	(void)state;
	assert_int_equal(client_create(c, &root, "f", NULL), NFS3_OK);
	make_dirop(1, NFS3_REMOVE, 1000, "f");
	assert_int_equal(sent(&raw), NFS3_OK);
	end_close(&raw);
	raw_open(&other);
	expect_again(&other);
	end_close(&other);
}

/*
 * Checks calls with the same XID that differ in the caller or in the arguments. They are different
 * calls.
 */
static void again__only_what_is_the_same(void **state)
{
	(void)state;
	make_dirop(1, NFS3_MKDIR, 1000, "a");
	assert_int_equal(sent(&raw), NFS3_OK);
	make_dirop(1, NFS3_MKDIR, 1000, "b");
	assert_int_equal(sent(&raw), NFS3_OK);
	make_dirop(1, NFS3_MKDIR, 1001, "a");
	assert_int_equal(sent(&raw), NFS3ERR_EXIST);
	make_dirop(1, NFS3_CREATE, 1000, "a");
	assert_int_equal(sent(&raw), NFS3ERR_EXIST);
	make_dirop(1, NFS3_MKDIR, 1000, "a");
	assert_int_equal(sent(&raw), NFS3_OK);
}

/*
 * Checks a call that arrives twice before the first is answered. The second can be answered with
 * JUKEBOX, and is not carried out.
 */
static void again__before_the_first_is_answered(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 50; round++) {
		enum nfs3_status status[2];

		assert_int_equal(client_create(c, &root, "f", NULL), NFS3_OK);
		make_dirop(1000 + round, NFS3_REMOVE, 1000, "f");
		send_call_twice(&raw);
		status[0] = take_reply(&raw);
		status[1] = take_reply(&raw);
		assert_true(status[0] == NFS3_OK || status[1] == NFS3_OK);
		for (uint32_t i = 0; i < 2; i++)
			assert_true(status[i] == NFS3_OK || status[i] == NFS3ERR_JUKEBOX);
		assert_int_equal(sent(&raw), NFS3_OK);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(again__what_is_made_is_made_once, setup_raw,
						teardown_raw),
		cmocka_unit_test_setup_teardown(again__what_is_removed_is_removed_once, setup_raw,
						teardown_raw),
		cmocka_unit_test_setup_teardown(again__rename_link_and_setattr, setup_raw,
						teardown_raw),
		cmocka_unit_test_setup_teardown(again__on_another_connection, setup_raw,
						teardown_raw),
		cmocka_unit_test_setup_teardown(again__only_what_is_the_same, setup_raw,
						teardown_raw),
		cmocka_unit_test_setup_teardown(again__before_the_first_is_answered, setup_raw,
						teardown_raw),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
