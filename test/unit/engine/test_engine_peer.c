/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the accounts of peers: which connections belong to one peer, and that an account exists
 * only while there are references to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine.h"
#include "peer.h"

#define MANY 5000u

static struct weir_engine engine;

static int setup(void **state)
{
	(void)state;
	engine = (struct weir_engine){.profile.connections = 4};
	return engine_peers_create(&engine);
}

static int teardown(void **state)
{
	(void)state;
	engine_peers_destroy(&engine);
	return 0;
}

static struct engine_peer *get_address(const char *address)
{
	struct weir_peer who = {.address = ""};

	snprintf(who.address, sizeof(who.address), "%s", address);
	return engine_peer_get(&engine, &who);
}

static struct engine_peer *get_user(uint32_t uid, int32_t pid)
{
	struct weir_peer who = {.has_credentials = true, .uid = uid, .pid = pid};

	snprintf(who.address, sizeof(who.address), "process %d", (int)pid);
	return engine_peer_get(&engine, &who);
}

static void peer_get__address_without_its_port_is_the_peer(void **state)
{
	struct engine_peer *v4 = get_address("192.0.2.1:700"), *v6 = get_address("[fd00::1]:700");

	(void)state;
	assert_non_null(v4);
	assert_ptr_equal(get_address("192.0.2.1:701"), v4);
	assert_ptr_equal(get_address("192.0.2.1"), v4);
	assert_ptr_equal(get_address("[fd00::1]:9"), v6);
	assert_int_equal(v4->refs, 3);
	for (uint32_t i = 0; i < 3; i++)
		engine_peer_put(&engine, v4);
	for (uint32_t i = 0; i < 2; i++)
		engine_peer_put(&engine, v6);
}

