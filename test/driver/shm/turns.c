/* SPDX-License-Identifier: BSD-3-Clause */

/* Connections over shm of several users (turns.h). */

#include "turns.h"

#define RECVS	     32u
#define MSG_MAX	     4096u
#define PEER_MSG_MAX 3072u

struct end b;
struct raw raws[RAWS];
struct fabric_qp *qps[RAWS];
static uint32_t users[RAWS]; /* the user of each connection */
uint32_t nraws, nsenders;
uint32_t next_user;

uint64_t messages[USERS], bytes[USERS], by_connection[RAWS];
uint64_t nsent;
int reader;
uint32_t nreads, read_bytes;

struct shm_account *__wrap_shm_account_of(const struct weir_peer *who);

struct shm_account *__wrap_shm_account_of(const struct weir_peer *who)
{
	(void)who;
	return shm_account_get(next_user);
}

int setup(void **state)
{
	(void)state;
	nraws = 0;
	nsenders = RAWS;
	memset(messages, 0, sizeof(messages));
	memset(bytes, 0, sizeof(bytes));
	memset(by_connection, 0, sizeof(by_connection));
	nsent = 0;
	reader = -1;
	nreads = 1;
	read_bytes = RAW_REGION_BYTES;
	end_open(&b, "", RAWS);
	return 0;
}

int teardown(void **state)
{
	(void)state;
	raw_close_all(raws, qps, nraws, &b);
	return 0;
}

const struct shm_dev *dev(void)
{
	return (const struct shm_dev *)b.dev;
}

struct raw *pair(uint32_t user, bool has_mux)
{
	struct raw *raw = &raws[nraws];

	next_user = user;
	raw_init(raw);
	raw->hello.max_msg_bytes = PEER_MSG_MAX;
	if (has_mux)
		raw_offer_mux(raw);
	raw_pair(raw, &b);
	b.ops->unlisten(b.listener);
	b.listener = NULL;
	users[nraws] = user;
	qps[nraws] = b.qp;
	for (uint32_t i = 0; i < RECVS; i++)
		end_recv(&b, b.qp, nraws, 0, MSG_MAX);
	nraws++;
	return raw;
}

void pair_with_mux(uint32_t user)
{
	struct raw *raw = pair(user, true);

	raw_begin_mux(raw);
	assert_int_equal(
		ring_put_tagged(&raw->mux_tx, raw->mux_tag | MUX_HELLO << MUX_KIND_SHIFT, NULL, 0),
		1);
	assert_int_equal(
		ring_put_tagged(&raw->mux_tx, raw->mux_tag | MUX_SWITCH << MUX_KIND_SHIFT, NULL, 0),
		1);
	END_WAIT(&b, NULL, ((struct shm_qp *)b.qp)->rx_in_mux);
}

void send_all(void)
{
	static const uint8_t data[MSG];

	for (uint32_t i = 0; i < nraws && i < nsenders; i++) {
		if (raws[i].muxes)
			while (ring_put_tagged(&raws[i].mux_tx, raws[i].mux_tag, data, MSG) == 1)
				nsent++;
		else
			while (ring_put_one(&raws[i].tx, data, MSG) == 1)
				;
	}
}

void read_region(uint32_t i)
{
	for (uint32_t n = 0; n < nreads; n++)
		assert_true(b.ops->read_direct(qps[i], end_sge(&b, 0, read_bytes), KEY, 0));
	bytes[users[i]] += nreads * read_bytes;
}

uint32_t poll_once(void)
{
	struct fabric_wc wcs[WCS];
	uint32_t n = b.ops->poll(b.dev, wcs, WCS);

	for (uint32_t w = 0; w < n; w++) {
		uint32_t i = (uint32_t)wcs[w].wr_id;

		assert_int_equal(wcs[w].op, FABRIC_RECV);
		assert_int_equal(wcs[w].status, FABRIC_OK);
		messages[users[i]]++;
		by_connection[i]++;
		end_recv(&b, qps[i], i, 0, MSG_MAX);
		if ((int)users[i] == reader)
			read_region(i);
	}
	return n;
}

void poll_full(uint32_t n)
{
	while (n-- > 0) {
		send_all();
		poll_once();
	}
}

void give_region(struct raw *raw)
{
	const struct key_entry entry = {.key = KEY,
					.access = FABRIC_REMOTE_READ,
					.conn_id = KEY_ANY_CONN,
					.region = RAW_REGION_ID,
					.len = RAW_REGION_BYTES};

	memcpy(&raw->keys[KEY & (KEY_ENTRIES - 1)], &entry, sizeof(entry));
	end_post(&b, (struct fabric_wr){.op = FABRIC_READ, .flags = FABRIC_SIGNALED, .rkey = KEY},
		 end_sge(&b, 0, MSG));
	raw_give_region(raw, &b);
	end_wc(&b, NULL, FABRIC_READ, FABRIC_OK);
}

uint32_t polls_to_message(void)
{
	uint32_t n = 1;

	send_all();
	while (poll_once() == 0)
		n++;
	return n;
}

struct shm_qp *latest_qp(void)
{
	return (struct shm_qp *)qps[nraws - 1];
}

void unpair(void)
{
	nraws--;
	raw_fini(&raws[nraws]);
	b.ops->qp_destroy(qps[nraws]);
}
