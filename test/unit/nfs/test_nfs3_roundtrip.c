/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that each argument and result of NFSv3 is encoded and decoded to the same value, and that a
 * shorter message is refused.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nfs3_random.h"
#include "nfs3_list.h"

#define ROUNDS	   300
#define WIRE_BYTES 4096u
/* Maximum bytes of the arguments and the results of any procedure. */
#define ARGS_BYTES    716u
#define RESULTS_BYTES 512u
#define BYTES_HASH    0x1b759415c41552cu

union any {
	struct nfs3_fh fh;
	struct nfs3_dirop dirop;
	struct nfs3_setattr_args setattr;
	struct nfs3_access_args access;
	struct nfs3_read_args read;
	struct nfs3_write_head write;
	struct nfs3_create_args create;
	struct nfs3_mkdir_args mkdir;
	struct nfs3_mknod_args mknod;
	struct nfs3_rename_args rename;
	struct nfs3_link_args link;
	struct nfs3_readdirplus_args readdir;
	struct nfs3_commit_args commit;
	struct nfs3_getattr_res getattr_res;
	struct nfs3_wcc_res wcc_res;
	struct nfs3_lookup_res lookup_res;
	struct nfs3_access_res access_res;
	struct nfs3_readlink_head readlink_res;
	struct nfs3_read_head read_res;
	struct nfs3_write_res write_res;
	struct nfs3_create_res create_res;
	struct nfs3_rename_res rename_res;
	struct nfs3_link_res link_res;
	struct nfs3_readdir_head readdir_res;
	struct nfs3_entryplus entry;
	struct nfs3_fsstat_res fsstat_res;
	struct nfs3_fsinfo_res fsinfo_res;
	struct nfs3_pathconf_res pathconf_res;
	struct nfs3_commit_res commit_res;
};

struct message {
	const char *name;
	uint32_t max_bytes;
	void (*fill)(struct random *r, union any *any);
	int (*put)(struct weir_xdr_out *out, const union any *any);
	int (*get)(struct weir_xdr_in *in, union any *any);
};

/* Defines the three functions of one member of the union. */
#define MESSAGE(member, what)                                                                      \
	static int put_##member(struct weir_xdr_out *out, const union any *any)                    \
	{                                                                                          \
		return nfs3_##what##_put(out, &any->member);                                       \
	}                                                                                          \
	static int get_##member(struct weir_xdr_in *in, union any *any)                            \
	{                                                                                          \
		return nfs3_##what##_get(in, &any->member);                                        \
	}                                                                                          \
	static void fill_##member(struct random *r, union any *any)

MESSAGE(fh, fh)
{
	random_fh(r, &any->fh);
}

MESSAGE(dirop, dirop)
{
	random_dirop(r, &any->dirop);
}

MESSAGE(setattr, setattr_args)
{
	random_fh(r, &any->setattr.fh);
	random_sattr(r, &any->setattr.attr);
	any->setattr.is_guarded = random_bool(r);
	any->setattr.guard = random_time(r);
}

MESSAGE(access, access_args)
{
	random_fh(r, &any->access.fh);
	any->access.access = random_u32(r);
}

MESSAGE(read, read_args)
{
	random_fh(r, &any->read.fh);
	any->read.offset = random_u64(r);
	any->read.count = random_u32(r);
}

MESSAGE(write, write_head)
{
	random_fh(r, &any->write.fh);
	any->write.offset = random_u64(r);
	any->write.count = random_u32(r);
	any->write.stable = (enum nfs3_stable)random_below(r, 3);
}

MESSAGE(create, create_args)
{
	random_dirop(r, &any->create.where);
	any->create.mode = (enum nfs3_createmode)random_below(r, 3);
	random_sattr(r, &any->create.attr);
	random_bytes(r, any->create.verf, NFS3_VERF_BYTES);
}