static void peer_get__others_are_other_peers(void **state)
{
	struct engine_peer *peers[] = {
		get_address("192.0.2.1:1"), get_address("192.0.2.10:1"),
		get_address("192.0.2.2:1"), get_user(0, 1),
		get_user(1000, 1),	    engine_peer_get_ours(&engine, "192.0.2.1"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		for (size_t k = 0; k < i; k++)
			assert_ptr_not_equal(peers[i], peers[k]);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		engine_peer_put(&engine, peers[i]);
}

static void peer_get__user_is_the_peer_whatever_the_process(void **state)
{
	struct engine_peer *first = get_user(1000, 17), *second = get_user(1000, 18);

	(void)state;
	assert_ptr_equal(first, second);
	engine_peer_put(&engine, first);
	engine_peer_put(&engine, second);
}

/* Checks that the last reference frees the account. A sanitizer reports an account that is left. */
static void peer_put__the_last_one_frees_the_account(void **state)
{
	static struct engine_peer *peers[MANY];
	char address[32];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(address, sizeof(address), "198.51.%u.%u:1", i / 256, i % 256);
		peers[i] = get_address(address);
		assert_int_equal(peers[i]->refs, 1);
	}
	for (uint32_t i = 0; i < MANY; i++)
		engine_peer_put(&engine, peers[i]);
	peers[0] = get_address("198.51.0.0:2");
	assert_int_equal(peers[0]->refs, 1);
	engine_peer_put(&engine, peers[0]);
	engine_peer_put(&engine, NULL);
}

static void peer_largest__follows_every_connection(void **state)
{
	struct engine_peer *few = get_address("192.0.2.1:1"), *many = get_address("192.0.2.2:1"),
			   *ours = engine_peer_get_ours(&engine, "192.0.2.3");
	struct engine_peer_member members[4] = {0}, own[4] = {0};

	(void)state;
	assert_null(engine_peer_largest(&engine));
	for (uint32_t i = 0; i < 4; i++)
		engine_peer_join(&engine, ours, &own[i]);
	assert_null(
		engine_peer_largest(&engine)); /* connections that this side began do not count */
	engine_peer_join(&engine, few, &members[0]);
	assert_ptr_equal(engine_peer_largest(&engine), few);
	for (uint32_t i = 1; i < 4; i++)
		engine_peer_join(&engine, many, &members[i]);
	assert_ptr_equal(engine_peer_largest(&engine), many);
	engine_peer_leave(&engine, &members[1]);
	engine_peer_leave(&engine, &members[1]); /* a second call has no effect */
	assert_int_equal(many->nconnections, 2);
	assert_ptr_equal(engine_peer_largest(&engine), many);
	engine_peer_leave(&engine, &members[2]);
	engine_peer_leave(&engine, &members[3]);
	assert_ptr_equal(engine_peer_largest(&engine), few);
	engine_peer_leave(&engine, &members[0]);
	assert_null(engine_peer_largest(&engine));
	for (uint32_t i = 0; i < 4; i++)
		engine_peer_leave(&engine, &own[i]);
	engine_peer_put(&engine, few);
	engine_peer_put(&engine, many);
	engine_peer_put(&engine, ours);
}

static void peer_touch__makes_a_connection_the_last_to_go(void **state)
{
	struct engine_peer *peer = get_address("192.0.2.1:1");
	struct engine_peer_member members[3] = {0};

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		engine_peer_join(&engine, peer, &members[i]);
	engine_peer_touch(&engine, &members[0], 7);
	assert_int_equal(members[0].active_ns, 7);
	assert_ptr_equal(TAILQ_FIRST(&peer->members), &members[1]);
	assert_ptr_equal(TAILQ_LAST(&peer->members, engine_peer_members), &members[0]);
	for (uint32_t i = 0; i < 3; i++)
		engine_peer_leave(&engine, &members[i]);
	/* has no effect, because the connection is in no account */
	engine_peer_touch(&engine, &members[0], 8);
	engine_peer_put(&engine, peer);
}

static void peer_oldest__is_of_all_peers_that_connect(void **state)
{
	struct engine_peer *first = get_address("192.0.2.1:1"),
			   *second = get_address("192.0.2.2:1"),
			   *ours = engine_peer_get_ours(&engine, "192.0.2.3");
	struct engine_peer_member members[3] = {0}, own = {0};

	(void)state;
	assert_null(engine_peer_oldest(&engine));
	engine_peer_join(&engine, ours, &own);
	assert_null(
		engine_peer_oldest(&engine)); /* connections that this side began do not count */
	engine_peer_join(&engine, first, &members[0]);
	engine_peer_join(&engine, second, &members[1]);
	engine_peer_join(&engine, first, &members[2]);
	assert_ptr_equal(engine_peer_oldest(&engine), &members[0]);
	engine_peer_touch(&engine, &own, 5);
	engine_peer_touch(&engine, &members[0], 6);
	assert_ptr_equal(engine_peer_oldest(&engine), &members[1]);
	engine_peer_touch(&engine, &members[1], 7); /* this is the only connection of its peer */
	assert_ptr_equal(engine_peer_oldest(&engine), &members[2]);
	engine_peer_leave(&engine, &members[2]);
	assert_ptr_equal(engine_peer_oldest(&engine), &members[0]);
	engine_peer_leave(&engine, &members[0]);
	assert_ptr_equal(engine_peer_oldest(&engine), &members[1]);
	engine_peer_leave(&engine, &members[1]);
	assert_null(engine_peer_oldest(&engine));
	engine_peer_leave(&engine, &own);
	engine_peer_put(&engine, first);
	engine_peer_put(&engine, second);
	engine_peer_put(&engine, ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(peer_get__address_without_its_port_is_the_peer,
						setup, teardown),
		cmocka_unit_test_setup_teardown(peer_get__others_are_other_peers, setup, teardown),
		cmocka_unit_test_setup_teardown(peer_get__user_is_the_peer_whatever_the_process,
						setup, teardown),
		cmocka_unit_test_setup_teardown(peer_put__the_last_one_frees_the_account, setup,
						teardown),
		cmocka_unit_test_setup_teardown(peer_largest__follows_every_connection, setup,
						teardown),
		cmocka_unit_test_setup_teardown(peer_touch__makes_a_connection_the_last_to_go,
						setup, teardown),
		cmocka_unit_test_setup_teardown(peer_oldest__is_of_all_peers_that_connect, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("engine_peer", tests, NULL, NULL);
}
