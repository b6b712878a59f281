/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of descriptors that cannot be received, because this process has no free descriptor number
 * or because a security module forbids them. The message that passes such a descriptor waits for a
 * limited time. Other connections do not wait.
 */
#include "shm_raw.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "eal.h"

#define KEY	  (5u << KEY_INDEX_BITS | 9)
#define PEEKS_MAX 400u /* bound for the tries to receive such a message; the driver makes 251 */

static struct end a, b;
static _Atomic uint32_t nsleeps, npeeks;
/* set while the security module forbids messages that pass a region */
static atomic_bool is_forbidden;

int __real_nanosleep(const struct timespec *time, struct timespec *left);
ssize_t __real_recvmsg(int fd, struct msghdr *hdr, int flags);

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
ssize_t __wrap_recvmsg(int fd, struct msghdr *hdr, int flags);

static bool is_control(void)
{
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	return strncmp(name, "weir-shm-cm", 11) == 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	nsleeps += is_control();
	return __real_nanosleep(time, left);
}

/*
 * Acts as a kernel in which a security module forbids a descriptor (security_file_receive()): the
 * message arrives without the descriptor.
 */
ssize_t __wrap_recvmsg(int fd, struct msghdr *hdr, int flags)
{
	ssize_t n = __real_recvmsg(fd, hdr, flags);
	const struct shm_msg *msg = hdr->msg_iovlen == 1 ? hdr->msg_iov->iov_base : NULL;

	if (!is_forbidden || n != (ssize_t)sizeof(*msg) || !is_control() || msg->type != SHM_REGION)
		return n;
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(hdr); cmsg; cmsg = CMSG_NXTHDR(hdr, cmsg)) {
		int fd_passed;

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(&fd_passed, CMSG_DATA(cmsg), sizeof(fd_passed));
		close(fd_passed);
		cmsg->cmsg_type = SCM_CREDENTIALS; /* a type for which the driver does not search */
	}
	hdr->msg_flags |= MSG_CTRUNC;
	npeeks++;
	return n;
}

static int setup(void **state)
{
	(void)state;
	end_open(&a, "", 128);
	end_open(&b, "peer_uid=any", 128);
	nsleeps = npeeks = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	is_forbidden = false;
	end_close(&a);
	end_close(&b);
	return 0;
}

/*
 * Posts a WRITE by the engine's thread that needs a region of the peer, and waits until the driver
 * has asked for the region.
 */
static void need_region(struct raw *raw)
{
	const struct key_entry entry = {
		.key = KEY, .access = FABRIC_REMOTE_WRITE, .region = RAW_REGION_ID, .len = 64};

	memcpy(&raw->keys[9], &entry, sizeof(entry));
	end_post(&b, (struct fabric_wr){.op = FABRIC_WRITE, .flags = FABRIC_SIGNALED, .rkey = KEY},
		 end_sge(&b, 0, 64));
	while (raw_recv(raw, &b) && raw->answer.type != SHM_WANT)
		;
}

/* Connects two other ends, and disconnects them. */
static void others_connect(void)
{
	const char *addr = end_address();
	struct fabric_listener *raws_listener = b.listener;
	struct fabric_qp *raws = b.qp;

	end_listen(&b, addr);
	a.qp = end_connect(&a, addr, &a);
	b.qp = end_accept(&b, &a, &b);
	end_event(&a, &b, FABRIC_CM_ESTABLISHED);
	end_event(&b, &a, FABRIC_CM_ESTABLISHED);
	end_works(&a, &b);
	a.ops->qp_destroy(a.qp);
	a.qp = NULL;
	b.ops->qp_destroy(b.qp);
	b.qp = raws;
	b.ops->unlisten(b.listener);
	b.listener = raws_listener;
}

/*
 * Makes a connection whose next message passes a region. A work request needs that region, and the
 * security module forbids it.
 */
static void pair_forbidden(struct raw *raw)
{
	raw_init(raw);
	raw_pair(raw, &b);
	is_forbidden = true;
	need_region(raw);
	raw_send_region(raw);
}

static void message__that_is_never_received_ends_its_connection(void **state)
{
	struct raw raw;

	(void)state;
	pair_forbidden(&raw);
	END_WAIT(&b, NULL, npeeks > 0);
	/* Meanwhile the control thread does not sleep, and serves other connections. */
	others_connect();
	assert_int_equal(nsleeps, 0);
	for (uint32_t i = 0; b.nevents == 0 && i < 6; i++) {
		uint64_t until = end_now_ns() + END_WAIT_NS;

		while (b.nevents == 0 && end_now_ns() < until)
			end_step(&b, NULL);
	}
	end_event(&b, NULL, FABRIC_CM_DISCONNECTED);
	assert_true(npeeks > 1 && npeeks < PEEKS_MAX);
	assert_int_equal(nsleeps, 0);
	is_forbidden = false;
	/* The request that needed the region has failed. */
	END_WAIT(&b, NULL, b.nwcs == 1);
	assert_int_not_equal(b.wcs[0].status, FABRIC_OK);
	b.nwcs = 0;
	raw_fini(&raw);
	others_connect();
}

static void message__is_received_when_it_is_allowed(void **state)
{
	struct raw raw;

	(void)state;
	pair_forbidden(&raw);
	END_WAIT(&b, NULL, npeeks > 3);
	assert_int_equal(b.nevents, 0);
	is_forbidden = false;
	end_wc(&b, NULL, FABRIC_WRITE, FABRIC_OK);
	assert_int_equal(nsleeps, 0);
	raw_fini(&raw);
}

/*
 * Checks that a connection which cannot be accepted for lack of a descriptor waits in the
 * listener's queue. Existing connections continue.
 */
static void connection__waits_while_there_is_no_descriptor(void **state)
{
	const char *addr = end_address();
	struct rlimit limit, few;
	struct raw raw, other;
	uint64_t until;
	int fd;

	(void)state;
	raw_init(&raw);
	raw_pair(&raw, &b);
	raw_init(&other);
	b.ops->unlisten(b.listener);
	end_listen(&b, addr);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	fd = dup(raw.fd);
	few.rlim_cur = (rlim_t)fd; /* all lower numbers are in use */
	close(fd);
	/* The connecting side has a descriptor for its socket. */
	other.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	few.rlim_cur = (rlim_t)other.fd + 1;
	close(other.fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	raw_connect_only(&other, addr);
	until = end_now_ns() + 100000000u;
	while (end_now_ns() < until)
		end_step(&b, NULL);
	assert_int_equal(nsleeps, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(raw_recv(&other, &b));
	assert_int_equal(other.answer.type, SHM_WELCOME);
	raw_fini(&other);
	raw_fini(&raw);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(message__that_is_never_received_ends_its_connection),
		TEST(message__is_received_when_it_is_allowed),
		TEST(connection__waits_while_there_is_no_descriptor),
	};

	if (mem_eal_start(NULL) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