MESSAGE(mkdir, mkdir_args)
{
	random_dirop(r, &any->mkdir.where);
	random_sattr(r, &any->mkdir.attr);
}

MESSAGE(mknod, mknod_args)
{
	random_dirop(r, &any->mknod.where);
	any->mknod.type = (enum nfs3_ftype)(1 + random_below(r, 7));
	random_sattr(r, &any->mknod.attr);
	any->mknod.rdev = random_specdata(r);
}

MESSAGE(rename, rename_args)
{
	random_dirop(r, &any->rename.from);
	random_dirop(r, &any->rename.to);
}

MESSAGE(link, link_args)
{
	random_fh(r, &any->link.fh);
	random_dirop(r, &any->link.link);
}

MESSAGE(commit, commit_args)
{
	random_fh(r, &any->commit.fh);
	any->commit.offset = random_u64(r);
	any->commit.count = random_u32(r);
}

MESSAGE(getattr_res, getattr_res)
{
	struct nfs3_post_op_attr post;

	random_post_attr(r, &post);
	any->getattr_res.status = random_status(r);
	any->getattr_res.attr = post.attr;
}

MESSAGE(wcc_res, wcc_res)
{
	any->wcc_res.status = random_status(r);
	random_wcc(r, &any->wcc_res.wcc);
}

MESSAGE(lookup_res, lookup_res)
{
	any->lookup_res.status = random_status(r);
	random_fh(r, &any->lookup_res.fh);
	random_post_attr(r, &any->lookup_res.attr);
	random_post_attr(r, &any->lookup_res.dir_attr);
}

MESSAGE(access_res, access_res)
{
	any->access_res.status = random_status(r);
	random_post_attr(r, &any->access_res.attr);
	any->access_res.access = random_u32(r);
}

MESSAGE(readlink_res, readlink_head)
{
	any->readlink_res.status = random_status(r);
	random_post_attr(r, &any->readlink_res.attr);
}

MESSAGE(read_res, read_head)
{
	any->read_res.status = random_status(r);
	random_post_attr(r, &any->read_res.attr);
	any->read_res.count = random_u32(r);
	any->read_res.eof = random_bool(r);
}

MESSAGE(write_res, write_res)
{
	any->write_res.status = random_status(r);
	random_wcc(r, &any->write_res.wcc);
	any->write_res.count = random_u32(r);
	any->write_res.committed = (enum nfs3_stable)random_below(r, 3);
	random_bytes(r, any->write_res.verf, NFS3_VERF_BYTES);
}

MESSAGE(create_res, create_res)
{
	any->create_res.status = random_status(r);
	any->create_res.fh.is_set = random_bool(r);
	random_fh(r, &any->create_res.fh.fh);
	random_post_attr(r, &any->create_res.attr);
	random_wcc(r, &any->create_res.dir_wcc);
}

MESSAGE(rename_res, rename_res)
{
	any->rename_res.status = random_status(r);
	random_wcc(r, &any->rename_res.from_wcc);
	random_wcc(r, &any->rename_res.to_wcc);
}

MESSAGE(link_res, link_res)
{
	any->link_res.status = random_status(r);
	random_post_attr(r, &any->link_res.attr);
	random_wcc(r, &any->link_res.dir_wcc);
}

MESSAGE(readdir_res, readdir_head)
{
	any->readdir_res.status = random_status(r);
	random_post_attr(r, &any->readdir_res.dir_attr);
	random_bytes(r, any->readdir_res.verf, NFS3_VERF_BYTES);
}

MESSAGE(fsstat_res, fsstat_res)
{
	any->fsstat_res.status = random_status(r);
	random_post_attr(r, &any->fsstat_res.attr);
	any->fsstat_res.tbytes = random_u64(r);
	any->fsstat_res.fbytes = random_u64(r);
	any->fsstat_res.abytes = random_u64(r);
	any->fsstat_res.tfiles = random_u64(r);
	any->fsstat_res.ffiles = random_u64(r);
	any->fsstat_res.afiles = random_u64(r);
	any->fsstat_res.invarsec = random_u32(r);
}

