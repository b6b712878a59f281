/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the entries that weir-nfsd registers with rpcbind, for the address of the NFS listener
 * and for the port of MOUNT.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rpc/rpc.h>
#include <rpc/rpcb_prot.h>

#include "rpcbind.h"
#include "uaddr.h"

#define NFS   100003u
#define MOUNT 100005u

static void assert_entry(const struct rpcbind *rpcbind, uint32_t i, uint32_t prog,
			 const char *netid, const char *uaddr)
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
		 "mount -t nfs -o "
		 "vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=33329 "
		 "192.0.2.1:/EXPORT DIRECTORY"},
		{"[2001:db8::1]:258", "2001:db8::1", 2,
		 "mount -t nfs -o vers=3,proto=rdma,port=258,nolock,mountproto=tcp6,mountport=2 "
		 "[2001:db8::1]:/EXPORT DIRECTORY"},
		{"0.0.0.0", "0.0.0.0", 33329,
		 "mount -t nfs -o "
		 "vers=3,proto=rdma,port=20049,nolock,mountproto=tcp,mountport=33329 HOST:/EXPORT "
		 "DIRECTORY"},
		{"192.0.2.1", "192.0.2.1", 0, "weir-nfs --server 192.0.2.1:20049 --handle @FILE"},
		{NULL, "127.0.0.1", 33329, "weir-nfs --mount-port 33329"},
	};
	struct rpcbind rpcbind;
	char advice[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rpcbind_init(&rpcbind, "", cases[i].listen, cases[i].mount_host,
			     cases[i].mount_port);
		rpcbind_advice(&rpcbind, advice, sizeof(advice));
		assert_string_equal(advice, cases[i].advice);
	}
}

/* The command names the export if it can be typed as it is. */
static void rpcbind_advice__names_the_export(void **state)
{
	static const struct {
		const char *export, *end;
	} cases[] = {
		{"/scratch", " 192.0.2.1:/scratch DIRECTORY"},
		{"/a/b_c-1.2", " 192.0.2.1:/a/b_c-1.2 DIRECTORY"},
		{"/two words", " 192.0.2.1:/EXPORT DIRECTORY"},
		{"/a;reboot", " 192.0.2.1:/EXPORT DIRECTORY"},
		{"/$HOME", " 192.0.2.1:/EXPORT DIRECTORY"},
		{"/\303\244", " 192.0.2.1:/EXPORT DIRECTORY"},
	};
	struct rpcbind rpcbind;
	char advice[256], *end;

	(void)state;
	rpcbind_init(&rpcbind, "", "192.0.2.1", "192.0.2.1", 33329);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rpcbind.export = cases[i].export;
		rpcbind_advice(&rpcbind, advice, sizeof(advice));
		end = strstr(advice, " 192.0.2.1:");
		assert_non_null(end);
		assert_string_equal(end, cases[i].end);
		assert_non_null(strstr(advice, "port=20049,"));
		assert_non_null(strstr(advice, "mountport=33329 "));
	}
}

static void address_split_numeric__what_is_none(void **state)
{
	static const char *const texts[] = {
		"",	   "name",   "1.2.3.4:0", "1.2.3.4:65536", "1.2.3.4:-1",  "[::1",
		"[::1]:0", ":20049", "1.2.3.4.5", "[1.2.3.4.x]:1", "::1::2:20049"};
	char host[HOST_NUMERIC_MAX];
	uint16_t port;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(address_split_numeric(texts[i], 20049, host, &port));
}

/*
 * Checks addresses that rpcbind could return. %u.%u is a port of this host on which a socket
 * listens.
 */
static void uaddr_answers__not_with_other_text(void **state)
{
	static const struct {
		const char *format;
		bool answers;
	} cases[] = {
		{"127.0.0.1.%u.%u", true},	   {"127.0.0.1.%u.%u ", false},
		{"127.0.0.1.%u.%u\033[2J", false}, {"127.0.0.1.%u.%ux", false},
		{"127.0.0.1. %u.%u", false},	   {"127.0.0.1.+%u.%u", false},
		{"127.0.0.1.%u. %u", false},	   {"127.0.0.1.%u.0000%u", false},
		{"127.0.0.1 .%u.%u", false},	   {" 127.0.0.1.%u.%u", false},
		{"127.0.0.1.%ux.%u", false},	   {"127.0.0.1.%u.-%u", false},
		{"127.0.0.1x.%u.%u", false},
	};
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned port;
	char uaddr[64];

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, len), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	port = ntohs(addr.sin_port);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(uaddr, sizeof(uaddr), cases[i].format, port >> 8, port & 255);
		if (uaddr_answers(uaddr) != cases[i].answers)
			fail_msg("%s", cases[i].format);
	}
	/* The lower byte is above 255, so that the sum would be the same port. */
	snprintf(uaddr, sizeof(uaddr), "127.0.0.1.%u.%u", (port >> 8) - 1u, 256u + (port & 255));
	assert_false(uaddr_answers(uaddr));
	close(fd);
}

