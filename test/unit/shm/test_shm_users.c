/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the users with which the driver shm connects: the options, and their effect on each kind
 * of user.
 */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <rte_log.h>

#include "life.h"
#include "users.h"

#define OWN   1000u
#define OTHER 1001u
#define GROUP 2001u
#define MORE  2002u /* a supplementary group */

static const struct weir_peer root = {.has_credentials = true};
static const struct weir_peer own = {.has_credentials = true, .uid = OWN, .gid = OWN, .pid = 7};
static const struct weir_peer other = {
	.has_credentials = true, .uid = OTHER, .gid = GROUP, .pid = 8};
static const struct weir_peer unknown = {.has_credentials = false, .uid = OWN};
static const uint32_t groups[] = {5, MORE};

static struct shm_options parsed(const char *text)
{
	struct shm_options options;

	assert_int_equal(shm_options_parse(text, &options), 0);
	return options;
}

static struct shm_overflow overflow = {UINT32_MAX, UINT32_MAX};

static bool connects(const char *text, const struct weir_peer *who, uint32_t ngroups)
{
	struct shm_options options = parsed(text);
	const struct shm_admission side = {&options, OWN, overflow};

	return shm_users_may_connect(&side, who, groups, ngroups);
}

static bool serves(const char *text, const struct weir_peer *who)
{
	struct shm_options options = parsed(text);
	const struct shm_admission side = {&options, OWN, overflow};

	return shm_users_may_serve(&side, who);
}

static void connect__own_user_and_root_by_default(void **state)
{
	(void)state;
	assert_true(connects("", &own, 2));
	assert_true(connects("", &root, 0));
	assert_false(connects("", &other, 2));
	assert_false(connects("", &unknown, 0));
	assert_true(serves("", &own));
	assert_true(serves("", &root));
	assert_false(serves("", &other));
	assert_false(serves("", &unknown));
}

static void connect__others_are_listed(void **state)
{
	(void)state;
	assert_true(connects("peer_uid=7:1001", &other, 0));
	assert_true(connects("peer_uid=7:1001", &own, 0));
	assert_false(connects("peer_uid=7:100", &other, 0));
	assert_true(connects("peer_gid=2001", &other, 0));
	assert_true(connects("peer_gid=9:2002", &other, 2));
	assert_false(connects("peer_gid=9:2002", &other, 1));
	/* The number of a user does not match a group, and vice versa. */
	assert_false(connects("peer_gid=1001", &other, 2));
	assert_false(connects("peer_uid=2001", &other, 2));
	assert_true(connects("peer_uid=any", &other, 0));
	assert_true(connects("peer_gid=any", &other, 0));
}

/* Checks that the lists for one direction do not apply to the other. */
static void serve__is_a_list_of_its_own(void **state)
{
	(void)state;
	assert_true(serves("server_uid=1001", &other));
	assert_true(serves("server_uid=any", &other));
	assert_false(serves("server_uid=1002", &other));
	assert_false(serves("peer_uid=any,peer_gid=2001", &other));
	assert_false(connects("server_uid=any", &other, 2));
}

static void options__what_is_no_list_is_refused(void **state)
{
	static const char *const wrong[] = {
		"peer_uid",	  "peer_uid=",	    "peer_uid=x",
		"peer_uid=1:",	  "peer_uid=:1",    "peer_uid=1::2",
		"peer_uid=any:1", "peer_uid=1:any", "peer_uid=4294967295",
		"peer_uid=-1",	  "peer_uid=0x10",  "peer_gid=1.2",
		"server_uid= 1",  "server_uid=1 ",  "mode=0888",
		"mode=01777",	  "mode=0066",	    "mode=0400",
		"mode=",	  "mode=rw",	    "peer_uid=99999999999999999999",
	};
	struct shm_options options;
	char many[256] = "peer_uid=1";

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (shm_options_parse(wrong[i], &options) != -EINVAL)
			fail_msg("'%s' is taken", wrong[i]);
	for (uint32_t i = 1; i < SHM_IDS_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), ":%u", i);
	assert_int_equal(parsed(many).peer_uids.n, SHM_IDS_MAX);
	snprintf(many + strlen(many), sizeof(many) - strlen(many), ":3");
	assert_int_equal(shm_options_parse(many, &options), -EINVAL);
}

static void options__mode_is_octal(void **state)
{
	(void)state;
	assert_int_equal(parsed("").mode, 0600);
	assert_int_equal(parsed("mode=660").mode, 0660);
	assert_int_equal(parsed("mode=0777").mode, 0777);
}

/*
 * Checks the overflow ID of a user namespace. It stands for all users that have no number there.
 * Therefore it identifies nobody, even if this side's own user has it.
 */
static void connect__a_number_of_many_users_is_nobodys(void **state)
{
	(void)state;
	overflow = (struct shm_overflow){OWN, GROUP};
	assert_false(connects("", &own, 0));
	assert_false(connects("peer_uid=1000", &own, 0));
	assert_false(serves("", &own));
	assert_false(serves("server_uid=1000", &own));
	assert_false(connects("peer_gid=2001", &other, 0));
	assert_true(connects("peer_gid=2002", &other, 2));
	assert_true(connects("peer_uid=1001", &other, 0));
	assert_true(connects("peer_uid=any", &own, 0));
	assert_true(connects("", &root, 0));
	overflow = (struct shm_overflow){5, 5};
	assert_false(connects("peer_gid=5", &other, 1));
	overflow = (struct shm_overflow){UINT32_MAX, UINT32_MAX};
}

