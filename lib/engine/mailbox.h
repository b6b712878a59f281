/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MAILBOX_H
#define MAILBOX_H

/* How other threads reach an engine: a ring of messages, many producers, one consumer. */

#include <stdint.h>

struct weir_engine;

#define MAILBOX_ROUNDS_MAX                                                                         \
	64u /* of mailbox_poll(), until as much was run as the mailbox can hold, twice */

int mailbox_create(struct weir_engine *engine);
void mailbox_destroy(struct weir_engine *engine);

/* Run what is there. Returns how many ran. */
uint32_t mailbox_poll(struct weir_engine *engine);

#endif