MESSAGE(fsinfo_res, fsinfo_res)
{
	any->fsinfo_res.status = random_status(r);
	random_post_attr(r, &any->fsinfo_res.attr);
	any->fsinfo_res.rtmax = random_u32(r);
	any->fsinfo_res.rtpref = random_u32(r);
	any->fsinfo_res.rtmult = random_u32(r);
	any->fsinfo_res.wtmax = random_u32(r);
	any->fsinfo_res.wtpref = random_u32(r);
	any->fsinfo_res.wtmult = random_u32(r);
	any->fsinfo_res.dtpref = random_u32(r);
	any->fsinfo_res.maxfilesize = random_u64(r);
	any->fsinfo_res.time_delta = random_time(r);
	any->fsinfo_res.properties = random_u32(r);
}

MESSAGE(pathconf_res, pathconf_res)
{
	any->pathconf_res.status = random_status(r);
	random_post_attr(r, &any->pathconf_res.attr);
	any->pathconf_res.linkmax = random_u32(r);
	any->pathconf_res.name_max = random_u32(r);
	any->pathconf_res.no_trunc = random_bool(r);
	any->pathconf_res.chown_restricted = random_bool(r);
	any->pathconf_res.case_insensitive = random_bool(r);
	any->pathconf_res.case_preserving = random_bool(r);
}

MESSAGE(commit_res, commit_res)
{
	any->commit_res.status = random_status(r);
	random_wcc(r, &any->commit_res.wcc);
	random_bytes(r, any->commit_res.verf, NFS3_VERF_BYTES);
}

/* These functions fill in messages whose decoders have one more parameter. */
static void fill_readdir(struct random *r, union any *any)
{
	random_fh(r, &any->readdir.dir);
	any->readdir.cookie = random_u64(r);
	random_bytes(r, any->readdir.verf, NFS3_VERF_BYTES);
	any->readdir.dircount = random_u32(r);
	any->readdir.maxcount = random_u32(r);
}

static int put_readdir(struct weir_xdr_out *out, const union any *any)
{
	return nfs3_list_put_args(out, &any->readdir, false);
}

static int get_readdir(struct weir_xdr_in *in, union any *any)
{
	return nfs3_list_get_args(in, &any->readdir, false);
}

static int put_readdirplus(struct weir_xdr_out *out, const union any *any)
{
	return nfs3_list_put_args(out, &any->readdir, true);
}

static int get_readdirplus(struct weir_xdr_in *in, union any *any)
{
	return nfs3_list_get_args(in, &any->readdir, true);
}

static void fill_entry(struct random *r, union any *any)
{
	struct nfs3_dirop dirop;

	random_dirop(r, &dirop);
	any->entry.fileid = random_u64(r);
	any->entry.name = dirop.name;
	any->entry.cookie = random_u64(r);
	random_post_attr(r, &any->entry.attr);
	any->entry.fh.is_set = random_bool(r);
	any->entry.fh.fh = dirop.dir;
}

static int put_entry(struct weir_xdr_out *out, const union any *any)
{
	return nfs3_list_put(out, &any->entry, false);
}

static int get_entry(struct weir_xdr_in *in, union any *any)
{
	bool more, eof;

	return nfs3_list_get(in, &any->entry, false, &more, &eof);
}

static int put_entryplus(struct weir_xdr_out *out, const union any *any)
{
	return nfs3_list_put(out, &any->entry, true);
}

static int get_entryplus(struct weir_xdr_in *in, union any *any)
{
	bool more, eof;

	return nfs3_list_get(in, &any->entry, true, &more, &eof);
}

#define ROW(member, max)                                                                           \
	{                                                                                          \
#member, max, fill_##member, put_##member, get_##member                            \
	}

