/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of the clients that can use an export, and of the rules that apply to them. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "client_rules.h"
#include "cred.h"

static struct exports exports;

static struct export *make(const char *clients)
{
	struct export *export = export_make(&exports, "/a", "test");

	assert_non_null(export);
	if (clients)
		assert_int_equal(export_set(export, "clients", clients, "test"), 0);
	return export;
}

static int teardown(void **state)
{
	(void)state;
	exports_free(&exports);
	memset(&exports, 0, sizeof(exports));
	return 0;
}

/* Returns the rules for a peer of the network, or NULL if it cannot use the export. */
static const struct export_rules *at(const char *address)
{
	static struct client client;
	struct weir_peer peer = {.uid = 0};

	snprintf(peer.address, sizeof(peer.address), "%s", address);
	client_of_peer(&client, &peer, &exports);
	return client_rules(&client, &exports, &exports.all[0]);
}

/* Returns the rules for a peer over shm, or NULL if it cannot use the export. */
static const struct export_rules *user(uint32_t uid)
{
	static struct client client;
	const struct weir_peer peer = {
		.address = "process 1", .has_credentials = true, .uid = uid, .gid = uid, .pid = 1};

	client_of_peer(&client, &peer, &exports);
	return client_rules(&client, &exports, &exports.all[0]);
}

/* Returns the rules of an export for a client over TCP, or NULL if it cannot use the export. */
static const struct export_rules *by_tcp(struct client *client, const char *host, bool is_local)
{
	client_of_tcp(client, host, 50000, is_local, &exports);
	return client_rules(client, &exports, &exports.all[0]);
}

static void clients__without_a_list_are_all(void **state)
{
	struct export *export = make(NULL);

	(void)state;
	assert_int_equal(exports_complete(&exports), 0);
	export->rules.anon_uid = 4711;
	assert_int_equal(at("192.0.2.1:40000")->anon_uid, 4711);
	assert_int_equal(at("[2001:db8::1]:40000")->anon_uid, 4711);
	assert_int_equal(user(1000)->anon_uid, 4711);
	assert_int_equal(at("what no driver says")->anon_uid, 4711);
}

static void clients__not_in_the_list_have_none(void **state)
{
	(void)state;
	make("192.0.2.7 198.51.100.0/24 2001:db8::/33 10.0.0.0/255.255.0.0");
	assert_int_equal(exports_complete(&exports), 0);
	assert_non_null(at("192.0.2.7:1"));
	assert_non_null(at("[::ffff:192.0.2.7]:1"));
	assert_null(at("192.0.2.8:1"));
	assert_non_null(at("198.51.100.0:1"));
	assert_non_null(at("198.51.100.255:1"));
	assert_null(at("198.51.101.0:1"));
	assert_null(at("198.51.99.255:1"));
	assert_non_null(at("[2001:db8:7fff::1]:1"));
	assert_null(at("[2001:db8:8000::1]:1"));
	assert_non_null(at("10.0.255.1:1"));
	assert_null(at("10.1.0.1:1"));
	/* Addresses do not match users of this host, and users do not match addresses. */
	assert_null(user(0));
	assert_null(user(1000));
	assert_null(at("process 1"));
	assert_null(at(""));
	assert_null(at(":1"));
	assert_null(at("[]:1"));
	assert_null(at("192.0.2.7"));
}

static void clients__of_this_host(void **state)
{
	(void)state;
	make("local(ro) uid:1000(rw)");
	assert_int_equal(exports_complete(&exports), 0);
	assert_true(user(0)->is_read_only);
	assert_true(user(1001)->is_read_only);
	assert_false(user(1000)->is_read_only);
	assert_null(at("127.0.0.1:1"));
}

static void clients__uid_is_no_other_user(void **state)
{
	(void)state;
	make("uid:1000");
	assert_int_equal(exports_complete(&exports), 0);
	assert_non_null(user(1000));
	assert_null(user(0));
	assert_null(user(1001));
}

/*
 * Checks the precedence of exports(5): a host, then networks, then everyone, whatever the order in
 * the list is. Of entries of one kind, the first one applies.
 */
