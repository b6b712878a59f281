/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MAILBOX_H
#define MAILBOX_H

/*
 * Calls from other threads to an engine: a ring of messages with many producers and one consumer.
 */

#include <stdint.h>

struct weir_engine;

#define MAILBOX_ROUNDS_MAX                                                                         \
	64u /* calls of mailbox_poll() that run twice what the mailbox can hold */

int mailbox_create(struct weir_engine *engine);
void mailbox_destroy(struct weir_engine *engine);

/* Runs the messages that are in the mailbox, up to a burst. Returns how many ran. */
uint32_t mailbox_poll(struct weir_engine *engine);

#endif
