/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Says what to do about a program that contains DPDK twice: its archives, and its shared libraries.
 * Both register their lists in the same EAL, and DPDK ends the program for that before main()
 * begins. Its message is "Cannot initialize tailq", which does not name the cause.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include <rte_mempool.h>

/* before DPDK's constructors in the same program, which have no priority */
#define BEFORE_DPDK 200

struct loaded {
	const char *file; /* NULL: DPDK's shared library is not loaded */
	uintptr_t base;
};

/* Looks for DPDK's library of memory pools. dl_iterate_phdr() calls it for each loaded object. */
static int find_loaded(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct loaded *loaded = arg;

	(void)size;
	if (!strstr(object->dlpi_name, "/librte_mempool.so"))
		return 0;
	loaded->file = object->dlpi_name;
	loaded->base = object->dlpi_addr;
	return 1;
}

/*
 * Runs at one of these times, both of which are before DPDK ends the program:
 *
 * - in libweir.so, after the constructors of DPDK's shared libraries, and before those of the
 *   program;
 * - in a program that is linked with libweir.a, before the constructors of DPDK's archives.
 */
__attribute__((constructor(BEFORE_DPDK))) static void check_dpdk_copies(void)
{
	struct loaded loaded = {NULL, 0};
	Dl_info used;

	dl_iterate_phdr(find_loaded, &loaded);
	/* If the program has a copy, it is the one that is used. */
	if (!loaded.file || dladdr((void *)(uintptr_t)rte_mempool_create, &used) == 0 ||
	    (uintptr_t)used.dli_fbase == loaded.base)
		return;
	fprintf(stderr,
		"weir: DPDK is in this process twice: %s contains its archives, and %s is loaded. "
		"DPDK does not work in this way, and says 'Cannot initialize tailq'. Link "
		"libweir.a instead of libweir.so, and name DPDK's archives before it: "
		"$(pkg-config --static --libs libdpdk) $(pkg-config --libs weir-static). Or link "
		"DPDK's shared libraries: $(pkg-config --libs weir libdpdk).\n",
		used.dli_fname, loaded.file);
}
