/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a process at each interval. */
#include "watch.h"

#define WAIT_MS 2000u /* for a process that answers slowly */

/* Reads the process into the older one of the two states. */
static enum watch_result read_next(struct watch *watch)
{
	const struct watch_scope scope = {.conns = WATCH_CONNS, .wait_ms = WAIT_MS};
	struct watch_state *next = &watch->states[1 - watch->current];
	enum watch_result result = watch_read(&watch->sock, &scope, next);

	if (result != WATCH_OK)
		return result;
	rates_compute(watch->has_before ? watch_state(watch) : NULL, next, &watch->rates);
	watch->current = 1 - watch->current;
	watch->has_before = watch->has_state = true;
	return WATCH_OK;
}

enum watch_result watch_update(struct watch *watch)
{
	if (watch->sock.fd < 0) {
		watch->has_before = false;
		watch->result = watch_open(&watch->sock, watch->path, WAIT_MS);
		if (watch->result != WATCH_OK)
			return watch->result;
	}
	watch->result = read_next(watch);
	if (watch->result != WATCH_OK)
		watch_close(&watch->sock);
	return watch->result;
}
