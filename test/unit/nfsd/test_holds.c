/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of the shares of a pool of weir-nfsd. What one client holds must never be counted for
 * another client.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client_rules.h"
#include "holds.h"

#define TOTAL 100u

static struct exports exports;
static struct hold first;
static struct holds holds;

static struct holder holder_of(const struct weir_peer *peer)
{
	static struct client client;

	client_of_peer(&client, peer, &exports);
	return (struct holder){.client = client_key(&client)};
}

static void set_peer(struct weir_peer *peer, const char *address)
{
	uint32_t uid;

	*peer = (struct weir_peer){.has_credentials = sscanf(address, "uid %u", &uid) == 1};
	if (peer->has_credentials)
		peer->uid = uid;
	snprintf(peer->address, sizeof(peer->address), "%s", address);
}

/*
 * Returns true if client b is allowed to take 30 of 100 while client a holds 45. If the 45 were
 * counted for b as well, 30 more would be too many.
 */
static bool takes(const char *a, const char *b)
{
	struct weir_peer peers[2];
	struct holder holders[2];
	bool may;

	LIST_INIT(&holds);
	set_peer(&peers[0], a);
	set_peer(&peers[1], b);
	for (uint32_t i = 0; i < 2; i++)
		holders[i] = holder_of(&peers[i]);
	holds_add(&holds, &first, &holders[0], 45);
	may = holds_allow(&holds, &holders[1], TOTAL, TOTAL - 45, 30);
	holds_remove(&first);
	return may;
}

static void holds__of_one_client_are_added_up(void **state)
{
	(void)state;
	assert_false(takes("192.0.2.1:1", "192.0.2.1:2"));
	assert_false(takes("192.0.2.1:1", "[::ffff:192.0.2.1]:2"));
	assert_false(takes("[2001:db8::1]:1", "[2001:db8::1]:1"));
	assert_false(takes("uid 1000", "uid 1000"));
	assert_false(takes("what no driver says", "nor this"));
}

static void holds__of_two_clients_are_apart(void **state)
{
	(void)state;
	assert_true(takes("192.0.2.1:1", "192.0.2.2:1"));
	assert_true(takes("[2001:db8::1]:1", "[2001:db8::2]:1"));
	assert_true(takes("uid 1000", "uid 1001"));
	assert_true(takes("uid 0", "[::]:1"));
	assert_true(takes("uid 0", "what no driver says"));
	assert_true(takes("[::]:1", "what no driver says"));
}

/*
 * Checks two addresses whose FNV-1a hashes are both 0x47dcc03656fd48e8. Anybody can find such
 * pairs.
 */
static void holds__of_addresses_whose_hashes_are_equal(void **state)
{
	(void)state;
	assert_true(takes("[2001:db8:a2e9:c307:3b30:5bf2:8f00:e857]:1",
			  "[2001:db8:a163:431d:2fda:df74:9715:b66]:1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds__of_one_client_are_added_up),
		cmocka_unit_test(holds__of_two_clients_are_apart),
		cmocka_unit_test(holds__of_addresses_whose_hashes_are_equal),
	};

	return cmocka_run_group_tests_name("holds", tests, NULL, NULL);
}
