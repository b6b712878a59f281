/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program without membarrier(2), as on a kernel that was built without it. Then
 * drivers/shm/rdma.c needs a memory barrier for each WRITE, and waits where one membarrier(2) would
 * have been a barrier for both sides.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SKIPPED 77 /* the status by which meson knows a skipped test */

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (argc < 2) {
		fprintf(stderr, "usage: without_membarrier PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		fprintf(stderr, "without_membarrier: no filter of system calls here: %s\n",
			strerror(errno));
		return SKIPPED;
	}
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) != -1 || errno != ENOSYS) {
		fprintf(stderr, "without_membarrier: the filter has no effect\n");
		return 1;
	}
	execv(argv[1], argv + 1);
	fprintf(stderr, "without_membarrier: %s: %s\n", argv[1], strerror(errno));
	return 1;
}