static void overflow__is_none_where_every_number_is_mapped(void **state)
{
	(void)state;
	assert_int_equal(shm_overflow_of("         0          0 4294967295\n", 65534), UINT32_MAX);
	assert_int_equal(
		shm_overflow_of("0 0 2147483648\n2147483648 2147483648 2147483647\n", 65534),
		UINT32_MAX);
	assert_int_equal(shm_overflow_of("         0     100000      65536\n", 65534), 65534);
	assert_int_equal(shm_overflow_of("65534 1000 1\n", 65534), 65534);
	assert_int_equal(shm_overflow_of("", 65534), 65534);
}

/* Returns true if the kernel reports the pidfd of a peer, as Linux does from 6.5 on. */
static bool has_peer_pidfd(int sock)
{
	socklen_t len = sizeof(int);
	int fd = -1;

	if (getsockopt(sock, SOL_SOCKET, 77, &fd, &len) != 0)
		return false;
	close(fd);
	return true;
}

/* Returns a socket whose peer is a process that has ended. */
static int connect_to_the_dead(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 +
			(socklen_t)snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
					    "weir-test-%d", (int)getpid());
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int ready[2], end[2];
	char byte = 0;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	child = fork();
	if (child == 0) {
		int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		if (bind(listener, (struct sockaddr *)&addr, len) != 0 || listen(listener, 1) != 0)
			_exit(1);
		_exit(write(ready[1], &byte, 1) == 1 && read(end[0], &byte, 1) == 1 ? 0 : 1);
	}
	assert_true(child > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, len), 0);
	assert_int_equal(write(end[1], &byte, 1), 1);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(end[i]);
	}
	return fd;
}

/*
 * Checks the PID of a process that has ended. It can be the PID of this process now, so that it
 * proves nothing.
 */
static void own_process__is_one_that_lives(void **state)
{
	const struct weir_peer self = {
		.has_credentials = true, .uid = geteuid() + 1, .pid = getpid()};
	int fds[2], dead = connect_to_the_dead();

	(void)state;
	assert_false(life_is_own(dead, &self));
	close(dead);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	assert_false(life_is_own(fds[0], &other));
	if (has_peer_pidfd(fds[0]))
		assert_true(life_is_own(fds[0], &self));
	close(fds[0]);
	close(fds[1]);
}

/* Returns the peer that is read from a socket if the peer has n groups, numbered from 5000 on. */
static struct weir_peer peer_with_groups(uint32_t n, uint32_t overflow_gid)
{
	const struct shm_overflow of_groups = {UINT32_MAX, overflow_gid};
	struct weir_peer who = {.has_credentials = true};
	gid_t many[WEIR_PEER_GROUPS_MAX + 1], saved[256];
	int fds[2], nsaved = getgroups(256, saved);

	assert_true(nsaved >= 0);
	for (uint32_t i = 0; i < n; i++)
		many[i] = 5000 + i;
	if (setgroups(n, many) != 0)
		skip(); /* only root can set groups */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	assert_int_equal(setgroups((size_t)nsaved, saved), 0);
	shm_users_read_groups(&of_groups, fds[0], &who);
	close(fds[0]);
	close(fds[1]);
	return who;
}

static void groups__are_those_of_the_connect(void **state)
{
	struct weir_peer who = peer_with_groups(WEIR_PEER_GROUPS_MAX, UINT32_MAX);

	(void)state;
	assert_false(who.has_more_groups);
	assert_int_equal(who.ngroups, WEIR_PEER_GROUPS_MAX);
	for (uint32_t i = 0; i < who.ngroups; i++)
		assert_int_equal(who.groups[i], 5000 + i);
	who = peer_with_groups(0, UINT32_MAX);
	assert_false(who.has_more_groups);
	assert_int_equal(who.ngroups, 0);
}

static void groups__that_cannot_be_listed_are_more(void **state)
{
	struct weir_peer who = peer_with_groups(WEIR_PEER_GROUPS_MAX + 1, UINT32_MAX);
	const struct shm_overflow none = {UINT32_MAX, UINT32_MAX};

	(void)state;
	assert_true(who.has_more_groups);
	assert_int_equal(who.ngroups, 0);
	who = peer_with_groups(3, 5001);
	assert_true(who.has_more_groups);
	assert_int_equal(who.ngroups, 2);
	assert_int_equal(who.groups[0], 5000);
	assert_int_equal(who.groups[1], 5002);
	who.has_credentials = false;
	shm_users_read_groups(&none, -1, &who);
	assert_false(who.has_more_groups);
	assert_int_equal(who.ngroups, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect__own_user_and_root_by_default),
		cmocka_unit_test(connect__a_number_of_many_users_is_nobodys),
		cmocka_unit_test(overflow__is_none_where_every_number_is_mapped),
		cmocka_unit_test(connect__others_are_listed),
		cmocka_unit_test(own_process__is_one_that_lives),
		cmocka_unit_test(groups__are_those_of_the_connect),
		cmocka_unit_test(groups__that_cannot_be_listed_are_more),
		cmocka_unit_test(serve__is_a_list_of_its_own),
		cmocka_unit_test(options__what_is_no_list_is_refused),
		cmocka_unit_test(options__mode_is_octal),
	};

	rte_log_set_global_level(RTE_LOG_EMERG);
	return cmocka_run_group_tests_name("shm_users", tests, NULL, NULL);
}