/* ---- an rpcbind that has one entry ---- */

static struct rpcb registered;
static CLIENT rpcbind_client;
static int rpcbind_fd;

static enum clnt_stat answer(CLIENT *client, rpcproc_t proc, xdrproc_t put, void *args,
			     xdrproc_t get, void *results, struct timeval timeout)
{
	rpcblist *list;

	(void)client, (void)put, (void)args, (void)get, (void)timeout;
	if (proc != RPCBPROC_DUMP) {
		*(bool_t *)results = TRUE;
		return RPC_SUCCESS;
	}
	list = calloc(1, sizeof(*list));
	assert_non_null(list);
	list->rpcb_map =
		(struct rpcb){registered.r_prog, registered.r_vers, strdup(registered.r_netid),
			      strdup(registered.r_addr), strdup("")};
	*(rpcblist **)results = list;
	return RPC_SUCCESS;
}

static bool_t control(CLIENT *client, u_int request, void *info)
{
	(void)client, (void)request, (void)info;
	return TRUE;
}

static void destroy(CLIENT *client)
{
	(void)client;
	close(rpcbind_fd);
}

CLIENT *__wrap_clnt_vc_create(int fd, const struct netbuf *addr, rpcprog_t prog, rpcvers_t vers,
			      u_int send_size, u_int receive_size);

CLIENT *__wrap_clnt_vc_create(int fd, const struct netbuf *addr, rpcprog_t prog, rpcvers_t vers,
			      u_int send_size, u_int receive_size)
{
	static struct clnt_ops ops = {
		.cl_call = answer, .cl_control = control, .cl_destroy = destroy};

	(void)addr, (void)prog, (void)vers, (void)send_size, (void)receive_size;
	rpcbind_fd = fd;
	rpcbind_client.cl_ops = &ops;
	return &rpcbind_client;
}

/* Registers NFS, and stores what is written to standard error in 'said'. */
static void register_nfs(const char *path, char *said, size_t size)
{
	int error = dup(STDERR_FILENO), fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct rpcbind rpcbind;
	ssize_t n;

	assert_true(error >= 0 && fd >= 0);
	rpcbind_init(&rpcbind, path, "192.0.2.1", "192.0.2.1", 0);
	dup2(fd, STDERR_FILENO);
	rpcbind_register(&rpcbind);
	fflush(stderr);
	dup2(error, STDERR_FILENO);
	n = pread(fd, said, size - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	close(error);
	close(fd);
}

static void rpcbind_register__anothers_address_steers_no_terminal(void **state)
{
	static char netid[] = "rdma",
		    uaddr[] = "127.0.0.1.1.2 \033[2J\033]0;title\007\xe2\x80\xae\nweir-nfsd: line";
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char said[1000], folder[] = "/tmp/weir-rpcbind-XXXXXX";
	const char *newline;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 1), 0);
	registered = (struct rpcb){.r_prog = NFS, .r_vers = 3, .r_netid = netid, .r_addr = uaddr};
	register_nfs(addr.sun_path, said, sizeof(said));
	close(fd);
	unlink(addr.sun_path);
	rmdir(folder);
	assert_non_null(strstr(said, "127.0.0.1.1.2 ?[2J"));
	assert_null(strpbrk(said, "\033\007"));
	assert_null(strstr(said, "\xe2\x80\xae"));
	newline = strchr(said, '\n');
	assert_true(newline && newline[1] == '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rpcbind_init__one_family),
		cmocka_unit_test(rpcbind_init__any_address_is_both_families),
		cmocka_unit_test(rpcbind_init__mount_alone_and_nothing),
		cmocka_unit_test(rpcbind_init__mount_is_where_it_listens),
		cmocka_unit_test(rpcbind_advice__names_both_ports),
		cmocka_unit_test(rpcbind_advice__names_the_export),
		cmocka_unit_test(address_split_numeric__what_is_none),
		cmocka_unit_test(uaddr_answers__not_with_other_text),
		cmocka_unit_test(rpcbind_register__anothers_address_steers_no_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