static const struct message messages[] = {
	ROW(fh, NFS3_FH_MAX_BYTES),
	ROW(dirop, ARGS_BYTES),
	ROW(setattr, ARGS_BYTES),
	ROW(access, ARGS_BYTES),
	ROW(read, ARGS_BYTES),
	ROW(write, ARGS_BYTES),
	ROW(create, ARGS_BYTES),
	ROW(mkdir, ARGS_BYTES),
	ROW(mknod, ARGS_BYTES),
	ROW(rename, ARGS_BYTES),
	ROW(link, ARGS_BYTES),
	ROW(readdir, ARGS_BYTES),
	{"readdirplus", ARGS_BYTES, fill_readdir, put_readdirplus, get_readdirplus},
	ROW(commit, ARGS_BYTES),
	ROW(getattr_res, RESULTS_BYTES),
	ROW(wcc_res, RESULTS_BYTES),
	ROW(lookup_res, RESULTS_BYTES),
	ROW(access_res, RESULTS_BYTES),
	ROW(readlink_res, RESULTS_BYTES),
	ROW(read_res, RESULTS_BYTES),
	ROW(write_res, RESULTS_BYTES),
	ROW(create_res, RESULTS_BYTES),
	ROW(rename_res, RESULTS_BYTES),
	ROW(link_res, RESULTS_BYTES),
	ROW(readdir_res, RESULTS_BYTES),
	ROW(entry, RESULTS_BYTES),
	{"entryplus", RESULTS_BYTES, fill_entry, put_entryplus, get_entryplus},
	ROW(fsstat_res, RESULTS_BYTES),
	ROW(fsinfo_res, RESULTS_BYTES),
	ROW(pathconf_res, RESULTS_BYTES),
	ROW(commit_res, RESULTS_BYTES),
};

#define NMESSAGES (sizeof(messages) / sizeof(messages[0]))

/* Encodes a message with random content to 'wire'. Returns its length. */
static uint32_t make(const struct message *m, struct random *r, union any *any, uint8_t *wire)
{
	struct weir_xdr_out out;

	memset(any, 0, sizeof(*any));
	m->fill(r, any);
	weir_xdr_out_init(&out, wire, WIRE_BYTES);
	assert_int_equal(m->put(&out, any), 0);
	assert_int_equal(weir_xdr_out_len(&out) % 4, 0);
	assert_in_range(weir_xdr_out_len(&out), 4, m->max_bytes);
	return (uint32_t)weir_xdr_out_len(&out);
}

/* Returns the FNV-1a hash of bytes, from the hash of those before. */
static uint64_t hash_of(uint64_t hash, const uint8_t *bytes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3u;
	return hash;
}

/*
 * Compares the bytes of many values with those of a codec that was written by hand, independently
 * of nfs3.x. BYTES_HASH is the hash of its bytes.
 */
static void nfs3__bytes_are_those_of_the_codec_by_hand(void **state)
{
	static uint8_t wire[WIRE_BYTES];
	uint64_t hash = 0xcbf29ce484222325u;
	struct random r = {6};

	(void)state;
	for (uint32_t i = 0; i < NMESSAGES; i++) {
		for (uint32_t round = 0; round < ROUNDS; round++) {
			union any any;
			uint32_t len = make(&messages[i], &r, &any, wire);

			hash = hash_of(hash, wire, len);
		}
	}
	if (hash != BYTES_HASH)
		fail_msg("the hash is 0x%llx", (unsigned long long)hash);
}