static void clients__precedence(void **state)
{
	static const char *const orders[] = {
		"*(anonuid=1) 192.0.2.0/24(anonuid=2) 192.0.0.0/16(anonuid=3) 192.0.2.7(anonuid=4)",
		"192.0.2.7(anonuid=4) 192.0.2.0/24(anonuid=2) 192.0.0.0/16(anonuid=3) *(anonuid=1)",
		"192.0.2.0/24(anonuid=2) 192.0.2.7(anonuid=4) *(anonuid=1) 192.0.0.0/16(anonuid=3)",
		("192.0.2.7(anonuid=4) 192.0.2.7 192.0.2.0/24(anonuid=2) 192.0.0.0/16(anonuid=3) "
		 "*(anonuid=1)"),
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		make(orders[i]);
		assert_int_equal(exports_complete(&exports), 0);
		assert_int_equal(at("192.0.2.7:1")->anon_uid, 4);
		assert_int_equal(at("192.0.2.8:1")->anon_uid, 2);
		assert_int_equal(at("192.0.3.8:1")->anon_uid, 3);
		assert_int_equal(at("203.0.113.1:1")->anon_uid, 1);
		assert_int_equal(user(1000)->anon_uid, 1);
		teardown(state);
	}
}

/*
 * Checks that a network of IPv6 contains no IPv4 address, even if it contains all IPv6 addresses.
 */
static void clients__networks_of_ipv6_have_no_ipv4_addresses(void **state)
{
	make("::/0(anonuid=1) 10.0.0.0/8(anonuid=2) *(anonuid=3)");
	assert_int_equal(exports_complete(&exports), 0);
	assert_int_equal(at("10.1.2.3:1")->anon_uid, 2);
	assert_int_equal(at("192.0.2.1:1")->anon_uid, 3);
	assert_int_equal(at("[2001:db8::1]:1")->anon_uid, 1);
	teardown(state);
}

static void clients__inherit_what_they_are_not_given(void **state)
{
	struct export *export = make("192.0.2.1 192.0.2.2(rw,no_root_squash,anongid=9) "
				     "192.0.2.3(no_all_squash,no_secure_port)");

	(void)state;
	/* Keys that follow the list apply to it as well. */
	assert_int_equal(export_set(export, "access", "ro", "test"), 0);
	assert_int_equal(export_set(export, "all_squash", "yes", "test"), 0);
	assert_int_equal(export_set(export, "anonuid", "7", "test"), 0);
	assert_int_equal(export_set(export, "secure_port", "yes", "test"), 0);
	assert_int_equal(exports_complete(&exports), 0);
	assert_true(at("192.0.2.1:1")->is_read_only && at("192.0.2.1:1")->squashes_root);
	assert_true(at("192.0.2.1:1")->squashes_all);
	assert_int_equal(at("192.0.2.1:1")->anon_uid, 7);
	assert_int_equal(at("192.0.2.1:1")->anon_gid, 65534);
	assert_false(at("192.0.2.2:1")->is_read_only || at("192.0.2.2:1")->squashes_root);
	assert_true(at("192.0.2.2:1")->squashes_all);
	assert_int_equal(at("192.0.2.2:1")->anon_uid, 7);
	assert_int_equal(at("192.0.2.2:1")->anon_gid, 9);
	assert_false(at("192.0.2.3:50000")->squashes_all);
	assert_null(at("192.0.2.1:50000"));
}

static void clients__secure_port(void **state)
{
	(void)state;
	make("*(secure_port)");
	assert_int_equal(exports_complete(&exports), 0);
	assert_non_null(at("192.0.2.1:1"));
	assert_non_null(at("[2001:db8::1]:1023"));
	assert_null(at("192.0.2.1:0"));
	assert_null(at("192.0.2.1:1024"));
	assert_null(at("192.0.2.1:66559")); /* as a 16-bit number, the port would be 1023 */
	assert_null(at("192.0.2.1:"));
	assert_non_null(user(0));
	assert_null(user(1000));
}

static void read_ports(const char *text)
{
	char path[] = "/tmp/weir-nfsd-ports-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	client_rules_read_ports(path);
	unlink(path);
}

/* Returns true if a client of MOUNT over TCP with this port counts as root. */
static bool is_roots_by_tcp(uint32_t port)
{
	struct client client;

	client_of_tcp(&client, "127.0.0.1", port, true, &exports);
	return client.is_privileged;
}

static int teardown_ports(void **state)
{
	read_ports("1024\n");
	return teardown(state);
}

/*
 * Checks the limit of secure ports. The sysctl net.ipv4.ip_unprivileged_port_start says from which
 * port on any user of this host can use a port.
 */
