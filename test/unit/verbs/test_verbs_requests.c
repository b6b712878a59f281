/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of connection requests that wait for the engine's thread (RDMA_CM_EVENT_CONNECT_REQUEST).
 * Peers share the entries of a listener by their addresses. A request that is displaced is
 * rejected, destroyed and counted. The tests have no device: they make the events, and replace the
 * functions of librdmacm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "verbs.h"

#define BACKLOG 8u
#define IDS	64u

static struct verbs_dev dev;
static struct fabric_listener listener;
static struct rdma_cm_id listens, ids[IDS];
static bool is_rejected[IDS], is_destroyed[IDS];
static uint32_t nids, nrejected, ndestroyed, nacked;

/* These functions replace those of librdmacm (by the linker option --wrap). */
int __wrap_rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_len);
int __wrap_rdma_destroy_id(struct rdma_cm_id *id);
int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event);

int __wrap_rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_len)
{
	(void)private_data;
	(void)private_len;
	assert_false(is_rejected[id - ids]);
	is_rejected[id - ids] = true;
	nrejected++;
	return 0;
}

int __wrap_rdma_destroy_id(struct rdma_cm_id *id)
{
	assert_true(is_rejected[id - ids]);
	assert_false(is_destroyed[id - ids]);
	is_destroyed[id - ids] = true;
	ndestroyed++;
	return 0;
}

int __wrap_rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	nacked++;
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&dev, 0, sizeof(dev));
	memset(&listener, 0, sizeof(listener));
	memset(ids, 0, sizeof(ids));
	memset(is_rejected, 0, sizeof(is_rejected));
	memset(is_destroyed, 0, sizeof(is_destroyed));
	nids = nrejected = ndestroyed = nacked = 0;
	dev.name = "none";
	TAILQ_INIT(&dev.events);
	TAILQ_INIT(&dev.links);
	listener.is_listener = true;
	listener.dev = &dev;
	listener.ctx = &listener;
	backlog_init(&listener.backlog, BACKLOG);
	listens.context = &listener;
	return 0;
}

/* Polls all requests, and rejects them as an engine does. */
static uint32_t poll_all(void)
{
	struct fabric_cm_event events[BACKLOG];
	uint32_t n = verbs_cm_poll(&dev.fabric, events, BACKLOG);

	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(events[i].kind, FABRIC_CM_REQUEST);
		assert_ptr_equal(events[i].listener_ctx, &listener);
		assert_int_equal(verbs_reject(&dev.fabric, events[i].req, NULL, 0), 0);
	}
	return n;
}

static int teardown(void **state)
{
	(void)state;
	poll_all();
	assert_true(TAILQ_EMPTY(&dev.links));
	assert_true(TAILQ_EMPTY(&dev.events));
	assert_int_equal(atomic_load(&dev.nevents), 0);
	assert_int_equal(listener.backlog.n, 0);
	return 0;
}

/*
 * Makes a request from a numeric address of either family, with a port that no other request has.
 */
static struct rdma_cm_id *request(const char *host)
{
	struct rdma_cm_event event = {.event = RDMA_CM_EVENT_CONNECT_REQUEST};
	struct rdma_cm_id *id = &ids[nids];
	struct sockaddr_in6 *in6 = &id->route.addr.dst_sin6;
	struct sockaddr_in *in = &id->route.addr.dst_sin;

	assert_true(nids < IDS);
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons((uint16_t)(1000 + nids));
	} else {
		assert_int_equal(inet_pton(AF_INET6, host, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons((uint16_t)(1000 + nids));
	}
	nids++;
	event.id = id;
	event.listen_id = &listens;
	verbs_cm_event(&event);
	assert_int_equal(nacked, nids);
	return id;
}

static bool is_gone(const struct rdma_cm_id *id)
{
	return is_destroyed[id - ids];
}

/*
 * Checks that a flood from one address displaces requests of that address, and not those of an
 * address that makes few.
 */
static void request__one_address_does_not_hold_all_entries(void **state)
{
	const struct rdma_cm_id *mine;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		request("192.0.2.1");
	assert_int_equal(ndestroyed, 20 - BACKLOG);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(is_gone(&ids[i]), i < 20 - BACKLOG);
	mine = request("192.0.2.2");
	assert_true(is_gone(&ids[20 - BACKLOG]));
	for (uint32_t i = 0; i < 20; i++)
		request("192.0.2.1");
	assert_false(is_gone(mine));
	assert_int_equal(ndestroyed, 41 - BACKLOG);
	assert_int_equal(poll_all(), BACKLOG);
	assert_int_equal(dev.fabric.stats.requests_displaced, 41 - BACKLOG);
}

static void request__an_address_is_the_same_in_either_form(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < BACKLOG / 2; i++)
		request("192.0.2.1");
	for (uint32_t i = 0; i < BACKLOG / 2; i++)
		request("2001:db8::1");
	request("::ffff:192.0.2.1");
	assert_true(is_gone(&ids[0]));
	request("2001:db8::1");
	assert_true(is_gone(&ids[BACKLOG / 2]));
	request("2001:db8::2");
	assert_true(is_gone(&ids[1]));
	assert_int_equal(ndestroyed, 3);
}

static void request__refused_where_no_other_address_has_more(void **state)
{
	char host[32];

	(void)state;
	for (uint32_t i = 0; i < BACKLOG; i++) {
		snprintf(host, sizeof(host), "192.0.2.%u", i);
		request(host);
	}
	assert_true(is_gone(request("198.51.100.1")));
	assert_int_equal(ndestroyed, 1);
	assert_int_equal(poll_all(), BACKLOG);
	assert_int_equal(dev.fabric.stats.requests_displaced, 1);
	assert_false(is_gone(request("198.51.100.1")));
}

/*
 * Checks a request whose peer gives up before the engine polls. It keeps its entry until the poll,
 * and can be displaced.
 */
static void request__displaced_after_its_peer_has_left(void **state)
{
	struct rdma_cm_event event = {.event = RDMA_CM_EVENT_DISCONNECTED};

	(void)state;
	event.id = request("192.0.2.1");
	verbs_cm_event(&event);
	nacked--;
	for (uint32_t i = 0; i < BACKLOG; i++)
		request("192.0.2.1");
	assert_true(is_gone(&ids[0]));
	/* Further events for the request are reported to nobody. */
	verbs_cm_event(&event);
	assert_int_equal(ndestroyed, 1);
}

/* A request can only be accepted on the device at which it has arrived. */
static void request__of_another_device(void **state)
{
	struct ibv_context contexts[2];
	struct verbs_link link = {.id = &ids[0]};
	const struct fabric_ops *ops = fabric_driver_find("verbs");

	(void)state;
	ids[0].verbs = &contexts[0];
	dev.context = &contexts[0];
	assert_true(ops->can_accept(&dev.fabric, &link));
	dev.context = &contexts[1];
	assert_false(ops->can_accept(&dev.fabric, &link));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(request__one_address_does_not_hold_all_entries),
		TEST(request__an_address_is_the_same_in_either_form),
		TEST(request__refused_where_no_other_address_has_more),
		TEST(request__displaced_after_its_peer_has_left),
		TEST(request__of_another_device),
	};

	return cmocka_run_group_tests_name("verbs_requests", tests, NULL, NULL);
}
