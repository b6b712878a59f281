/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes READs of NFS version 3 whose handler is written by hand (argument "hand") or by weirgen
 * ("generated"). check_read_cost.py counts the instructions of measure_handle(), which contains the
 * decoder, the handler, the encoder and the reply.
 */
#include <string.h>

#include "compiler.h"
#include "pair.h"
#include "read3_rpc.h"

#define ROUNDS	   1000
#define FILE_BYTES 32u
#define DATA_BYTES 4096u

static struct pair pair;
static struct weir_conn *conn;
static int opened;
static const struct attr3 attributes = {
	.type = FT3REG,
	.mode = 0644,
	.nlink = 1,
	.uid = 1000,
	.gid = 1000,
	.size = 1 << 20,
	.used = 1 << 20,
	.fsid = 7,
	.fileid = 42,
	.atime = {1, 2},
	.mtime = {3, 4},
	.ctime = {5, 6},
};
static void (*handle)(struct weir_request *req, void *arg);

/* ---- by hand ---- */

/* The results of READ, without the data. */
struct hand_results {
	uint32_t status;
	bool has_attributes;
	struct attr3 attributes;
	uint32_t count;
	bool is_eof;
};

static int hand_get_args(struct weir_xdr_in *in, struct read3_args *args)
{
	if (weir_xdr_get_opaque_ref(in, &args->file.data, FHSIZE3, &args->file.len_bytes) ||
	    weir_xdr_get_u64(in, &args->offset) || weir_xdr_get_u32(in, &args->count))
		return -EBADMSG;
	return 0;
}

static int hand_put_time(struct weir_xdr_out *out, const struct time3 *time)
{
	return weir_xdr_put_u32(out, time->seconds) || weir_xdr_put_u32(out, time->nseconds)
		       ? -ENOSPC
		       : 0;
}

static int hand_put_attributes(struct weir_xdr_out *out, const struct attr3 *attr)
{
	if (weir_xdr_put_u32(out, attr->type) || weir_xdr_put_u32(out, attr->mode) ||
	    weir_xdr_put_u32(out, attr->nlink) || weir_xdr_put_u32(out, attr->uid) ||
	    weir_xdr_put_u32(out, attr->gid) || weir_xdr_put_u64(out, attr->size) ||
	    weir_xdr_put_u64(out, attr->used) || weir_xdr_put_u32(out, attr->rdev.specdata1) ||
	    weir_xdr_put_u32(out, attr->rdev.specdata2) || weir_xdr_put_u64(out, attr->fsid) ||
	    weir_xdr_put_u64(out, attr->fileid) || hand_put_time(out, &attr->atime) ||
	    hand_put_time(out, &attr->mtime) || hand_put_time(out, &attr->ctime))
		return -ENOSPC;
	return 0;
}

static int hand_put_results(struct weir_xdr_out *out, const struct hand_results *results)
{
	if (weir_xdr_put_u32(out, results->status) ||
	    weir_xdr_put_u32(out, results->has_attributes) ||
	    (results->has_attributes && hand_put_attributes(out, &results->attributes)))
		return -ENOSPC;
	if (results->status != READ3_OK)
		return 0;
	return weir_xdr_put_u32(out, results->count) || weir_xdr_put_u32(out, results->is_eof)
		       ? -ENOSPC
		       : 0;
}

