/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MAILBOX_H
#define MAILBOX_H

/* How other threads reach an engine: a ring of messages, many producers, one consumer. */

#include <stdint.h>

struct weir_engine;

int mailbox_create(struct weir_engine *engine);
void mailbox_destroy(struct weir_engine *engine);

/* Run what is there. Returns how many ran. */
uint32_t mailbox_poll(struct weir_engine *engine);

#endif
