/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STUBS_SERVER_H
#define STUBS_SERVER_H

/* The responder of the program of stubs.x, for test_stubs.c. */

#include <string.h>

#include "pair.h"
#include "stubs_rpc.h"

/* The data of the two items begin at these offsets in the memory of both sides. */
#define FIRST_AT  4096u
#define SECOND_AT 70000u

/* The state of the responder. */
struct stubs {
	struct pair *pair;
	struct stub_v1_server v1;
	struct stub_v2_server v2;
	struct weir_request *later; /* a request of STUB_LATER without a reply */
	int32_t later_sum;	    /* its result */
	int ncounted;		    /* calls of STUB_COUNT */
	bool is_copied;		    /* the items of STUB_FETCH name no region */
	int reply_error;	    /* of stub_echo_1_reply() */
};

extern struct stubs stubs;

/* Sets the state, and the entries of both versions for a listener. */
void stubs_start(struct pair *pair, struct weir_program *programs);

#endif
