/* SPDX-License-Identifier: BSD-3-Clause */

/* A client of MOUNT version 3 over TCP (mount_client.h). */

#include "mount_client.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <weir/rpc.h>

#define LAST_FRAGMENT 0x80000000u
#define HEAD_WORDS    6u /* words of an accepted reply before its results */

static struct sockaddr_in loopback(uint32_t host, uint32_t port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((in_port_t)port),
				    .sin_addr.s_addr = htonl(0x7f000000u | host)};
}

int mount_connect(uint32_t host, uint32_t port)
{
	const struct sockaddr_in from = loopback(host, 0), to = loopback(1, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

uint32_t mount_begin(int fd, uint32_t proc, const char *path)
{
	static uint32_t xid;
	uint32_t len = path ? (uint32_t)strlen(path) : 0, bytes = 44;
	uint8_t record[44 + 4 + MOUNT3_PATH_MAX] = {0};
	/*
	 * The words are the record mark; then XID, CALL, RPC version 2, program, version and
	 * procedure; AUTH_NONE as credential and as verifier; and the length of the path.
	 */
	uint32_t words[12] = {0, ++xid, 0, 2, MOUNT3_PROGRAM, MOUNT3_V3, proc, 0, 0, 0, 0, len};

	if (path)
		bytes += 4 + (len + 3) / 4 * 4;
	assert_true(bytes <= sizeof(record));
	words[0] = LAST_FRAGMENT | (bytes - 4);
	for (uint32_t i = 0; i < 12; i++)
		words[i] = htonl(words[i]);
	memcpy(record, words, path ? 48 : 44);
	if (path)
		memcpy(record + 48, path, len);
	assert_int_equal(send(fd, record, bytes, MSG_NOSIGNAL), bytes);
	return xid;
}

static void receive(int fd, uint32_t *words, uint32_t n)
{
	/* recv() with a length of 0 would wait for data, so that it must not be called. */
	if (n > 0)
		assert_int_equal(recv(fd, words, n * 4, MSG_WAITALL), n * 4);
	for (uint32_t i = 0; i < n; i++)
		words[i] = ntohl(words[i]);
}

void mount_end(int fd, struct mount_reply *reply)
{
	uint32_t mark, head[HEAD_WORDS];

	receive(fd, &mark, 1);
	receive(fd, head, HEAD_WORDS);
	/* The message is a REPLY with MSG_ACCEPTED and an empty verifier. */
	assert_int_equal(head[1], 1);
	assert_int_equal(head[2], 0);
	assert_int_equal(head[4], 0);
	reply->xid = head[0];
	reply->accept_stat = head[5];
	reply->n = (mark & ~LAST_FRAGMENT) / 4 - HEAD_WORDS;
	assert_true(reply->n <= sizeof(reply->words) / sizeof(reply->words[0]));
	receive(fd, reply->words, reply->n);
}

uint32_t mount_call(int fd, uint32_t proc, const char *path)
{
	struct mount_reply reply;
	uint32_t xid = mount_begin(fd, proc, path);

	mount_end(fd, &reply);
	assert_int_equal(reply.xid, xid);
	assert_int_equal(reply.accept_stat, WEIR_RPC_SUCCESS);
	return reply.n > 0 ? reply.words[0] : 0;
}

void mount_decode(struct mount_reply *reply, struct weir_xdr_in *in)
{
	for (uint32_t i = 0; i < reply->n; i++)
		reply->words[i] = htonl(reply->words[i]);
	weir_xdr_in_init(in, reply->words, reply->n * 4);
}

enum mount3_status mount_mnt(int fd, const char *path, struct nfs3_fh *fh)
{
	struct mount3_mnt_res res;
	struct mount_reply reply;
	struct weir_xdr_in in;

	mount_begin(fd, MOUNT3_MNT, path);
	mount_end(fd, &reply);
	assert_int_equal(reply.accept_stat, WEIR_RPC_SUCCESS);
	mount_decode(&reply, &in);
	assert_int_equal(mount3_mnt_res_get(&in, &res), 0);
	assert_int_equal(weir_xdr_remaining(&in), 0);
	if (res.status != MOUNT3_OK || !fh)
		return res.status;
	*fh = (struct nfs3_fh){.len_bytes = res.fh.len_bytes};
	memcpy(fh->data, res.fh.data, res.fh.len_bytes);
	return res.status;
}

bool mount_is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK) <= 0;
}
