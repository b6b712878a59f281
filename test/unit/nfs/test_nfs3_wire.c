/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the encoding of NFSv3: the order of fields in RFC 1813, and values that RFC 1813 does
 * not define.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nfs3_list.h"
#include "nfs3_names.h"
#include "nfs3_rpc.h"

static struct weir_xdr_in in;
static uint32_t wire[512];

/* Returns a decoder of the given words. */
#define WORDS(...)                                                                                 \
	words((const uint32_t[]){__VA_ARGS__},                                                     \
	      sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static struct weir_xdr_in *words(const uint32_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		wire[i] = htobe32(values[i]);
	weir_xdr_in_init(&in, wire, (uint32_t)(4 * n));
	return &in;
}

/* The words of an fattr3 (RFC 1813 section 2.6): type 1, then 2, 3, ... in order. */
#define FATTR 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21

static void check_fattr(const struct nfs3_fattr *a)
{
	assert_int_equal(a->type, NFS3_REG);
	assert_int_equal(a->mode, 2);
	assert_int_equal(a->nlink, 3);
	assert_int_equal(a->uid, 4);
	assert_int_equal(a->gid, 5);
	assert_true(a->size == 0x600000007u);
	assert_true(a->used == 0x800000009u);
	assert_int_equal(a->rdev.major, 10);
	assert_int_equal(a->rdev.minor, 11);
	assert_true(a->fsid == 0xc0000000du);
	assert_true(a->fileid == 0xe0000000fu);
	assert_int_equal(a->atime.seconds, 16);
	assert_int_equal(a->atime.nseconds, 17);
	assert_int_equal(a->mtime.seconds, 18);
	assert_int_equal(a->ctime.nseconds, 21);
}

static void getattr_res__2_6_order_of_fattr3(void **state)
{
	struct nfs3_getattr_res res;

	(void)state;
	assert_int_equal(nfs3_getattr_res_get(WORDS(0, FATTR), &res), 0);
	check_fattr(&res.attr);
}

static void setattr_args__3_3_2_order(void **state)
{
	struct nfs3_setattr_args a;

	(void)state;
	assert_int_equal(nfs3_setattr_args_get(WORDS(4, 0x61626364, 1, 0644, 1, 7, 1, 8, 1, 0, 4096,
						     1, 2, 9, 10, 1, 11, 12),
					       &a),
			 0);
	assert_int_equal(a.fh.len_bytes, 4);
	assert_memory_equal(a.fh.data, "abcd", 4);
	assert_true(a.attr.set_mode && a.attr.set_uid && a.attr.set_gid && a.attr.set_size);
	assert_int_equal(a.attr.mode, 0644);
	assert_int_equal(a.attr.uid, 7);
	assert_int_equal(a.attr.gid, 8);
	assert_int_equal(a.attr.size, 4096);
	assert_int_equal(a.attr.atime_how, NFS3_SET_TO_SERVER_TIME);
	assert_int_equal(a.attr.mtime_how, NFS3_SET_TO_CLIENT_TIME);
	assert_int_equal(a.attr.mtime.seconds, 9);
	assert_true(a.is_guarded);
	assert_int_equal(a.guard.nseconds, 12);
}

static void write__3_3_7_order(void **state)
{
	struct nfs3_write_head a;
	struct nfs3_write_res r;

	(void)state;
	assert_int_equal(nfs3_write_head_get(WORDS(0, 1, 2, 3, 2), &a), 0);
	assert_true(a.offset == 0x100000002u);
	assert_int_equal(a.count, 3);
	assert_int_equal(a.stable, NFS3_FILE_SYNC);
	assert_int_equal(
		nfs3_write_res_get(
			WORDS(0, 1, 0, 5, 6, 7, 8, 9, 1, FATTR, 33, 1, 0x30313233, 0x34353637), &r),
		0);
	assert_true(r.wcc.has_before);
	assert_int_equal(r.wcc.before.size, 5);
	assert_int_equal(r.wcc.before.mtime.seconds, 6);
	assert_int_equal(r.wcc.before.ctime.nseconds, 9);
	check_fattr(&r.wcc.after.attr);
	assert_int_equal(r.count, 33);
	assert_int_equal(r.committed, NFS3_DATA_SYNC);
	assert_memory_equal(r.verf, "01234567", 8);
}

static void lookup__3_3_3_order(void **state)
{
	struct nfs3_dirop a;
	struct nfs3_lookup_res r;

	(void)state;
	assert_int_equal(nfs3_dirop_get(WORDS(4, 0x61626364, 3, 0x78797a00), &a), 0);
	assert_int_equal(a.name.len_bytes, 3);
	assert_memory_equal(a.name.data, "xyz", 3);
	assert_int_equal(nfs3_lookup_res_get(WORDS(0, 4, 0x61626364, 1, FATTR, 0), &r), 0);
	assert_true(r.attr.is_set && !r.dir_attr.is_set);
	check_fattr(&r.attr.attr);
	assert_int_equal(nfs3_lookup_res_get(WORDS(2, 1, FATTR), &r), 0);
	assert_int_equal(r.status, NFS3ERR_NOENT);
	check_fattr(&r.dir_attr.attr);
}

static void read__3_3_6_order(void **state)
{
	struct nfs3_read_args a;
	struct nfs3_read_head r;

	(void)state;
	assert_int_equal(nfs3_read_args_get(WORDS(0, 1, 2, 3), &a), 0);
	assert_true(a.offset == 0x100000002u);
	assert_int_equal(a.count, 3);
	/* The decoder leaves the count word of the data to its caller. */
	assert_int_equal(nfs3_read_head_get(WORDS(0, 0, 77, 1, 77), &r), 0);
	assert_int_equal(r.count, 77);
	assert_true(r.eof);
	assert_int_equal(weir_xdr_remaining(&in), 4);
}

static void create_args__3_3_8_three_modes(void **state)
{
	struct nfs3_create_args a;

	(void)state;
	assert_int_equal(
		nfs3_create_args_get(WORDS(0, 1, 0x61000000, 0, 1, 0600, 0, 0, 0, 0, 0), &a), 0);
	assert_int_equal(a.mode, NFS3_UNCHECKED);
	assert_int_equal(a.attr.mode, 0600);
	assert_int_equal(
		nfs3_create_args_get(WORDS(0, 1, 0x61000000, 2, 0x30313233, 0x34353637), &a), 0);
	assert_int_equal(a.mode, NFS3_EXCLUSIVE);
	assert_memory_equal(a.verf, "01234567", 8);
}

static void mknod_args__3_3_11_devices_have_numbers(void **state)
{
	struct nfs3_mknod_args a;

	(void)state;
	assert_int_equal(
		nfs3_mknod_args_get(WORDS(0, 1, 0x61000000, 4, 0, 0, 0, 0, 0, 0, 5, 6), &a), 0);
	assert_int_equal(a.rdev.major, 5);
	assert_int_equal(a.rdev.minor, 6);
	assert_int_equal(nfs3_mknod_args_get(WORDS(0, 1, 0x61000000, 7, 0, 0, 0, 0, 0, 0), &a), 0);
	/* For other types, the arguments end with the type. */
	assert_int_equal(nfs3_mknod_args_get(WORDS(0, 1, 0x61000000, 1), &a), 0);
	assert_int_equal(a.type, NFS3_REG);
}

static void readdir__3_3_16_and_17_order(void **state)
{
	struct nfs3_readdirplus_args a;
	struct nfs3_readdir_head r;
	struct nfs3_entryplus e;
	bool more, eof;

	(void)state;
	assert_int_equal(
		nfs3_list_get_args(WORDS(0, 1, 2, 0x30313233, 0x34353637, 512, 4096), &a, true), 0);
	assert_true(a.cookie == 0x100000002u);
	assert_int_equal(a.dircount, 512);
	assert_int_equal(a.maxcount, 4096);
	assert_int_equal(nfs3_list_get_args(WORDS(0, 1, 2, 0x30313233, 0x34353637, 512), &a, false),
			 0);
	assert_int_equal(a.maxcount, 512);
	assert_int_equal(
		nfs3_readdir_head_get(WORDS(0, 0, 0x30313233, 0x34353637, 1, 0, 9, 2, 0x2e2e0000, 0,
					    8, 1, FATTR, 1, 4, 0x61626364, 0, 1),
				      &r),
		0);
	assert_int_equal(nfs3_list_get(&in, &e, true, &more, &eof), 0);
	assert_true(more);
	assert_int_equal(e.fileid, 9);
	assert_int_equal(e.name.len_bytes, 2);
	assert_int_equal(e.cookie, 8);
	check_fattr(&e.attr.attr);
	assert_int_equal(e.fh.fh.len_bytes, 4);
	assert_int_equal(nfs3_list_get(&in, &e, true, &more, &eof), 0);
	assert_false(more);
	assert_true(eof);
	assert_int_equal(weir_xdr_remaining(&in), 0);
}

static void filesystem__3_3_18_to_20_order(void **state)
{
	struct nfs3_fsstat_res stat;
	struct nfs3_fsinfo_res info;
	struct nfs3_pathconf_res conf;

	(void)state;
	assert_int_equal(
		nfs3_fsstat_res_get(WORDS(0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 7), &stat), 0);
	assert_int_equal(stat.tbytes, 1);
	assert_int_equal(stat.fbytes, 2);
	assert_int_equal(stat.abytes, 3);
	assert_int_equal(stat.tfiles, 4);
	assert_int_equal(stat.ffiles, 5);
	assert_int_equal(stat.afiles, 6);
	assert_int_equal(stat.invarsec, 7);
	assert_int_equal(
		nfs3_fsinfo_res_get(WORDS(0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 8, 9, 10, 11), &info), 0);
	assert_int_equal(info.rtmax, 1);
	assert_int_equal(info.rtmult, 3);
	assert_int_equal(info.wtmax, 4);
	assert_int_equal(info.dtpref, 7);
	assert_int_equal(info.maxfilesize, 8);
	assert_int_equal(info.time_delta.nseconds, 10);
	assert_int_equal(info.properties, 11);
	assert_int_equal(nfs3_pathconf_res_get(WORDS(0, 0, 1, 2, 1, 0, 0, 1), &conf), 0);
	assert_int_equal(conf.linkmax, 1);
	assert_int_equal(conf.name_max, 2);
	assert_true(conf.no_trunc && !conf.chown_restricted && !conf.case_insensitive &&
		    conf.case_preserving);
}

static void rename_and_link__3_3_14_and_15_order(void **state)
{
	struct nfs3_rename_args rename;
	struct nfs3_link_args link;

	(void)state;
	assert_int_equal(
		nfs3_rename_args_get(WORDS(4, 1, 1, 0x61000000, 4, 2, 1, 0x62000000), &rename), 0);
	assert_int_equal(rename.from.name.data[0], 'a');
	assert_int_equal(rename.to.name.data[0], 'b');
	assert_int_equal(rename.to.dir.data[3], 2);
	assert_int_equal(nfs3_link_args_get(WORDS(4, 1, 4, 2, 1, 0x62000000), &link), 0);
	assert_int_equal(link.fh.data[3], 1);
	assert_int_equal(link.link.dir.data[3], 2);
}

/* ---- what a peer must not send ---- */

static void handle__over_64_bytes_is_refused(void **state)
{
	struct nfs3_fh fh;

	(void)state;
	memset(wire, 0, sizeof(wire));
	wire[0] = htobe32(64);
	weir_xdr_in_init(&in, wire, 4 + 64);
	assert_int_equal(nfs3_fh_get(&in, &fh), 0);
	wire[0] = htobe32(65);
	weir_xdr_in_init(&in, wire, 4 + 68);
	assert_int_equal(nfs3_fh_get(&in, &fh), -EBADMSG);
	assert_int_equal(nfs3_fh_get(WORDS(0xffffffff, 0, 0), &fh), -EBADMSG);
	assert_int_equal(nfs3_fh_get(WORDS(0xfffffffd, 0, 0), &fh), -EBADMSG);
}

static void name__256_bytes_keep_their_length_for_nametoolong(void **state)
{
	struct nfs3_dirop a;

	(void)state;
	memset(wire, 0, sizeof(wire));
	wire[1] = htobe32(256);
	weir_xdr_in_init(&in, wire, 8 + 256);
	assert_int_equal(nfs3_dirop_get(&in, &a), 0);
	assert_int_equal(a.name.len_bytes, 256);
	assert_int_equal(weir_xdr_remaining(&in), 0);
	wire[1] = htobe32(NFS3_PATH_MAX + 1);
	weir_xdr_in_init(&in, wire, sizeof(wire));
	assert_int_equal(nfs3_dirop_get(&in, &a), -EBADMSG);
	assert_int_equal(nfs3_dirop_get(WORDS(0, 0), &a), 0);
	assert_int_equal(a.name.len_bytes, 0);
}

static void enums__undeclared_values_are_refused(void **state)
{
	struct nfs3_getattr_res getattr;
	struct nfs3_setattr_args setattr;
	struct nfs3_write_head write;
	struct nfs3_create_args create;
	struct nfs3_mknod_args mknod;
	struct nfs3_write_res write_res;

	(void)state;
	assert_int_equal(nfs3_write_head_get(WORDS(0, 0, 0, 0, 3), &write), -EBADMSG);
	assert_int_equal(
		nfs3_create_args_get(WORDS(0, 1, 0x61000000, 3, 0, 0, 0, 0, 0, 0), &create),
		-EBADMSG);
	assert_int_equal(nfs3_mknod_args_get(WORDS(0, 1, 0x61000000, 0, 0, 0, 0, 0, 0, 0), &mknod),
			 -EBADMSG);
	assert_int_equal(nfs3_mknod_args_get(WORDS(0, 1, 0x61000000, 8, 0, 0, 0, 0, 0, 0), &mknod),
			 -EBADMSG);
	assert_int_equal(nfs3_setattr_args_get(WORDS(0, 0, 0, 0, 0, 3, 0, 0), &setattr), -EBADMSG);
	assert_int_equal(nfs3_setattr_args_get(WORDS(0, 0, 0, 0, 0, 0, 3, 0), &setattr), -EBADMSG);
	assert_int_equal(nfs3_getattr_res_get(WORDS(3), &getattr), -EBADMSG);
	assert_int_equal(nfs3_getattr_res_get(WORDS(10009), &getattr), -EBADMSG);
	assert_int_equal(nfs3_getattr_res_get(WORDS(0xffffffff), &getattr), -EBADMSG);
	assert_int_equal(nfs3_getattr_res_get(WORDS(0, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
						    14, 15, 16, 17, 18, 19, 20, 21),
					      &getattr),
			 -EBADMSG);
	assert_int_equal(nfs3_write_res_get(WORDS(0, 0, 0, 4, 3, 0, 0), &write_res), -EBADMSG);
}

static void bools__above_one_are_refused(void **state)
{
	struct nfs3_setattr_args setattr;
	struct nfs3_wcc_res wcc;
	struct nfs3_read_head read;
	struct nfs3_entryplus entry;
	bool more, eof;

	(void)state;
	assert_int_equal(nfs3_setattr_args_get(WORDS(0, 2, 0, 0, 0, 0, 0, 0, 0), &setattr),
			 -EBADMSG);
	assert_int_equal(nfs3_setattr_args_get(WORDS(0, 0, 0, 0, 0, 0, 0, 2, 0, 0), &setattr),
			 -EBADMSG);
	assert_int_equal(nfs3_wcc_res_get(WORDS(0, 2, 0), &wcc), -EBADMSG);
	assert_int_equal(nfs3_wcc_res_get(WORDS(0, 0, 2), &wcc), -EBADMSG);
	assert_int_equal(nfs3_read_head_get(WORDS(0, 0, 0, 2), &read), -EBADMSG);
	assert_int_equal(nfs3_list_get(WORDS(2, 0, 0, 0, 0, 0), &entry, false, &more, &eof),
			 -EBADMSG);
	assert_int_equal(nfs3_list_get(WORDS(0, 2), &entry, false, &more, &eof), -EBADMSG);
}

static void names__are_known(void **state)
{
	(void)state;
	assert_string_equal(nfs3_proc_name(NFS3_NULL), "NULL");
	assert_string_equal(nfs3_proc_name(NFS3_SYMLINK), "SYMLINK");
	assert_string_equal(nfs3_proc_name(NFS3_COMMIT), "COMMIT");
	assert_string_equal(nfs3_proc_name(NFS3_NPROCS), "?");
	assert_string_equal(nfs3_status_text(NFS3ERR_STALE), "stale file handle");
	assert_string_equal(nfs3_status_text(4), "unknown status");
	assert_int_equal(nfs3_status_errno(NFS3ERR_NOENT), ENOENT);
	assert_int_equal(nfs3_status_errno(4), EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(getattr_res__2_6_order_of_fattr3),
		cmocka_unit_test(setattr_args__3_3_2_order),
		cmocka_unit_test(write__3_3_7_order),
		cmocka_unit_test(lookup__3_3_3_order),
		cmocka_unit_test(read__3_3_6_order),
		cmocka_unit_test(create_args__3_3_8_three_modes),
		cmocka_unit_test(mknod_args__3_3_11_devices_have_numbers),
		cmocka_unit_test(readdir__3_3_16_and_17_order),
		cmocka_unit_test(filesystem__3_3_18_to_20_order),
		cmocka_unit_test(rename_and_link__3_3_14_and_15_order),
		cmocka_unit_test(handle__over_64_bytes_is_refused),
		cmocka_unit_test(name__256_bytes_keep_their_length_for_nametoolong),
		cmocka_unit_test(enums__undeclared_values_are_refused),
		cmocka_unit_test(bools__above_one_are_refused),
		cmocka_unit_test(names__are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
