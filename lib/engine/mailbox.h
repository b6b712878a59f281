/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MAILBOX_H
#define MAILBOX_H

/*
 * The mailbox of an engine: functions that other threads post by weir_engine_post(), and that the
 * engine's thread runs. It is a ring of messages with many producers and one consumer.
 */

#include <stdbool.h>
#include <stdint.h>

struct weir_engine;

#define MAILBOX_ROUNDS_MAX                                                                         \
	64u /* calls of mailbox_poll() that together run twice the messages of a full mailbox */

/* Creates engine->mailbox. Returns 0 or -errno. mailbox_destroy() frees the mailbox without running
 * its messages. */
int mailbox_create(struct weir_engine *engine);
void mailbox_destroy(struct weir_engine *engine);

/* Returns whether no message waits. Only the engine's thread may call this function. */
bool mailbox_is_empty(const struct weir_engine *engine);

/* Runs the functions of the messages in the mailbox, up to 32 of them. Returns how many ran. Only
 * the engine's thread may call this function. */
uint32_t mailbox_poll(struct weir_engine *engine);

#endif
