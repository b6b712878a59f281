/* SPDX-License-Identifier: BSD-3-Clause */
/* The handlers of the program of stubs.x. */
#include "stubs_server.h"

struct stubs stubs;

static _Alignas(WEIR_XDR_ARENA_ALIGN) uint8_t server_arena[NUMBERS_ARENA_BYTES];

static void on_store(struct weir_request *req, const struct pair_args *args, void *arg)
{
	enum verdict outcome = FINE;
	const uint8_t *first = args->first.data, *second = args->second.data;

	assert_ptr_equal(arg, stubs.pair);
	if (args->before != -1 || args->between != -2 || args->after != -3 || args->first.region)
		outcome = BROKEN;
	for (uint32_t i = 0; i < args->first.len_bytes; i++)
		if (first[i] != pair_byte(i))
			outcome = BROKEN;
	for (uint32_t i = 0; i < args->second.len_bytes; i++)
		if (second[i] != pair_byte(i + 7))
			outcome = BROKEN;
	assert_int_equal(stub_store_1_reply(req, &outcome), 0);
}

static void on_fetch(struct weir_request *req, const struct fetch_args *args, void *arg)
{
	struct fetched results = {.status = FINE};

	(void)arg;
	if (args->first_bytes > ITEM_MAX) {
		results.status = BROKEN;
		results.reason.data = "too many bytes";
		results.reason.len_bytes = 14;
	} else {
		results.parts.before = 11;
		results.parts.between = 12;
		results.parts.after = 13;
		results.parts.first.data = stubs.pair->server_mem + FIRST_AT;
		results.parts.first.len_bytes = args->first_bytes;
		results.parts.second.data = stubs.pair->server_mem + SECOND_AT;
		results.parts.second.len_bytes = args->second_bytes;
		if (!stubs.is_copied)
			results.parts.first.region = results.parts.second.region =
				stubs.pair->server_region;
	}
	assert_int_equal(stub_fetch_1_reply(req, &results), 0);
}

static void on_sum(struct weir_request *req, const struct numbers *args, void *arg)
{
	struct summary results = {.count = args->len, .copies = *args};

	(void)arg;
	for (uint32_t i = 0; i < args->len; i++)
		results.sum += args->items[i];
	assert_int_equal(stub_sum_1_reply(req, &results), 0);
}

static void on_list(struct weir_request *req, const int32_t *args, void *arg)
{
	struct entry entries[30] = {{.key = 0}};
	list results = *args > 0 ? &entries[0] : NULL;

	(void)arg;
	for (int32_t i = 0; i < *args; i++) {
		entries[i].key = i * i;
		entries[i].name.data = "entries have names";
		entries[i].name.len_bytes = (uint32_t)i % 19;
		entries[i].next = i + 1 < *args ? &entries[i + 1] : NULL;
	}
	assert_int_equal(stub_list_1_reply(req, &results), 0);
}

static void on_later(struct weir_request *req, const struct stub_later_1_arguments *args, void *arg)
{
	(void)arg;
	stubs.later = req;
	stubs.later_sum = args->arg1 + (int32_t)args->arg2;
}

static void on_count(struct weir_request *req, void *arg)
{
	int32_t results = ++stubs.ncounted;

	(void)arg;
	assert_int_equal(stub_count_1_reply(req, &results), 0);
}

static void on_echo(struct weir_request *req, const opaque_text *args, void *arg)
{
	opaque_text results = *args;

	(void)arg;
	results.len_bytes = args->len_bytes == 1 ? 5000 : args->len_bytes;
	if (args->len_bytes == 1)
		results.data = stubs.pair->server_mem;
	stubs.reply_error = stub_echo_1_reply(req, &results);
	if (stubs.reply_error != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static void on_later_2(struct weir_request *req, const int32_t *args, void *arg)
{
	int32_t results = *args + 1;

	(void)arg;
	assert_int_equal(stub_later_2_reply(req, &results), 0);
}

static const struct stub_v1_handlers handlers = {
	.stub_store = on_store,
	.stub_fetch = on_fetch,
	.stub_sum = on_sum,
	.stub_list = on_list,
	.stub_later = on_later,
	.stub_count = on_count,
	.stub_echo = on_echo,
};
static const struct stub_v2_handlers handlers2 = {.stub_later = on_later_2};

void stubs_start(struct pair *pair, struct weir_program *programs)
{
	memset(&stubs, 0, sizeof(stubs));
	stubs.pair = pair;
	stubs.v1.handlers = &handlers;
	stubs.v1.arg = pair;
	stubs.v1.memory = server_arena;
	stubs.v1.memory_bytes = sizeof(server_arena);
	stubs.v2.handlers = &handlers2;
	programs[0] = stub_v1_program(&stubs.v1);
	programs[1] = stub_v2_program(&stubs.v2);
}
