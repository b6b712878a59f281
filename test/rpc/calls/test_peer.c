/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the identity of a peer that the application is given, and of the accept callback, by
 * which the application accepts or refuses a peer.
 */
#include "pair_main.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "conn.h"
#include "engine.h"
#include "raw.h"
#include "responder.h"

static struct pair pair;
static struct weir_peer asked; /* the peer that was passed to the accept callback */
static uint32_t nasked;
static int answer;

#define MARK 4711

static int on_accept(const struct weir_peer *peer, void *arg)
{
	assert_ptr_equal(arg, &pair);
	assert_int_equal(peer->struct_bytes, sizeof(*peer));
	asked = *peer;
	nasked++;
	return answer;
}

static int setup(void **state)
{
	(void)state;
	answer = 0;
	nasked = 0;
	pair_accept = on_accept;
	pair_start(&pair, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_stop(&pair);
	pair_accept = NULL;
	return 0;
}

/*
 * Checks the identity of a peer. Both sides are this process. Only over shm does the kernel report
 * the credentials of the peer's process.
 */
static void is_known(const struct weir_peer *peer)
{
	bool is_shm = strcmp(pair.driver, "shm") == 0;

	assert_true(strlen(peer->address) > 0);
	assert_int_equal(peer->has_credentials, is_shm);
	if (!is_shm)
		return;
	assert_int_equal(peer->uid, geteuid());
	assert_int_equal(peer->gid, getegid());
	assert_int_equal(peer->pid, getpid());
}

static void conn_peer__names_either_side(void **state)
{
	struct weir_peer peer = {.struct_bytes = sizeof(peer)};

	(void)state;
	assert_int_equal(pair_connect_begin(&pair), 0);
	assert_int_equal(weir_conn_peer(pair.conn, &peer), -ENOTCONN);
	pair_until(&pair, &pair.opened, 1);
	pair_until(&pair, &pair.server_opened, 1);
	assert_int_equal(weir_conn_peer(pair.conn, &peer), 0);
	is_known(&peer);
	assert_int_equal(weir_conn_peer(pair.server_conn, &peer), 0);
	is_known(&peer);
	is_known(&asked);
	assert_string_equal(peer.address, asked.address);
	assert_int_equal(nasked, 1);
}

/*
 * Checks that the library writes no more of a structure than its 'struct_bytes'. An application can
 * have been built when the structure had fewer members.
 */
static void structures__end_where_the_application_says(void **state)
{
	struct weir_counter_info counter = {
		.struct_bytes = offsetof(struct weir_counter_info, group), .group = MARK};
	struct weir_peer peer = {.struct_bytes = offsetof(struct weir_peer, ngroups),
				 .ngroups = MARK};
	struct weir_region_info info = {
		.struct_bytes = offsetof(struct weir_region_info, numa_node), .numa_node = MARK};

	(void)state;
	assert_int_equal(pair_connect_begin(&pair), 0);
	pair_until(&pair, &pair.opened, 1);
	assert_int_equal(weir_counter_info(0, &counter), 0);
	assert_string_equal(counter.name, "polls");
	assert_int_equal(counter.group, MARK);
	assert_int_equal(weir_conn_peer(pair.conn, &peer), 0);
	assert_true(strlen(peer.address) > 0);
	assert_int_equal(peer.ngroups, MARK);
	weir_region_info(pair.client_region, &info);
	assert_true(info.len_bytes > 0);
	assert_int_equal(info.numa_node, MARK);
}

static void accept__refusal_is_the_peers_and_is_counted(void **state)
{
	struct outcome outcome;

	(void)state;
	answer = -EACCES;
	assert_int_equal(pair_connect_begin(&pair), 0);
	pair_until(&pair, &pair.closed, 1);
	assert_int_equal(pair.close_error, -ECONNREFUSED);
	assert_int_equal(nasked, 1);
	assert_int_equal(pair.server_opened, 0);
	assert_int_equal(pair_stats(pair.server).connections_refused, 1);
	assert_int_equal(pair.server->nconnections, 0);
	answer = 0;
	pair_connect(&pair);
	pair_call(&pair, PAIR_NULL, NULL, 0, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(pair_stats(pair.server).connections_refused, 1);
}

/*
 * Checks that all connections of a peer share one account, which exists from the first connection
 * to the end of the last.
 */
static void peer_account__is_of_all_connections_of_a_peer(void **state)
{
	struct engine_peer *account;
	struct weir_conn *first;

	(void)state;
	pair_connect(&pair);
	pair_until(&pair, &pair.server_opened, 1);
	first = pair.conn;
	account = pair.server_conn->peer_account;
	assert_int_equal(account->nconnections, 1);
	pair_connect(&pair);
	pair_until(&pair, &pair.server_opened, 2);
	assert_ptr_equal(pair.server_conn->peer_account, account);
	assert_int_equal(account->nconnections, 2);
	assert_ptr_equal(pair.conn->peer_account, first->peer_account);
	assert_int_equal(first->peer_account->nconnections, 2);
	weir_conn_close(first);
	pair_until(&pair, &pair.server_closed, 1);
	assert_int_equal(account->nconnections, 1);
}

/*
 * Checks that a responder exposes no memory (RFC 8166 section 3.1). With the policy 'pool', the
 * buffers for Long Calls and Reply chunks have a key that a peer could guess, but the responder's
 * connections give no rights with that key. Over shm the responder does not pass the memory to the
 * peer. An access by the peer is refused after the time that the driver waits for memory to be
 * passed.
 */
static void expose__a_responder_gives_no_memory(void **state)
{
	static struct raw raw;
	struct mem_buf *buf;
	uint8_t before;

	(void)state;
	buf = mem_pool_get(pair.server->long_pool);
	assert_non_null(buf);
	before = buf->data[0];
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 1);
	raw.mem[0] = (uint8_t)~before;
	assert_int_not_equal(raw_access(&raw, FABRIC_WRITE, buf->rkey, buf->raddr, 1), FABRIC_OK);
	assert_int_equal(buf->data[0], before);
	mem_pool_put(buf);
	raw_close(&raw);
}

static int setup_replay(void **state)
{
	static const bool non_idempotent[PAIR_NPROCS] = {[PAIR_ECHO] = true};

	pair_non_idempotent = non_idempotent;
	return setup(state);
}

static int teardown_replay(void **state)
{
	pair_non_idempotent = NULL;
	return teardown(state);
}

/*
 * Sends a call with the same bytes and the same XID each time. Returns how many of these calls
 * reached the program: 1, or 0 if the duplicate request cache answered. The identity of the peer is
 * read again for each call, because the responder otherwise keeps it for the life of a connection.
 */
static int call_again(struct raw *raw)
{
	struct words m = {0}, r = {0};
	int before = (int)pair.handled;

	responder_of(pair.server_conn)->caller.is_known = false;
	words_put(&m, 7, 77, 1, 8, 0, 0, 0, 0);
	words_put_rpc(&m, 77, PAIR_ECHO);
	words_put(&m, 1, 0);
	raw_send_words(raw, &m);
	raw_recv_words(raw, &r);
	assert_int_equal(r.w[0], 77);
	assert_int_equal(r.w[3], 0);
	return (int)pair.handled - before;
}

/*
 * Checks that a kept reply is sent only to the user who made the call. The address of a peer is not
 * sufficient, because processes of different PID namespaces can have the same address, and a PID is
 * reused. Between two calls the test gives the connection to another user.
 */
static void replay__is_for_the_same_user_alone(void **state)
{
	static struct raw raw;
	struct weir_peer *who;

	(void)state;
	raw_open(&raw, &pair);
	raw_connect(&raw);
	raw_until(&raw, &pair.server_opened, 1);
	who = &pair.server_conn->identity;
	assert_int_equal(call_again(&raw), 1);
	assert_int_equal(call_again(&raw), 0);
	who->has_credentials = !who->has_credentials;
	assert_int_equal(call_again(&raw), 1);
	assert_int_equal(call_again(&raw), 0);
	who->has_credentials = true;
	for (uint32_t i = 0; i < 3; i++) {
		who->uid = 54321 + i % 2;
		who->gid = 54321 + i / 2;
		assert_int_equal(call_again(&raw), 1);
		assert_int_equal(call_again(&raw), 0);
	}
	assert_int_equal(pair_stats(pair.server).replays, 5);
	/* The cache still has the entry of the user before this one. */
	who->uid = who->gid = 54321;
	assert_int_equal(call_again(&raw), 0);
	raw_close(&raw);
}

static int run(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(conn_peer__names_either_side, setup, teardown),
		cmocka_unit_test_setup_teardown(structures__end_where_the_application_says, setup,
						teardown),
		cmocka_unit_test_setup_teardown(accept__refusal_is_the_peers_and_is_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(peer_account__is_of_all_connections_of_a_peer,
						setup, teardown),
		cmocka_unit_test_setup_teardown(expose__a_responder_gives_no_memory, setup,
						teardown),
		cmocka_unit_test_setup_teardown(replay__is_for_the_same_user_alone, setup_replay,
						teardown_replay),
	};

	return cmocka_run_group_tests_name("peer", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv, run);
}
