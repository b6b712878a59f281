/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps memory without access rights first, so that the kernel allocates no page before the mapping
 * is unlocked. */
#include "unlocked.h"

#include <errno.h>
#include <sys/mman.h>

/* At first, only this length is mapped, for which the kernel checks RLIMIT_MEMLOCK. The mapping is
 * then unlocked, and grows to its full length. The value is a multiple of every ordinary page size.
 */
#define FIRST_BYTES 65536u

static void *unlocked_give_up(void *p, size_t len)
{
	int saved = errno;

	munmap(p, len);
	errno = saved;
	return MAP_FAILED;
}

/* With MCL_FUTURE, the kernel allocates no pages for memory without access rights. mprotect(2)
 * allocates none for unlocked memory. Neither does mremap(2), which lets an unlocked mapping grow
 * beyond RLIMIT_MEMLOCK. A mapping of hugepages cannot grow in this way. */
void *unlocked_map(const struct unlocked *what)
{
	size_t len = what->is_huge || what->len < FIRST_BYTES ? what->len : FIRST_BYTES;
	void *p = mmap(NULL, len, PROT_NONE, what->flags, what->fd, what->offset), *whole;

	if (p == MAP_FAILED)
		return p;
	if (munlock(p, len) != 0)
		return unlocked_give_up(p, len);
	if (len < what->len) {
		whole = mremap(p, len, what->len, MREMAP_MAYMOVE);
		if (whole == MAP_FAILED)
			return unlocked_give_up(p, len);
		p = whole;
	}
	return mprotect(p, what->len, what->prot) == 0 ? p : unlocked_give_up(p, what->len);
}

bool unlocked_replace(void *at, const struct unlocked *what)
{
	void *p = unlocked_map(what);

	if (p == MAP_FAILED)
		return false;
	if (mremap(p, what->len, what->len, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at)
		return true;
	unlocked_give_up(p, what->len);
	return false;
}
