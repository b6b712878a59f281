/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef GREET_H
#define GREET_H

/* The responder of hello.x, which several examples serve. */

#include "example.h"
#include "hello_rpc.h"

/* Handles the procedure 0, by which a requester can see whether the program is there. */
static inline void greet_null(struct weir_request *req, void *arg)
{
	(void)arg;
	if (hello_null_1_reply(req) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

static inline void greet(struct weir_request *req, const struct hello_text *args, void *arg)
{
	char text[HELLO_TEXT_BYTES + 1];
	struct hello_text results;
	int len = snprintf(text, sizeof(text), "Hello, %.*s!", (int)args->text.len_bytes,
			   args->text.data);

	(void)arg;
	results.text.data = text;
	results.text.len_bytes = len < (int)sizeof(text) ? (uint32_t)len : HELLO_TEXT_BYTES;
	if (hello_greet_1_reply(req, &results) != 0)
		weir_request_reply_error(req, WEIR_RPC_SYSTEM_ERR);
}

/* Listens for callers at 'name', and says so on standard output. Ends the program if this fails. */
static inline struct weir_listener *greet_listen(struct weir_engine *engine, const char *name)
{
	static const struct hello_v1_handlers handlers = {greet_null, greet};
	static struct hello_v1_server server = {&handlers, NULL};
	const struct weir_program program = hello_v1_program(&server);
	const struct weir_listen_options options = {
		.struct_bytes = sizeof(options), .programs = &program, .nprograms = 1};
	struct weir_listener *listener;

	example_check(weir_listen(engine, name, &options, &listener), name);
	printf("listening at %s\n", name);
	fflush(stdout);
	return listener;
}

#endif
