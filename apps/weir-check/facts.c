/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads all facts. */
#include "facts.h"

#include <stdio.h>
#include <stdlib.h>

struct facts *facts_read(const char *root, const char *user)
{
	struct facts *facts = calloc(1, sizeof(*facts));

	if (!facts)
		return NULL;
	snprintf(facts->root, sizeof(facts->root), "%s", root);
	snprintf(facts->user, sizeof(facts->user), "%s", user);
	facts_read_cpus(facts);
	facts_read_memory(facts);
	facts_read_user(facts);
	facts_read_devices(facts);
	return facts;
}