static void nfs3__what_is_decoded_encodes_to_the_same(void **state)
{
	static uint8_t wire[WIRE_BYTES], again[WIRE_BYTES];
	struct random r = {1};

	(void)state;
	for (uint32_t i = 0; i < NMESSAGES; i++) {
		for (uint32_t round = 0; round < ROUNDS; round++) {
			union any any, back;
			uint32_t len = make(&messages[i], &r, &any, wire);
			struct weir_xdr_out out;
			struct weir_xdr_in in;

			memset(&back, 0xa5, sizeof(back));
			weir_xdr_in_init(&in, wire, len);
			if (messages[i].get(&in, &back) != 0)
				fail_msg("%s: refused what was encoded", messages[i].name);
			assert_int_equal(weir_xdr_remaining(&in), 0);
			weir_xdr_out_init(&out, again, sizeof(again));
			assert_int_equal(messages[i].put(&out, &back), 0);
			assert_int_equal(weir_xdr_out_len(&out), len);
			assert_memory_equal(wire, again, len);
		}
	}
}

static void nfs3__each_truncation_is_refused(void **state)
{
	static uint8_t wire[WIRE_BYTES];
	struct random r = {2};

	(void)state;
	for (uint32_t i = 0; i < NMESSAGES; i++) {
		for (uint32_t round = 0; round < 20; round++) {
			union any any;
			uint32_t len = make(&messages[i], &r, &any, wire);

			for (uint32_t cut = 0; cut < len; cut++) {
				/*
				 * The shorter message has memory of its own, so that a sanitizer
				 * detects a read after its end.
				 */
				uint8_t *part = malloc(cut ? cut : 1);
				struct weir_xdr_in in;

				assert_non_null(part);
				memcpy(part, wire, cut);
				weir_xdr_in_init(&in, part, cut);
				if (messages[i].get(&in, &any) != -EBADMSG)
					fail_msg("%s: took %u of %u bytes", messages[i].name, cut,
						 len);
				free(part);
			}
		}
	}
}

static void nfs3__puts_stop_at_the_end_of_the_output(void **state)
{
	static uint8_t wire[WIRE_BYTES];
	struct random r = {3};

	(void)state;
	for (uint32_t i = 0; i < NMESSAGES; i++) {
		union any any;
		uint32_t len = make(&messages[i], &r, &any, wire);

		for (uint32_t room = 0; room < len; room += 4) {
			uint8_t *part = malloc(room ? room : 1);
			struct weir_xdr_out out;

			assert_non_null(part);
			weir_xdr_out_init(&out, part, room);
			assert_int_equal(messages[i].put(&out, &any), -ENOSPC);
			free(part);
		}
	}
}

static void nfs3__random_bytes_do_no_harm(void **state)
{
	struct random r = {4};

	(void)state;
	for (uint32_t i = 0; i < NMESSAGES; i++) {
		for (uint32_t round = 0; round < 2000; round++) {
			uint32_t words[96];
			struct weir_xdr_in in;
			union any any;

			/*
			 * Most words are small numbers, which are valid as lengths, booleans and
			 * enumeration values.
			 */
			for (uint32_t j = 0; j < 96; j++)
				words[j] = htobe32(random_below(&r, 4) ? random_below(&r, 9)
								       : random_u32(&r));
			weir_xdr_in_init(&in, words, random_below(&r, sizeof(words) + 1));
			messages[i].get(&in, &any);
		}
	}
}

static void nfs3_entry_bytes__is_what_put_takes(void **state)
{
	uint8_t wire[1024];
	struct random r = {5};

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		bool plus = random_bool(&r);
		struct weir_xdr_out out;
		union any any;

		fill_entry(&r, &any);
		weir_xdr_out_init(&out, wire, sizeof(wire));
		assert_int_equal(nfs3_list_put(&out, &any.entry, plus), 0);
		assert_int_equal(weir_xdr_out_len(&out), nfs3_list_entry_bytes(&any.entry, plus));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nfs3__what_is_decoded_encodes_to_the_same),
		cmocka_unit_test(nfs3__bytes_are_those_of_the_codec_by_hand),
		cmocka_unit_test(nfs3__each_truncation_is_refused),
		cmocka_unit_test(nfs3__puts_stop_at_the_end_of_the_output),
		cmocka_unit_test(nfs3__random_bytes_do_no_harm),
		cmocka_unit_test(nfs3_entry_bytes__is_what_put_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