static void clients__secure_port_of_this_host_is_one_that_the_kernel_reserves(void **state)
{
	(void)state;
	make("*(secure_port)");
	assert_int_equal(exports_complete(&exports), 0);
	read_ports("600\n");
	assert_non_null(at("127.0.0.5:599"));
	assert_null(at("127.0.0.5:600"));
	assert_null(at("127.0.0.5:1023"));
	assert_null(at("[::ffff:127.0.0.1]:1023"));
	assert_true(is_roots_by_tcp(599));
	assert_false(is_roots_by_tcp(600));
	/* The sysctl does not apply to ports of another host. */
	assert_non_null(at("203.0.113.77:600"));
	assert_non_null(at("[2001:db8:77::1]:1023"));
	assert_null(at("203.0.113.77:1024"));
	assert_non_null(user(0));
	assert_null(user(1000));
	read_ports("0\n");
	assert_null(at("127.0.0.1:1"));
	assert_false(is_roots_by_tcp(1));
	read_ports("4096\n");
	assert_non_null(at("127.0.0.1:1023"));
	assert_null(at("127.0.0.1:1024"));
	assert_true(is_roots_by_tcp(1023));
	assert_false(is_roots_by_tcp(1024));
}

static void clients__secure_port_of_a_host_that_says_nothing(void **state)
{
	(void)state;
	make("*(secure_port)");
	assert_int_equal(exports_complete(&exports), 0);
	read_ports("");
	assert_null(at("127.0.0.1:1"));
	read_ports("1024\n");
	assert_non_null(at("127.0.0.1:1"));
	client_rules_read_ports("/proc/there/is/none");
	assert_null(at("127.0.0.1:1"));
	assert_non_null(at("203.0.113.77:1023"));
}

static void clients__by_tcp(void **state)
{
	struct client client;

	(void)state;
	make("127.0.0.1(ro) local uid:0");
	assert_int_equal(exports_complete(&exports), 0);
	assert_true(by_tcp(&client, "127.0.0.1", true)->is_read_only);
	assert_false(by_tcp(&client, "127.0.0.2", true)->is_read_only);
	assert_null(by_tcp(&client, "127.0.0.2", false));
	assert_false(client_may_connect(&client, &exports));
	assert_non_null(by_tcp(&client, "::ffff:127.0.0.1", false));
	assert_true(client_may_connect(&client, &exports));
}

static void clients__names_of_hosts_are_looked_up(void **state)
{
	(void)state;
	make("localhost");
	assert_int_equal(exports_complete(&exports), 0);
	assert_non_null(at("127.0.0.1:1"));
	assert_null(at("192.0.2.1:1"));
	teardown(state);
	/* The label is too long for a name, so that the resolver is not called. */
	make("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid");
	assert_int_equal(exports_complete(&exports), -2 /* ENOENT */);
}

/*
 * If not 0, the name "many.example" has this number of addresses, from 192.0.2.1 on. These two
 * functions replace those of the C library.
 */
static uint32_t many;

int getaddrinfo(const char *restrict node, const char *restrict service,
		const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
	static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
	struct many {
		struct addrinfo info;
		struct sockaddr_in addr;
	} * all;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (many == 0)
		return real(node, service, hints, found);
	all = calloc(many, sizeof(*all));
	assert_non_null(all);
	for (uint32_t i = 0; i < many; i++) {
		all[i].addr = (struct sockaddr_in){.sin_family = AF_INET};
		all[i].addr.sin_addr.s_addr = htonl(0xc0000200u + i + 1);
		all[i].info.ai_family = AF_INET;
		all[i].info.ai_addr = (struct sockaddr *)&all[i].addr;
		all[i].info.ai_next = i + 1 < many ? &all[i + 1].info : NULL;
	}
	*found = &all[0].info;
	return 0;
}

void freeaddrinfo(struct addrinfo *found)
{
	static void (*real)(struct addrinfo *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "freeaddrinfo");
	if (many == 0)
		real(found);
	else
		free(found);
}

/*
 * Checks that the last address of a name is used like the first one, and that the rules of another
 * entry apply to neither.
 */
static void clients__all_addresses_of_a_name_count(void **state)
{
	many = CLIENT_ADDRS_MAX;
	make("many.example(ro) *(rw)");
	assert_int_equal(exports_complete(&exports), 0);
	assert_true(at("192.0.2.1:1")->is_read_only);
	assert_true(at("192.0.2.32:1")->is_read_only);
	assert_false(at("192.0.2.33:1")->is_read_only);
	teardown(state);
	many++;
	make("many.example(ro) *(rw)");
	assert_int_equal(exports_complete(&exports), -E2BIG);
	many = 0;
}

