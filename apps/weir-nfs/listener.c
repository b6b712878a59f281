/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the user who listens on a TCP port of this host, in the tables of /proc/net. */
#include "listener.h"

#include <errno.h>

#define RESERVED_PATH  "/proc/sys/net/ipv4/ip_unprivileged_port_start"
#define RESERVED_PORTS 1024u
#define LINE_BYTES     512u
#define STATE_LISTEN   0x0a /* the value of TCP_LISTEN in the kernel */
#define OVERFLOW_PATH  "/proc/sys/kernel/overflowuid"
#define OVERFLOW_UID   65534u
#define MAP_PATH       "/proc/self/uid_map"
#define ALL_UIDS       4294967295u /* number of all user IDs; UINT32_MAX is not a user ID */

int listener_scan(FILE *table, uint16_t port, uint32_t *uid, bool *is_found)
{
	char line[LINE_BYTES];
	unsigned at, state, owner;

	if (!fgets(line, sizeof(line), table))
		return -EPROTO;
	while (fgets(line, sizeof(line), table)) {
		/*
		 * The columns are: number, local address, remote address, state, queues, timer,
		 * retransmissions, user.
		 */
		if (sscanf(line,
			   " %*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %u",
			   &at, &state, &owner) != 3)
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

bool listener_is_known(FILE *map, uint32_t overflow, uint32_t uid)
{
	uint64_t n = 0;
	unsigned count;

	if (uid != overflow)
		return true;
	while (map && fscanf(map, "%*u %*u %u", &count) == 1)
		n += count;
	return n >= ALL_UIDS;
}

/*
 * Returns the number at the start of a file, or 'otherwise' if the file has none or cannot be read.
 */
static uint32_t read_number(const char *path, uint32_t otherwise)
{
	FILE *file = fopen(path, "re");
	unsigned number = otherwise;

	if (!file)
		return otherwise;
	if (fscanf(file, "%u", &number) != 1)
		number = otherwise;
	fclose(file);
	return number;
}

static bool is_known(uint32_t uid)
{
	FILE *map = fopen(MAP_PATH, "re");
	bool is = listener_is_known(map, read_number(OVERFLOW_PATH, OVERFLOW_UID), uid);

	if (map)
		fclose(map);
	return is;
}

int listener_find(uint16_t port, uint32_t *uid)
{
	static const char *const paths[] = {"/proc/net/tcp", "/proc/net/tcp6"};
	bool is_found = false;

	*uid = 0;
	if (port < read_number(RESERVED_PATH, RESERVED_PORTS))
		return 0;
	for (int i = 0; i < 2; i++) {
		FILE *table = fopen(paths[i], "re");
		int rc;

		/* A host without IPv6 does not have the table tcp6. */
		if (!table && i == 1 && errno == ENOENT)
			break;
		if (!table)
			return -errno;
		rc = listener_scan(table, port, uid, &is_found);
		fclose(table);
		if (rc != 0)
			return rc;
	}
	if (!is_found)
		return -ENOENT;
	return is_known(*uid) ? 0 : -EACCES;
}
