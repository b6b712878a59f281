/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides when the server reports to the service manager that it works. */
#include "watchdog.h"

#include <limits.h>
#include <string.h>

#define LOOKS 4u /* in the time within which the service manager wants to hear of the server */

void watchdog_init(struct watchdog *watchdog, uint64_t timeout_ns, uint64_t now_ns)
{
	*watchdog = (struct watchdog){.interval_ns = timeout_ns / LOOKS};
	watchdog->next_ns = now_ns + watchdog->interval_ns;
}

int watchdog_wait_ms(const struct watchdog *watchdog, uint64_t now_ns)
{
	uint64_t ms;

	if (watchdog->interval_ns == 0)
		return -1;
	if (now_ns >= watchdog->next_ns)
		return 0;
	/* The time is rounded up, so that a look does not come too early. */
	ms = (watchdog->next_ns - now_ns + 999999u) / 1000000u;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

bool watchdog_look(struct watchdog *watchdog, const uint64_t *polls, uint32_t n, uint64_t now_ns)
{
	if (watchdog->interval_ns == 0 || now_ns < watchdog->next_ns)
		return false;
	watchdog->next_ns = now_ns + watchdog->interval_ns;
	for (uint32_t i = 0; i < n; i++)
		if (polls[i] == watchdog->seen[i])
			return false;
	memcpy(watchdog->seen, polls, n * sizeof(polls[0]));
	return true;
}
