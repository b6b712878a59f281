/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers memory with an engine's device, and keeps the list of the application's regions. */
#include "regions.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "engine.h"
#include "forked.h"
#include "limit.h"
#include "log.h"
#include "owner.h"

/*
 * Returns whether peers may get the descriptor of the file from which a region is mapped. Peers
 * then have access to all of the file, and can keep it. Therefore
 *
 * - the region must be the whole file,
 * - the file must be sealed so that it cannot grow, and
 * - peers must be able to map the file for writing.
 *
 * The file may be longer than the region by less than a page. st_blksize cannot be used as the size
 * of a page, because on tmpfs it can be the size of a transparent hugepage.
 */
static bool may_be_passed(int fd, uint64_t fd_offset, size_t len)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return fd_offset == 0 && fstat(fd, &st) == 0 &&
	       (uint64_t)st.st_size < len + mem_file_page_bytes(fd) &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR && seals >= 0 && seals & F_SEAL_GROW &&
	       !(seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE));
}

/* Registers memory: the function 'reg' of the engine's registrar. If the driver cannot expose the
 * memory to peers, it is registered for local use only, after a log line. */
static int registrar_reg(void *ctx, void *base, size_t len, bool remote, int fd, uint64_t fd_offset,
			 struct mem_keys *keys)
{
	struct weir_engine *engine = ctx;
	uint32_t access = FABRIC_LOCAL_WRITE;
	uint32_t exposed =
		engine->uses_windows ? FABRIC_BIND : FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE;
	bool may_bind = false;
	struct fabric_mr mr;
	int rc = -EOPNOTSUPP;

	if (remote) {
		int passed = fd >= 0 && may_be_passed(fd, fd_offset, len) ? fd : -1;

		rc = engine->ops->mr_register(engine->dev, base, len, access | exposed, passed,
					      fd_offset, &mr);
		may_bind = rc == 0 && engine->uses_windows;
	}
	/*
	 * Memory that cannot be shared with another process can still be a local source or target.
	 */
	if (rc == -EOPNOTSUPP && remote)
		LOG(ENGINE, NOTICE,
		    "region at %p: driver %s can't expose it to peers, because it is %s: no result "
		    "can be placed there, and arguments are copied, up to the profile's "
		    "long_buffer_bytes. Use weir_region_create(), or adopt a shared mapping of a "
		    "whole memfd that has F_SEAL_SHRINK and F_SEAL_GROW, and no seal against "
		    "writing (fcntl, F_ADD_SEALS), where /proc is mounted",
		    base, engine->ops->name,
		    fd < 0 ? "not of a memfd, or /proc is not there to find that out"
			   : "of a memfd that lacks F_SEAL_SHRINK or F_SEAL_GROW, that is larger "
			     "than the region (peers would be given all of it), or that they "
			     "cannot write to");
	if (rc == -EOPNOTSUPP)
		rc = engine->ops->mr_register(engine->dev, base, len, access, fd, fd_offset, &mr);
	if (rc != 0)
		return rc;
	keys->lkey = mr.lkey;
	keys->rkey = may_bind ? mr.lkey : mr.rkey;
	keys->raddr = mr.raddr;
	keys->driver[0] = mr.driver;
	return 0;
}

static void registrar_dereg(void *ctx, struct mem_keys *keys)
{
	struct weir_engine *engine = ctx;
	struct fabric_mr mr = {.lkey = keys->lkey,
			       .rkey = keys->rkey,
			       .raddr = keys->raddr,
			       .driver = keys->driver[0]};

	engine->ops->mr_deregister(engine->dev, &mr);
	memset(keys, 0, sizeof(*keys));
}

void engine_regions_init(struct weir_engine *engine)
{
	engine->registrar = (struct mem_registrar){.ctx = engine,
						   .slot = engine->slot,
						   .reg = registrar_reg,
						   .dereg = registrar_dereg};
}

int weir_engine_add_region(struct weir_engine *engine, struct weir_region *region)
{
	uint32_t i = 0;
	int rc;

	if (OTHER_THREAD(engine))
		return -EPERM;
	if (engine_is_forked(engine))
		return engine_fork_refuse();
	while (i < engine->nregions && engine->regions[i] != region)
		i++;
	if (i == ENGINE_REGIONS_MAX)
		return -ENOSPC;
	rc = mem_region_register(region, &engine->registrar);
	mem_explain_limit(rc);
	if (rc == 0 && i == engine->nregions)
		engine->regions[engine->nregions++] = region;
	return rc;
}

void weir_engine_remove_region(struct weir_engine *engine, struct weir_region *region)
{
	if (OTHER_THREAD(engine))
		return;
	for (uint32_t i = 0; i < engine->nregions; i++) {
		if (engine->regions[i] == region) {
			engine->regions[i] = engine->regions[--engine->nregions];
			mem_region_deregister(region, &engine->registrar);
			return;
		}
	}
}
