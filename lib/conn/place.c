/* SPDX-License-Identifier: BSD-3-Clause */
#include "place.h"

struct gather {
	struct fabric_sge *sges;
	uint32_t n;
	uint32_t max;
	uint32_t bytes;
};

/* False: there is no place for it. */
static bool add(struct gather *g, uint8_t *base, uint32_t len, uint32_t lkey)
{
	const struct fabric_sge *last = &g->sges[g->n - 1]; /* there is a header */
	bool joins = last->lkey == lkey && (uint8_t *)last->addr + last->len == base;

	if (g->n == g->max && !joins)
		return false;
	g->n = conn_gather(g->sges, g->n, base, len, lkey);
	g->bytes += len;
	return true;
}

static bool add_zeros(struct gather *g, const struct mem_buf *gap, uint32_t end)
{
	/* What is beyond can't be filled up to it. */
	return g->bytes == end || (g->bytes < end && add(g, gap->data, end - g->bytes, gap->lkey));
}

/* One piece, from target *tbsn on. */
static bool add_piece(struct gather *g, const struct weir_conn *conn, const struct piece *piece,
		      uint32_t *tbsn)
{
	uint32_t done = 0;

	while (done < piece->len) {
		struct rtr_target target;
		uint32_t len;

		if (!rtr_buffer_target(&conn->v2->peer.buffer, (*tbsn)++, &target) ||
		    !add_zeros(g, conn->ep.engine->gap, target.offset))
			return false;
		len = piece->len - done < target.length ? piece->len - done : target.length;
		if (!add(g, piece->base + done, len, piece->lkey))
			return false;
		done += len;
	}
	return true;
}

uint32_t conn_gather_placed(const struct weir_conn *conn, struct fabric_sge *sges, uint32_t n, uint32_t max,
			    const struct piece *pieces, uint32_t npieces, uint32_t placed, uint32_t *bytes)
{
	struct gather g = {sges, n, max, *bytes};
	uint32_t tbsn = 0;

	for (uint32_t i = 0; i < npieces; i++)
		if (placed & 1u << i && !add_piece(&g, conn, &pieces[i], &tbsn))
			return CONN_PLACE_NEVER;
	*bytes = g.bytes;
	return g.n;
}
