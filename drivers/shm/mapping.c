/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks what a peer passes to be mapped, and maps and unmaps memory that is shared with a peer. */
#include "resize.h"
#include "mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sigbus_guard.h"
#include "unlocked.h"

static size_t ordinary_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t round_up(uint64_t len, size_t page)
{
	return (size_t)((len + page - 1) / page * page);
}

bool mapping_is_memfd(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	/* If the memfd could shrink, the peer could make this side's accesses raise SIGBUS at any
	 * time. */
	return seals >= 0 && seals & F_SEAL_SHRINK;
}

size_t mapping_hugepage_bytes(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == HUGETLBFS_MAGIC ? (size_t)fs.f_bsize : 0;
}

/* Returns whether a file has 'len' bytes, cannot grow, and has hardly any pages beyond its end.
 * fallocate(2) can have put pages there before the file was sealed. Their number is limited,
 * because the peer can punch out all pages of the file at once, and an access of this process then
 * waits until the kernel has freed them. The function permits the pages by which the kernel rounds
 * up to transparent hugepages, up to the reach of one page table. */
static bool is_bounded(int fd, const struct stat *st, uint64_t len)
{
	size_t page = ordinary_page(), huge = page * (page / sizeof(uint64_t));

	return fcntl(fd, F_GET_SEALS) & F_SEAL_GROW &&
	       (uint64_t)st->st_size <= round_up(len, page) &&
	       (uint64_t)st->st_blocks * 512 <= round_up(len, huge);
}

/* Returns the size of the pages of which a mapping of 'len' bytes of the file from 'offset' on
 * consists, or 0 if the file must not be mapped (mapping_peer()). */
static size_t page_for(int fd, uint64_t offset, uint64_t len, bool is_region)
{
	size_t huge, page = ordinary_page();
	struct stat st;

	if (!mapping_is_memfd(fd) || fstat(fd, &st) != 0 || st.st_size < 0 || len == 0 ||
	    offset > (uint64_t)st.st_size || len > (uint64_t)st.st_size - offset)
		return 0;
	if (!is_region && !is_bounded(fd, &st, len))
		return 0;
	huge = mapping_hugepage_bytes(fd);
	if (huge)
		page = is_region ? huge : 0;
	return page != 0 && offset % page == 0 ? page : 0;
}

/* Excludes a mapping from children of fork(2), because a child would keep the memory in use, and
 * could write to the parent's memory. If this fails, a child has the mapping, but no function of
 * the driver accesses it there. */
static void keep_from_children(void *base, size_t len)
{
	(void)madvise(base, len, MADV_DONTFORK);
}

int mapping_peer(struct shm_mapping *mapping, const struct mapping_owner *owner, int fd,
		 uint64_t offset, uint64_t len, bool is_writable, bool is_region)
{
	size_t page = page_for(fd, offset, len, is_region), whole;
	void *p;
	int rc;

	*mapping = (struct shm_mapping){.guard = GUARD_NONE};
	if (page == 0)
		return -EPROTO;
	whole = round_up(len, page);
	rc = shm_account_charge(owner->account, whole, owner->limits);
	if (rc != 0)
		return rc;
	p = unlocked_map(
		&(struct unlocked){.len = whole,
				   .prot = is_writable ? PROT_READ | PROT_WRITE : PROT_READ,
				   .flags = MAP_SHARED,
				   .fd = fd,
				   .offset = (off_t)offset,
				   .is_huge = page != ordinary_page()});
	if (p == MAP_FAILED) {
		rc = errno == ENOMEM || errno == EAGAIN ? -ENOMEM : -EPROTO;
		shm_account_discharge(owner->account, whole);
		return rc;
	}
	keep_from_children(p, whole);
	shm_account_hold(owner->account);
	mapping->account = owner->account;
	mapping->base = p;
	mapping->len = whole;
	mapping->guard = guard_set(p, whole, page, owner->wake_fd, owner->tag);
	if (mapping->guard != GUARD_NONE)
		return 0;
	mapping_release(mapping);
	return -ENOSPC;
}

int mapping_own(struct shm_mapping *mapping, const char *name, size_t len,
		bool read_only_for_others, int *fd)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL, rc;
	void *p;

	*mapping = (struct shm_mapping){.guard = GUARD_NONE};
	if (read_only_for_others)
		/* this seal does not affect the mapping that exists already */
		seals |= F_SEAL_FUTURE_WRITE;
	*fd = memfd_create(name, MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (*fd < 0)
		return -errno;
	rc = mem_file_resize(*fd, len);
	if (rc == 0 && fchmod(*fd, 0) != 0)
		rc = -errno;
	if (rc == 0) {
		p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
		if (p != MAP_FAILED)
			keep_from_children(p, len);
		if (p != MAP_FAILED && fcntl(*fd, F_ADD_SEALS, seals) == 0) {
			mapping->base = p;
			mapping->len = round_up(len, ordinary_page());
			return 0;
		}
		rc = -errno;
		if (p != MAP_FAILED)
			munmap(p, len);
	}
	close(*fd);
	*fd = -1;
	return rc;
}

int mapping_guard(struct shm_mapping *mapping, int wake_fd, uint64_t tag)
{
	mapping->guard = guard_set(mapping->base, mapping->len, ordinary_page(), wake_fd, tag);
	return mapping->guard == GUARD_NONE ? -ENOSPC : 0;
}

void mapping_release(struct shm_mapping *mapping)
{
	if (!mapping->base)
		return;
	guard_clear(mapping->guard);
	munmap(mapping->base, mapping->len);
	if (mapping->account) {
		shm_account_discharge(mapping->account, mapping->len);
		shm_account_put(mapping->account);
	}
	*mapping = (struct shm_mapping){.guard = GUARD_NONE};
}
