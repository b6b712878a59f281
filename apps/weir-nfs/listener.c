/* SPDX-License-Identifier: BSD-3-Clause */
#include "listener.h"

#include <errno.h>

#define RESERVED_PATH  "/proc/sys/net/ipv4/ip_unprivileged_port_start"
#define RESERVED_PORTS 1024u
#define LINE_BYTES     512u
#define STATE_LISTEN   0x0a /* TCP_LISTEN of the kernel */

int listener_scan(FILE *table, uint16_t port, uint32_t *uid, bool *is_found)
{
	char line[LINE_BYTES];
	unsigned at, state, owner;

	if (!fgets(line, sizeof(line), table))
		return -EPROTO;
	while (fgets(line, sizeof(line), table)) {
		/* sl, local and remote address, state, queues, timer, retransmissions, user */
		if (sscanf(line, " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %u", &at,
			   &state, &owner) != 3)
			return -EPROTO;
		if (state != STATE_LISTEN || at != port)
			continue;
		if (*is_found && owner != *uid)
			return -EACCES;
		*is_found = true;
		*uid = owner;
	}
	return ferror(table) ? -EIO : 0;
}

static uint32_t reserved_ports(void)
{
	FILE *file = fopen(RESERVED_PATH, "re");
	unsigned start = RESERVED_PORTS;

	if (!file)
		return RESERVED_PORTS;
	if (fscanf(file, "%u", &start) != 1)
		start = RESERVED_PORTS;
	fclose(file);
	return start;
}

int listener_find(uint16_t port, uint32_t *uid)
{
	static const char *const paths[] = {"/proc/net/tcp", "/proc/net/tcp6"};
	bool is_found = false;

	*uid = 0;
	if (port < reserved_ports())
		return 0;
	for (int i = 0; i < 2; i++) {
		FILE *table = fopen(paths[i], "re");
		int rc;

		/* A host without IPv6 has no second table. */
		if (!table && i == 1 && errno == ENOENT)
			break;
		if (!table)
			return -errno;
		rc = listener_scan(table, port, uid, &is_found);
		fclose(table);
		if (rc != 0)
			return rc;
	}
	return is_found ? 0 : -ENOENT;
}
