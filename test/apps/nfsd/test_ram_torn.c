/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of WRITEs to the back end 'ram' whose data can be read only in part. Their Read chunk has
 * two segments, and the key of the second is invalid. This ends the connection.
 */
#include "fixture.h"
#include "nfs3_xdr.h"
#include "shm_ends.h"

#define HALF	4096u
#define DATA_AT 524288u /* offset in the end's memory */

static struct end peer;
static struct nfs3_fh file;

static int setup_torn(void **state)
{
	setup(state);
	end_open(&peer, "ring_kib=8", 4);
	peer.qp = end_connect(&peer, c->addr, &peer);
	end_event(&peer, NULL, FABRIC_CM_ESTABLISHED);
	assert_int_equal(client_create(c, &root, "file", &file), NFS3_OK);
	memset(c->mem, 'o', (size_t)2 * HALF);
	assert_int_equal(client_write(c, &file, 0, 2 * HALF, NFS3_UNSTABLE), NFS3_OK);
	return 0;
}

static int teardown_torn(void **state)
{
	end_close(&peer);
	return teardown(state);
}

static struct nfs3_fattr attr_of_file(void)
{
	struct nfs3_fattr attr;

	assert_int_equal(client_getattr(c, &file, &attr), NFS3_OK);
	return attr;
}

static void set_mode(uint32_t mode)
{
	memset(&c->args, 0, sizeof(c->args));
	c->args.setattr.fh = file;
	c->args.setattr.attr.set_mode = true;
	c->args.setattr.attr.mode = mode;
	assert_int_equal(client_call(c, NFS3_SETATTR), NFS3_OK);
	assert_int_equal(attr_of_file().mode, mode);
}

/*
 * Encodes the RPC call of a WRITE to the start of the file by 'uid', up to the data. Returns the
 * number of bytes.
 */
static uint32_t put_call(uint8_t *call, size_t bytes, uint32_t uid)
{
	const struct nfs3_write_head args = {
		.fh = file, .count = 2 * HALF, .stable = NFS3_UNSTABLE};
	const uint32_t words[] = {
		/* A call. */
		7, 0, 2, NFS3_PROGRAM, NFS3_V3, NFS3_WRITE,
		/* AUTH_SYS: stamp, no name, uid, gid, no other groups; AUTH_NONE. */
		1, 20, 7, 0, uid, uid, 0, 0, 0};
	struct weir_xdr_out out;

	weir_xdr_out_init(&out, call, bytes);
	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		weir_xdr_put_u32(&out, words[i]);
	nfs3_write_head_put(&out, &args);
	weir_xdr_put_u32(&out, args.count);
	assert_false(out.failed);
	return (uint32_t)weir_xdr_out_len(&out);
}

static void put_segment(struct weir_xdr_out *out, uint32_t position, uint32_t handle)
{
	const uint32_t words[] = {1, position, handle, HALF};

	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		weir_xdr_put_u32(out, words[i]);
	weir_xdr_put_u64(out, peer.mr.raddr + DATA_AT);
}

static void send_torn(uint32_t uid)
{
	const uint32_t head[] = {7, 1, 4, 0}; /* version 1, 4 credits, RDMA_MSG */
	struct weir_xdr_out out;
	uint8_t call[512];
	uint32_t bytes = put_call(call, sizeof(call), uid);

	memset(peer.mem + DATA_AT, 'w', HALF);
	weir_xdr_out_init(&out, peer.mem, DATA_AT);
	for (uint32_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
		weir_xdr_put_u32(&out, head[i]);
	put_segment(&out, bytes, peer.mr.rkey);
	put_segment(&out, bytes, peer.mr.rkey + 0x1234567u); /* a key that does not exist */
	/* the end of the Read list, no Write list, no Reply chunk */
	for (uint32_t i = 0; i < 3; i++)
		weir_xdr_put_u32(&out, 0);
	weir_xdr_put_opaque_fixed(&out, call, bytes);
	assert_false(out.failed);
	end_post(&peer, (struct fabric_wr){.op = FABRIC_SEND, .flags = FABRIC_SIGNALED},
		 end_sge(&peer, 0, (uint32_t)weir_xdr_out_len(&out)));
	END_WAIT(&peer, NULL, peer.nevents > 0);
}

static void expect_bytes(uint8_t first, uint8_t second)
{
	assert_int_equal(client_read(c, &file, 0, 2 * HALF), NFS3_OK);
	assert_int_equal(c->data_bytes, 2 * HALF);
	assert_int_equal(c->data[0], first);
	assert_int_equal(c->data[HALF - 1], first);
	assert_int_equal(c->data[HALF], second);
}

static bool is_same(const struct nfs3_time *a, const struct nfs3_time *b)
{
	return a->seconds == b->seconds && a->nseconds == b->nseconds;
}

static bool has_changed(const struct nfs3_fattr *before)
{
	const struct nfs3_fattr now = attr_of_file();

	return !is_same(&now.mtime, &before->mtime) && !is_same(&now.ctime, &before->ctime);
}

static void expect_unchanged(const struct nfs3_fattr *before)
{
	const struct nfs3_fattr now = attr_of_file();

	expect_bytes('o', 'o');
	assert_int_equal(now.mode, before->mode);
	assert_true(is_same(&now.mtime, &before->mtime) && is_same(&now.ctime, &before->ctime));
}

static void torn__write_shows_in_the_times(void **state)
{
	struct nfs3_fattr before;

	(void)state;
	set_mode(0777);
	before = attr_of_file();
	send_torn(2000);
	END_WAIT(&peer, NULL, has_changed(&before));
	expect_bytes('w', 'o');
}

static void torn__write_leaves_a_set_user_id_file_alone(void **state)
{
	struct nfs3_fattr before;

	(void)state;
	set_mode(06777);
	before = attr_of_file();
	send_torn(2000);
	expect_unchanged(&before);
}

static void torn__write_by_who_may_not_changes_nothing(void **state)
{
	struct nfs3_fattr before;

	(void)state;
	set_mode(0755);
	before = attr_of_file();
	send_torn(2000);
	expect_unchanged(&before);
}

/*
 * Checks the attributes from before a WRITE in its answer. A client's cache relies on them: see
 * wcc_data in RFC 1813.
 */
static void whole__write_names_the_attributes_of_before(void **state)
{
	static const uint32_t modes[] = {0777, 06777};
	const struct nfs3_wcc *wcc = &c->res.write.wcc;

	(void)state;
	for (uint32_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct nfs3_fattr before;

		set_mode(modes[i]);
		before = attr_of_file();
		assert_int_equal(client_write(c, &file, 0, 2 * HALF, NFS3_UNSTABLE), NFS3_OK);
		assert_true(wcc->has_before && wcc->after.is_set);
		assert_int_equal(wcc->before.size, before.size);
		assert_true(is_same(&wcc->before.mtime, &before.mtime));
		assert_true(is_same(&wcc->before.ctime, &before.ctime));
		assert_false(is_same(&wcc->after.attr.mtime, &before.mtime));
		assert_int_equal(wcc->after.attr.mode, 0777);
		assert_false(has_changed(&wcc->after.attr));
	}
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_torn, teardown_torn)
	const struct CMUnitTest tests[] = {
		TEST(torn__write_shows_in_the_times),
		TEST(torn__write_leaves_a_set_user_id_file_alone),
		TEST(torn__write_by_who_may_not_changes_nothing),
		TEST(whole__write_names_the_attributes_of_before),
	};

	client_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
