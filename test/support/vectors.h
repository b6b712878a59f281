/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VECTORS_H
#define VECTORS_H

/* Reads messages by their names from test/support/vectors_v2.txt. */

#include <stdlib.h>

#include "rdma1_msg.h"

#ifndef VECTORS
/* The path from the root of the source tree. The build defines an absolute path. */
#define VECTORS "test/support/vectors_v2.txt"
#endif

/*
 * Finds the message 'name' and copies it to *m. Fails the test if the file has no such message, or
 * if the message does not have the length that the file states.
 */
static inline void vector_read(const char *name, struct msg *m)
{
	FILE *file = fopen(VECTORS, "r");
	unsigned expected = 0;
	static char line[4096];
	char *at;

	assert_non_null(file);
	memset(m, 0, sizeof(*m));
	while (fgets(line, sizeof(line), file))
		if (line[0] == name[0] && line[1] == ' ')
			break;
	at = strstr(line, "  [");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "  [%u bytes]", &expected), 1);
	while (fgets(line, sizeof(line), file) && line[0] == ' ')
		for (at = line;;) {
			char *end;
			unsigned long word = strtoul(at, &end, 16);

			if (end == at)
				break;
			msg_u32(m, (uint32_t)word);
			at = end;
		}
	fclose(file);
	assert_int_equal(m->len, expected);
}

#endif
