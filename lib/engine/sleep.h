/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SLEEP_H
#define SLEEP_H

/* The descriptors by which a thread waits for an engine (weir_engine_fd()). */

struct weir_engine;

/* Closes the descriptors, if there are any. A child of fork(2) calls it, too. */
void engine_sleep_close(struct weir_engine *engine);

#endif
