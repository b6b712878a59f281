/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mutations of messages as lists of fields. A field gets a bound of its kind, or the value of
 * another field. Fields of list entries are removed, repeated and exchanged. The message is cut or
 * extended. Random bytes would not be as useful, because most of them would fail at the first word.
 */
#include <string.h>

#include "message.h"

static uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15u; /* the generator splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint32_t rng_below(struct rng *rng, uint32_t n)
{
	return (uint32_t)((rng_next(rng) >> 32) * n >> 32);
}

#define BOUNDS_MAX 12

/* Values of each kind of field that are at bounds or are otherwise special. */
static const uint64_t bounds[FIELD_KINDS][BOUNDS_MAX] = {
	[FIELD_XID] = {0, 1, UINT32_MAX},
	[FIELD_VERS] = {0, 2, 3, UINT32_MAX, 1u << 24},
	[FIELD_CREDIT] = {0, 1, 2, 0x7fffffff, 0x80000000, UINT32_MAX},
	[FIELD_PROC] = {0, 1, 2, 3, 4, 5, UINT32_MAX},
	[FIELD_ERR] = {0, 1, 2, 3, UINT32_MAX},
	[FIELD_PRESENT] = {0, 1, 2, UINT32_MAX, 1u << 24},
	[FIELD_COUNT] = {0, 1, 2, 16, 255, 256, 257, 65535, 65536, 0x0fffffff, 0x10000000,
			 UINT32_MAX},
	[FIELD_POSITION] = {0, 1, 4, 36, 40, 44, 1000, 0x7ffffffc, 0xfffffffc, UINT32_MAX},
	[FIELD_HANDLE] = {0, 1, UINT32_MAX},
	[FIELD_LENGTH] = {0, 1, 2, 3, 4, 8, 1024, 65536, 0x7fffffff, 0x80000000, 0xfffffffc,
			  UINT32_MAX},
	[FIELD_OFFSET] = {0, 1, UINT32_MAX, 1ull << 32, 1ull << 44, 1ull << 63, UINT64_MAX - 3,
			  UINT64_MAX},
	[FIELD_RPC] = {0, 1, 2, 3, 4, 400, 404, 65536, 0x7fffffff, 0x80000000, 0xfffffffd,
		       UINT32_MAX},
	[FIELD_BYTES] = {0, 1, 3, 4, 512, 4096},
};

static void change_value(struct field *field, struct rng *rng)
{
	switch (rng_below(rng, 4)) {
	case 0: /* a value near the old one */
		field->value += (uint64_t)(int64_t)((int32_t)rng_below(rng, 17) - 8);
		break;
	case 1: /* any value */
		field->base = BASE_ZERO;
		field->value = rng_next(rng) >> rng_below(rng, 64);
		break;
	default:
		field->base = BASE_ZERO;
		field->value = bounds[field->kind][rng_below(rng, BOUNDS_MAX)];
	}
	if (field->kind == FIELD_BYTES)
		field->value &= 4095;
}

/*
 * Inserts a copy of the n fields from index 'from' on before index 'to'. Returns false if the
 * message has no space for them.
 */
static bool insert_copy(struct message *m, uint32_t from, uint32_t n, uint32_t to)
{
	struct field copy[16];

	if (m->nfields + n > FIELDS_MAX)
		return false;
	memcpy(copy, &m->fields[from], n * sizeof(copy[0]));
	memmove(&m->fields[to + n], &m->fields[to], (m->nfields - to) * sizeof(copy[0]));
	memcpy(&m->fields[to], copy, n * sizeof(copy[0]));
	m->nfields += n;
	m->nsent += n;
	return true;
}

static void remove_fields(struct message *m, uint32_t at, uint32_t n)
{
	memmove(&m->fields[at], &m->fields[at + n], (m->nfields - at - n) * sizeof(m->fields[0]));
	m->nfields -= n;
	m->nsent -= n;
}

/*
 * Returns a number of fields to copy, move or remove, beginning with index 'at'. List entries have
 * three (a segment) to six fields.
 */
static uint32_t choose_run(const struct message *m, struct rng *rng, uint32_t at)
{
	uint32_t n = 1 + rng_below(rng, 7);

	return n < m->nsent - at ? n : m->nsent - at;
}

static void change_structure(struct message *m, struct rng *rng)
{
	uint32_t at = rng_below(rng, m->nsent), n = choose_run(m, rng, at), times;

	switch (rng_below(rng, 5)) {
	case 0:
		remove_fields(m, at, n);
		break;
	case 1:
		insert_copy(m, at, n, rng_below(rng, m->nsent + 1));
		break;
	case 2:
		times = 1u << rng_below(rng, 9);
		while (times-- > 0 && insert_copy(m, at, n, at))
			;
		break;
	case 3: {
		uint32_t other = rng_below(rng, m->nsent);
		struct field field = m->fields[at];

		m->fields[at] = m->fields[other];
		m->fields[other] = field;
		break;
	}
	default:
		m->cut_bytes = rng_below(rng, 160);
	}
}

void message_mutate(struct message *message, struct rng *rng)
{
	uint32_t times = 1 + rng_below(rng, 4);

	while (times-- > 0 && message->nsent > 0) {
		if (rng_below(rng, 3) == 0)
			change_structure(message, rng);
		else /* the mutation can also be in the fields in exposed memory */
			change_value(&message->fields[rng_below(rng, message->nfields)], rng);
	}
}
