/* SPDX-License-Identifier: BSD-3-Clause */
/* What is registered with rpcbind for an address that the NFS listener was given, and for MOUNT's port. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpcbind.h"
#include "uaddr.h"

#define NFS   100003u
#define MOUNT 100005u

static void assert_entry(const struct rpcbind *rpcbind, uint32_t i, uint32_t prog, const char *netid,
			 const char *uaddr)
{
	assert_true(i < rpcbind->n);
	assert_int_equal(rpcbind->entries[i].prog, prog);
	assert_string_equal(rpcbind->entries[i].netid, netid);
	assert_string_equal(rpcbind->entries[i].uaddr, uaddr);
	assert_false(rpcbind->entries[i].is_ours);
}

static void rpcbind_init__one_family(void **state)
{
	static const struct {
		const char *listen, *netid, *uaddr;
	} cases[] = {
		{"192.0.2.1", "rdma", "192.0.2.1.78.81"},
		{"192.0.2.1:258", "rdma", "192.0.2.1.1.2"},
		{"0.0.0.0", "rdma", "0.0.0.0.78.81"},
		{"2001:db8::1", "rdma6", "2001:db8::1.78.81"},
		{"[2001:DB8:0::1]:65535", "rdma6", "2001:db8::1.255.255"},
		{"[2001:db8::1]", "rdma6", "2001:db8::1.78.81"},
	};
	struct rpcbind rpcbind;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rpcbind_init(&rpcbind, "", cases[i].listen, "0.0.0.0", 0);
		assert_int_equal(rpcbind.n, 1);
		assert_entry(&rpcbind, 0, NFS, cases[i].netid, cases[i].uaddr);
	}
}

static void rpcbind_init__any_address_is_both_families(void **state)
{
	struct rpcbind rpcbind;

	(void)state;
	rpcbind_init(&rpcbind, "", "[::]:20050", "::", 2049);
	assert_int_equal(rpcbind.n, RPCBIND_ENTRIES_MAX);
	assert_entry(&rpcbind, 0, NFS, "rdma", "0.0.0.0.78.82");
	assert_entry(&rpcbind, 1, NFS, "rdma6", "::.78.82");
	assert_entry(&rpcbind, 2, MOUNT, "tcp", "0.0.0.0.8.1");
	assert_entry(&rpcbind, 3, MOUNT, "tcp6", "::.8.1");
}

static void rpcbind_init__mount_alone_and_nothing(void **state)
{
	struct rpcbind rpcbind;

	(void)state;
	rpcbind_init(&rpcbind, "", NULL, "127.0.0.1", 513);
	assert_int_equal(rpcbind.n, 1);
	assert_entry(&rpcbind, 0, MOUNT, "tcp", "127.0.0.1.2.1");
	rpcbind_init(&rpcbind, "", NULL, "127.0.0.1", 0);
	assert_int_equal(rpcbind.n, 0);
}

static void rpcbind_init__mount_is_where_it_listens(void **state)
{
	struct rpcbind rpcbind;

	(void)state;
	rpcbind_init(&rpcbind, "", "192.0.2.1", "192.0.2.1", 513);
	assert_int_equal(rpcbind.n, 2);
	assert_entry(&rpcbind, 1, MOUNT, "tcp", "192.0.2.1.2.1");
	rpcbind_init(&rpcbind, "", "2001:db8::1", "2001:db8::1", 513);
	assert_int_equal(rpcbind.n, 2);
	assert_entry(&rpcbind, 1, MOUNT, "tcp6", "2001:db8::1.2.1");
}

static void rpcbind_advice__names_both_ports(void **state)
{
	static const struct {
		const char *listen, *mount_host;
		uint32_t mount_port;
		const char *advice;
	} cases[] = {
		{"192.0.2.1", "192.0.2.1", 33329,
		 "mount -t nfs -o vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=33329 "
		 "192.0.2.1:/EXPORT DIRECTORY"},
		{"[2001:db8::1]:258", "2001:db8::1", 2,
		 "mount -t nfs -o vers=3,proto=rdma,port=258,nolock,mountproto=tcp6,mountport=2 "
		 "[2001:db8::1]:/EXPORT DIRECTORY"},
		{"0.0.0.0", "0.0.0.0", 33329,
		 "mount -t nfs -o vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=33329 "
		 "HOST:/EXPORT DIRECTORY"},
		{"192.0.2.1", "192.0.2.1", 0, "weir-nfs --server 192.0.2.1:20049 --handle @FILE"},
		{NULL, "127.0.0.1", 33329, "weir-nfs --mount-port 33329"},
	};
	struct rpcbind rpcbind;
	char advice[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rpcbind_init(&rpcbind, "", cases[i].listen, cases[i].mount_host, cases[i].mount_port);
		rpcbind_advice(&rpcbind, advice, sizeof(advice));
		assert_string_equal(advice, cases[i].advice);
	}
}

static void uaddr_split__what_is_none(void **state)
{
	static const char *const texts[] = {"",		  "name",	   "1.2.3.4:0",	  "1.2.3.4:65536",
					    "1.2.3.4:-1", "[::1",	   "[::1]:0",	  ":20049",
					    "1.2.3.4.5",  "[1.2.3.4.x]:1", "::1::2:20049"};
	char host[UADDR_HOST_BYTES];
	uint32_t port;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(uaddr_split(texts[i], 20049, host, &port));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rpcbind_init__one_family),
		cmocka_unit_test(rpcbind_init__any_address_is_both_families),
		cmocka_unit_test(rpcbind_init__mount_alone_and_nothing),
		cmocka_unit_test(rpcbind_init__mount_is_where_it_listens),
		cmocka_unit_test(rpcbind_advice__names_both_ports),
		cmocka_unit_test(uaddr_split__what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
