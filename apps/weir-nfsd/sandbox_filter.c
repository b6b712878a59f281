/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Installs the filter of system calls. The filter allows the calls that a running server makes.
 * System calls that do one of the following are not among them:
 *
 * - start a program
 * - trace or change another process
 * - mount a file system or load code
 * - make a new ring of io_uring, whose operations no filter can check
 */
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox.h"

/*
 * System calls that are allowed with any arguments. A name that this kernel or libseccomp does not
 * know is skipped.
 */
static const char *const plain[] = {
	/* threads, time, and memory */
	"sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getparam",
	"sched_getscheduler", "getpriority", "getcpu", "futex", "futex_waitv", "membarrier",
	"nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time",
	"times", "set_robust_list", "rseq", "exit", "exit_group", "restart_syscall", "rt_sigaction",
	"rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "sigaltstack", "munmap", "mremap",
	"madvise", "brk", "mlock", "mlock2", "munlock", "mincore", "msync", "mbind",
	"get_mempolicy", "set_mempolicy", "memfd_create", "getrandom", "sysinfo", "uname",
	"getrusage",
	/* identity of the process, and of the user as whom a worker acts */
	"getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getresuid",
	"getresgid", "getgroups", "setfsuid", "setfsgid", "setgroups", "capget", "capset",
	"pidfd_open",
	/* events and sockets */
	"poll", "ppoll", "select", "pselect6", "epoll_create1", "epoll_ctl", "epoll_wait",
	"epoll_pwait", "epoll_pwait2", "eventfd2", "signalfd4", "timerfd_create", "timerfd_settime",
	"timerfd_gettime", "pipe2", "io_uring_enter", "socketpair", "connect", "accept", "accept4",
	"bind", "listen", "getsockname", "getpeername", "getsockopt", "setsockopt", "sendto",
	"sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg", "shutdown",
	/* files */
	"open", "openat", "openat2", "creat", "close", "close_range", "dup", "dup2", "dup3",
	"fcntl", "flock", "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv",
	"preadv2", "pwritev", "pwritev2", "lseek", "fsync", "fdatasync", "sync_file_range",
	"syncfs", "fallocate", "truncate", "ftruncate", "fadvise64", "copy_file_range", "stat",
	"lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "access", "faccessat",
	"faccessat2", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown",
	"fchownat", "utimensat", "link", "linkat", "symlink", "symlinkat", "mknod", "mknodat",
	"mkdir", "mkdirat", "unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2",
	"readlink", "readlinkat", "getdents64", "getcwd", "chdir", "umask", "name_to_handle_at",
	"open_by_handle_at", "getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr",
	"flistxattr"};

#define IOCTL_TYPE_MASK 0xff00u
#define IOCTL_TYPE_RDMA 0x1b00u /* RDMA_IOCTL_MAGIC */
#define IOCTL_IF_NAME	0x8910u /* SIOCGIFNAME, for the text of a link-local address's scope */

static int allow_if(scmp_filter_ctx filter, const char *name, struct scmp_arg_cmp test)
{
	int call = seccomp_syscall_resolve_name(name);

	return call == __NR_SCMP_ERROR
		       ? 0
		       : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &test);
}

/*
 * A worker thread lowers its own priority, possibly after the filter is installed. The filter does
 * not allow it to change the priority of other threads.
 */
static int allow_own_priority(scmp_filter_ctx filter)
{
	const struct scmp_arg_cmp tests[] = {SCMP_CMP64(0, SCMP_CMP_EQ, PRIO_PROCESS),
					     SCMP_CMP64(1, SCMP_CMP_EQ, 0)};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(setpriority), 2, tests);
}

/* Allows the system calls that are allowed only with certain arguments. Returns 0 or -errno. */
static int allow_some(scmp_filter_ctx filter)
{
	const uint64_t pid = (uint64_t)getpid();
	const struct {
		const char *name;
		struct scmp_arg_cmp test;
	} rules[] = {
		/* memory that is not executable */
		{"mmap", SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		{"mprotect", SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0)},
		/*
		 * threads, but not processes; the filter cannot check the flags of clone3(), which
		 * are in memory
		 */
		{"clone", SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)},
		/* signals to this process, such as abort() sends, and limits of this process */
		{"tgkill", SCMP_CMP64(0, SCMP_CMP_EQ, pid)},
		{"prlimit64", SCMP_CMP64(0, SCMP_CMP_EQ, 0)},
		{"prctl", SCMP_CMP64(0, SCMP_CMP_EQ, PR_SET_NAME)},
		{"prctl", SCMP_CMP64(0, SCMP_CMP_EQ, PR_GET_NAME)},
		/*
		 * sockets of shm, of rpcbind and of MOUNT, and sockets that serve to convert the
		 * number of an interface to its name
		 */
		{"socket", SCMP_CMP64(0, SCMP_CMP_EQ, AF_UNIX)},
		{"socket", SCMP_CMP64(0, SCMP_CMP_EQ, AF_INET)},
		{"socket", SCMP_CMP64(0, SCMP_CMP_EQ, AF_INET6)},
		/*
		 * RDMA devices, and the number of bytes in a socket, but not the simulation of
		 * terminal input
		 */
		{"ioctl", SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, IOCTL_TYPE_MASK, IOCTL_TYPE_RDMA)},
		{"ioctl", SCMP_CMP64(1, SCMP_CMP_EQ, FIONBIO)},
		{"ioctl", SCMP_CMP64(1, SCMP_CMP_EQ, FIONREAD)},
		{"ioctl", SCMP_CMP64(1, SCMP_CMP_EQ, TCGETS)},
		{"ioctl", SCMP_CMP64(1, SCMP_CMP_EQ, IOCTL_IF_NAME)},
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(rules) / sizeof(rules[0]); i++)
		rc = allow_if(filter, rules[i].name, rules[i].test);
	if (rc == 0)
		rc = allow_own_priority(filter);
	/*
	 * clone3() fails with ENOSYS. The C library then uses clone(), whose flags the filter can
	 * check.
	 */
	return rc != 0 ? rc
		       : seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0,
						NULL);
}

static int allow_plain(scmp_filter_ctx filter)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(plain) / sizeof(plain[0]); i++) {
		int call = seccomp_syscall_resolve_name(plain[i]);

		if (call != __NR_SCMP_ERROR)
			rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 0, NULL);
	}
	return rc;
}

static int set_attributes(scmp_filter_ctx filter)
{
	int rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);

	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
	/*
	 * The system calls are searched for as a binary tree, so that none is slow because many
	 * others precede it.
	 */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	/*
	 * This attribute turns off a mitigation against foreign code, which this process does not
	 * run. The mitigation would slow the process down on kernels before 5.16.
	 */
	if (rc == 0)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	return rc;
}

int sandbox_filter(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rc = filter ? set_attributes(filter) : -ENOMEM;

	if (rc == 0)
		rc = allow_plain(filter);
	if (rc == 0)
		rc = allow_some(filter);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	if (rc != 0)
		fprintf(stderr,
			"weir-nfsd: sandbox: can't install the filter of system calls: %s. The "
			"kernel may lack seccomp; --sandbox off starts the server without a "
			"sandbox\n",
			strerror(-rc));
	return rc;
}