static void clients__that_are_none(void **state)
{
	static const char *const texts[] = {
		"",
		"10.0.0.0/33",
		"::/129",
		"10.0.0/8",
		"1.2.3",
		"1.2.3.4.5",
		"10.0.0.0/",
		"/8",
		"10.0.0.0/-1",
		"10.0.0.0/255.0.255.0",
		"::/255.0.0.0",
		"@group",
		"*.example.org",
		"uid:",
		"uid:x",
		"uid:-1",
		"uid:4294967295",
		"10.0.0.1 (rw)",
		"10.0.0.1(rw",
		"10.0.0.1(rw)x",
		"10.0.0.1(rw,ro)",
		"*(nonsense)",
		"*()",
		"*(anonuid=-1)",
		"*(anonuid=1,anonuid=1)",
		"(rw)",
		"-a",
		".a",
		"a.",
		"fe80::1%eth0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct export *export = export_make(&exports, "/a", "test");

		assert_int_equal(export_set(export, "clients", texts[i], "test"), -1);
		teardown(state);
	}
}

static struct cred as(const struct client *client, const struct export_rules *rules,
		      const struct weir_rpc_auth_sys *sys)
{
	uint8_t body[WEIR_RPC_AUTH_BODY_MAX];
	struct weir_rpc_auth auth;
	struct cred cred;

	assert_int_equal(weir_rpc_auth_sys_encode(sys, body, &auth), 0);
	assert_int_equal(cred_of(&auth, client, rules, &cred), WEIR_RPC_AUTH_OK);
	return cred;
}

static void cred_of__a_user_of_this_host_is_itself(void **state)
{
	const struct weir_rpc_auth_sys claims = {
		.uid = 1000, .gid = 1000, .ngids = 2, .gids = {0, 4}};
	const struct client nobody = {.has_uid = true, .uid = 2000, .gid = 2001},
			    root = {.has_uid = true};
	const struct export_rules rules = {.squashes_root = false};
	struct cred cred = as(&nobody, &rules, &claims);

	(void)state;
	assert_int_equal(cred.uid, 2000);
	assert_int_equal(cred.gid, 2001);
	assert_int_equal(cred.ngids, 0);
	cred = as(&nobody, &rules, &(struct weir_rpc_auth_sys){.uid = 0});
	assert_int_equal(cred.uid, 2000);
	cred = as(&root, &rules, &claims);
	assert_int_equal(cred.uid, 1000);
	assert_int_equal(cred.ngids, 2);
}

/*
 * Checks a user who has as many groups as the list of a peer can hold, which are more than AUTH_SYS
 * can carry.
 */
static void cred_of__a_user_of_this_host_has_its_groups(void **state)
{
	const struct weir_rpc_auth_sys claims = {
		.uid = 1000, .gid = 1000, .ngids = 2, .gids = {0, 4}};
	struct weir_peer peer = {.has_credentials = true, .uid = 2000, .gid = 2001};
	const struct export_rules rules = {.squashes_root = true, .anon_gid = 78};
	static struct client client;
	struct cred cred;

	(void)state;
	peer.ngroups = WEIR_PEER_GROUPS_MAX;
	for (uint32_t i = 0; i < WEIR_PEER_GROUPS_MAX; i++)
		peer.groups[i] = 5000 + i;
	peer.groups[1] = 0;
	client_of_peer(&client, &peer, &exports);
	cred = as(&client, &rules, &claims);
	assert_int_equal(cred.gid, 2001);
	assert_int_equal(cred.ngids, WEIR_PEER_GROUPS_MAX);
	assert_int_equal(cred.gids[1], 78);
	assert_true(cred_in_group(&cred, 5000));
	assert_true(cred_in_group(&cred, 5000 + WEIR_PEER_GROUPS_MAX - 1));
	assert_false(cred_in_group(&cred, 4));
	/* Mode bits can give a group fewer rights than others have. */
	assert_false(cred_may(&cred, 0, 5000, 0604, false, MAY_READ));
	assert_true(cred_may(&cred, 0, 5000, 0640, false, MAY_READ));
	assert_true(cred_may(&cred, 0, 4, 0604, false, MAY_READ));
}

static void cred_of__a_user_with_more_groups_is_denied(void **state)
{
	const struct weir_rpc_auth none = {.flavor = WEIR_RPC_AUTH_NONE};
	struct weir_peer peer = {
		.has_credentials = true, .uid = 2000, .gid = 2001, .has_more_groups = true};
	struct export_rules rules = {.squashes_root = false, .anon_uid = 77, .anon_gid = 78};
	static struct client client;
	struct cred cred;

	(void)state;
	client_of_peer(&client, &peer, &exports);
	assert_int_equal(cred_of(&none, &client, &rules, &cred), WEIR_RPC_AUTH_TOOWEAK);
	rules.squashes_all = true; /* the user's own groups then have no effect */
	assert_int_equal(cred_of(&none, &client, &rules, &cred), WEIR_RPC_AUTH_OK);
	assert_int_equal(cred.uid, 77);
	rules.squashes_all = false;
	peer.uid = 0;
	client_of_peer(&client, &peer, &exports);
	assert_int_equal(cred_of(&none, &client, &rules, &cred), WEIR_RPC_AUTH_OK);
}

