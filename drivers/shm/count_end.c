/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts and logs for the operator why connections end. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "log.h"
#include "shm_dev.h"

/* Counts and logs that a connection ends, because its peer's memory was not mapped. 'error' is
 * -EDQUOT if the memory exceeds the limits of the peer's user, and another value if this process
 * cannot map it. */
static void count_unmapped(struct shm_sock *sock, int error)
{
	struct shm_dev *dev = sock->dev;
	uint32_t left_out;

	shm_count(dev, &dev->nmaps_refused);
	if (!log_rate_take(&dev->log_maps_refused, shm_now_ns(), &left_out))
		return;
	if (error == -EDQUOT)
		LOG(DRIVER, NOTICE,
		    "shm: a connection to %s ends: user %u's memory would take more than "
		    "[limits] map_bytes_peer = %" PRIu64 " or mappings_peer = %" PRIu32
		    " allow; raise them if that is intended",
		    sock->who.address, sock->who.uid, dev->limits.map_bytes, dev->limits.mappings);
	else
		LOG(DRIVER, ERROR,
		    "shm: a connection to %s ends: its memory cannot be mapped: %s. "
		    "Raise the limit of address space (ulimit -v), that of locked memory "
		    "(ulimit -l) where the program calls mlockall(2), or vm.max_map_count, or "
		    "serve fewer connections",
		    sock->who.address,
		    error == -ENOSPC ? "too many mappings of peers' memory" : strerror(-error));
}

void shm_count_end(struct shm_sock *sock, int error)
{
	struct shm_dev *dev = sock->dev;
	uint32_t left_out;

	if (error == -EPROTO)
		shm_count(dev, &dev->nerrors);
	if (error == -EMFILE && log_rate_take(&dev->log_no_descriptors, shm_now_ns(), &left_out))
		LOG(DRIVER, ERROR,
		    "shm: a connection to %s ends: its descriptors cannot be received. "
		    "Raise the limit of open descriptors (ulimit -n), or let the security "
		    "module of this host allow them",
		    sock->who.address);
	if (error == -EDQUOT || error == -ENOMEM || error == -ENOSPC)
		count_unmapped(sock, error);
}