static void hand_read(struct weir_request *req)
{
	struct weir_xdr_out *out;
	struct read3_args args;
	struct hand_results results;

	if (hand_get_args(weir_request_args(req), &args) != 0) {
		weir_request_reply_error(req, WEIR_RPC_GARBAGE_ARGS);
		return;
	}
	out = weir_request_results(req, READ3_READ_3_RESULTS_MAX_BYTES);
	if (!out) {
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	results.status = args.file.len_bytes == FILE_BYTES ? READ3_OK : READ3ERR_STALE;
	results.has_attributes = true;
	results.attributes = attributes;
	results.count = args.count;
	results.is_eof = false;
	if (hand_put_results(out, &results) != 0 ||
	    (results.status == READ3_OK &&
	     weir_request_result_item(req, pair.server_region, pair.server_mem + args.offset,
				      args.count) != 0)) {
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
		return;
	}
	weir_request_reply(req);
}

static void hand_handle(struct weir_request *req, void *arg)
{
	(void)arg;
	switch (weir_request_header(req)->proc) {
	case READ3_READ:
		hand_read(req);
		break;
	default:
		weir_request_reply_error(req, WEIR_RPC_PROC_UNAVAIL);
	}
}

/* ---- by weirgen ---- */

static void on_read(struct weir_request *req, const struct read3_args *args, void *arg)
{
	struct read3_res results;

	(void)arg;
	results.status = args->file.len_bytes == FILE_BYTES ? READ3_OK : READ3ERR_STALE;
	results.ok.attr.follows = true;
	results.ok.attr.attributes = attributes;
	results.ok.count = args->count;
	results.ok.eof = false;
	results.ok.data.region = pair.server_region;
	results.ok.data.data = pair.server_mem + args->offset;
	results.ok.data.len_bytes = args->count;
	if (read3_read_3_reply(req, &results) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static const struct read3_v3_handlers handlers = {.read3_read = on_read};
static struct read3_v3_server server = {.handlers = &handlers};

/* ---- both ---- */

static out_of_line void measure_handle(struct weir_request *req, void *arg)
{
	handle(req, arg);
	__asm__ volatile("" ::: "memory"); /* so that the call above is no jump */
}

static void on_event(struct weir_conn *which, enum weir_conn_event event, int error, void *arg)
{
	(void)which;
	(void)error;
	(void)arg;
	if (event == WEIR_CONN_OPEN)
		opened++;
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct read3_res results;
	int *done = arg;

	assert_int_equal(read3_read_3_results(call, result, &results), 0);
	assert_int_equal(results.status, READ3_OK);
	assert_true(results.ok.attr.follows);
	assert_int_equal(results.ok.attr.attributes.type, attributes.type);
	assert_int_equal(results.ok.attr.attributes.size, attributes.size);
	assert_int_equal(results.ok.attr.attributes.fileid, attributes.fileid);
	assert_int_equal(results.ok.attr.attributes.ctime.nseconds, attributes.ctime.nseconds);
	assert_int_equal(results.ok.count, DATA_BYTES);
	assert_int_equal(results.ok.data.len_bytes, DATA_BYTES);
	assert_ptr_equal(results.ok.data.data, pair.client_mem);
	*done = 1;
}

static void read_once(void)
{
	static const uint8_t file[FILE_BYTES];
	const struct read3_args args = {{file, sizeof(file)}, 8192, DATA_BYTES};
	const struct weir_xdr_room room = {pair.client_region, pair.client_mem, DATA_BYTES};
	int done = 0;
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params), .done = on_done, .arg = &done};
	struct weir_call *call = read3_read_3_begin(conn, &params, &args, &room, 1);

	assert_non_null(call);
	assert_int_equal(weir_call_submit(call), 0);
	pair_until(&pair, &done, 1);
	assert_memory_equal(pair.client_mem, pair.server_mem + 8192, DATA_BYTES);
}

static void read__results_are_those_of_the_handler(void **state)
{
	const struct weir_connect_options connect = {.struct_bytes = sizeof(connect),
						     .on_event = on_event};
	struct weir_program program = read3_v3_program(&server);
	struct weir_listen_options listen = {
		.struct_bytes = sizeof(listen), .programs = &program, .nprograms = 1};
	struct weir_listener *listener;
	char addr[64];

	(void)state;
	program.handle = measure_handle;
	pair_start(&pair, NULL);
	pair_new_addr(addr, sizeof(addr));
	assert_int_equal(weir_listen(pair.server, addr, &listen, &listener), 0);
	assert_int_equal(weir_connect(pair.client, addr, &connect, &conn), 0);
	pair_until(&pair, &opened, 1);
	for (uint32_t i = 0; i < DATA_BYTES; i++)
		pair.server_mem[8192 + i] = pair_byte(i);
	for (int round = 0; round < ROUNDS; round++)
		read_once();
	weir_listener_close(listener);
	pair_stop(&pair);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read__results_are_those_of_the_handler),
	};

	pair_driver = "shm";
	handle = argc > 1 && strcmp(argv[1], "hand") == 0 ? hand_handle : read3_v3_dispatch;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