static struct cred without_credential(const struct client *client, const struct export_rules *rules)
{
	const struct weir_rpc_auth none = {.flavor = WEIR_RPC_AUTH_NONE};
	struct cred cred;

	assert_int_equal(cred_of(&none, client, rules, &cred), WEIR_RPC_AUTH_OK);
	return cred;
}

/*
 * Checks that a user of this host without a credential is that user, because the anonymous user can
 * own files that this user must not read.
 */
static void cred_of__a_user_of_this_host_is_itself_without_credential(void **state)
{
	const struct client user = {.has_uid = true, .uid = 2000, .gid = 2001};
	struct export_rules rules = {.squashes_root = true, .anon_uid = 77, .anon_gid = 78};
	struct cred cred = without_credential(&user, &rules);

	(void)state;
	assert_int_equal(cred.uid, 2000);
	assert_int_equal(cred.gid, 2001);
	assert_int_equal(cred.ngids, 0);
	rules.squashes_all = true;
	cred = without_credential(&user, &rules);
	assert_int_equal(cred.uid, 77);
	assert_int_equal(cred.gid, 78);
}

static void cred_of__root_and_networks_are_anonymous_without_credential(void **state)
{
	const struct client clients[] = {{.has_uid = true}, {.has_addr = true}, {.is_local = true}};
	const struct export_rules rules = {.squashes_root = false, .anon_uid = 77, .anon_gid = 78};

	(void)state;
	for (size_t i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		struct cred cred = without_credential(&clients[i], &rules);

		assert_int_equal(cred.uid, 77);
		assert_int_equal(cred.gid, 78);
		assert_int_equal(cred.ngids, 0);
	}
}

static void cred_of__squashes_all(void **state)
{
	const struct weir_rpc_auth_sys claims = {.uid = 1000, .gid = 1000, .ngids = 1, .gids = {4}};
	const struct export_rules rules = {.squashes_all = true, .anon_uid = 77, .anon_gid = 78};
	const struct client client = {.has_addr = true};
	struct cred cred = as(&client, &rules, &claims);

	(void)state;
	assert_int_equal(cred.uid, 77);
	assert_int_equal(cred.gid, 78);
	assert_int_equal(cred.ngids, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(clients__without_a_list_are_all, teardown),
		cmocka_unit_test_teardown(clients__not_in_the_list_have_none, teardown),
		cmocka_unit_test_teardown(clients__of_this_host, teardown),
		cmocka_unit_test_teardown(clients__uid_is_no_other_user, teardown),
		cmocka_unit_test_teardown(clients__precedence, teardown),
		cmocka_unit_test_teardown(clients__networks_of_ipv6_have_no_ipv4_addresses,
					  teardown),
		cmocka_unit_test_teardown(clients__inherit_what_they_are_not_given, teardown),
		cmocka_unit_test_teardown(clients__secure_port, teardown),
		cmocka_unit_test_teardown(
			clients__secure_port_of_this_host_is_one_that_the_kernel_reserves,
			teardown_ports),
		cmocka_unit_test_teardown(clients__secure_port_of_a_host_that_says_nothing,
					  teardown_ports),
		cmocka_unit_test_teardown(clients__by_tcp, teardown),
		cmocka_unit_test_teardown(clients__names_of_hosts_are_looked_up, teardown),
		cmocka_unit_test_teardown(clients__all_addresses_of_a_name_count, teardown),
		cmocka_unit_test_teardown(clients__that_are_none, teardown),
		cmocka_unit_test(cred_of__a_user_of_this_host_is_itself),
		cmocka_unit_test(cred_of__a_user_of_this_host_has_its_groups),
		cmocka_unit_test(cred_of__a_user_with_more_groups_is_denied),
		cmocka_unit_test(cred_of__a_user_of_this_host_is_itself_without_credential),
		cmocka_unit_test(cred_of__root_and_networks_are_anonymous_without_credential),
		cmocka_unit_test(cred_of__squashes_all),
	};

	return cmocka_run_group_tests_name("nfsd_clients", tests, NULL, NULL);
}
