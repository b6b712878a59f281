/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers data that a Send places in targets of the peer's receives, and finds data that the peer
 * placed in receives of this side (placement.h). */
#include "placement.h"

#include <string.h>

#include "continuation.h"

/* The gather list of a transmission. */
struct gather {
	struct fabric_sge *sges;
	uint32_t n;	/* elements in the list */
	uint32_t max;	/* maximum number of elements */
	uint32_t bytes; /* length of all elements */
};

/* Adds memory to the gather list, which is not empty. Returns false if the list is full. */
static bool add(struct gather *g, uint8_t *base, uint32_t len, uint32_t lkey)
{
	const struct fabric_sge *last = &g->sges[g->n - 1]; /* exists: the header is an element */
	bool joins = last->lkey == lkey && (uint8_t *)last->addr + last->len == base;

	if (g->n == g->max && !joins)
		return false;
	g->n = conn_gather(g->sges, g->n, base, len, lkey);
	g->bytes += len;
	return true;
}

/* Adds zeros of the buffer 'gap' until the transmission has 'end' bytes. Returns false if the list
 * is full, or if the transmission is already longer. */
static bool add_zeros(struct gather *g, const struct mem_buf *gap, uint32_t end)
{
	return g->bytes == end || (g->bytes < end && add(g, gap->data, end - g->bytes, gap->lkey));
}

/* Adds those parts of a piece that are in transmission 'transmission', after zeros up to their
 * targets. Each receive of the peer has 'per_buffer' targets. The piece starts in target *tbsn,
 * which counts the targets of all transmissions. Sets *tbsn to the target after the piece. Returns
 * false if the list is full, or already extends beyond the start of a target. */
static bool add_piece(struct gather *g, const struct weir_conn *conn, const struct piece *piece,
		      uint32_t per_buffer, uint32_t transmission, uint32_t *tbsn)
{
	uint32_t done = 0;

	while (done < piece->len) {
		uint32_t number = (*tbsn)++, len = piece->len - done;
		struct rtr_target target;

		(void)rtr_buffer_target(&conn->v2->peer.buffer, number % per_buffer, &target);
		if (len > target.length)
			len = target.length;
		if (number / per_buffer == transmission &&
		    (!add_zeros(g, conn->ep.engine->gap, target.offset) ||
		     !add(g, piece->base + done, len, piece->lkey)))
			return false;
		done += len;
	}
	return true;
}

uint32_t conn_gather_placed(const struct weir_conn *conn, struct fabric_sge *sges, uint32_t n,
			    uint32_t max, const struct conn_placed *placed, uint32_t transmission,
			    uint32_t *bytes)
{
	struct gather g = {sges, n, max, *bytes};
	uint32_t per_buffer = rtr_buffer_targets(&conn->v2->peer.buffer), tbsn = 0;

	if (per_buffer == 0)
		return CONN_PLACE_NEVER;
	for (uint32_t i = 0; i < placed->npieces; i++)
		if (placed->which & 1u << i &&
		    !add_piece(&g, conn, &placed->pieces[i], per_buffer, transmission, &tbsn))
			return CONN_PLACE_NEVER;
	if (tbsn > (uint64_t)per_buffer * placed->count)
		return CONN_PLACE_NEVER;
	*bytes = g.bytes;
	return g.n;
}

/* ---- receiving ---- */

/* Lists the receives of a chain in 'bufs', by the number of their transmission. Returns how many
 * there are. */
static uint32_t list_receives(const struct mem_buf *chain,
			      const struct mem_buf *bufs[RTR_TRANSMISSIONS_MAX])
{
	uint32_t n = 0;

	for (; chain && n < RTR_TRANSMISSIONS_MAX; chain = conn_chain_next(chain))
		bufs[n++] = chain;
	return n;
}

uint8_t *conn_find_placed(const struct weir_conn *conn, const struct rtr_item *item,
			  const struct mem_buf *chain)
{
	const struct mem_buf *bufs[RTR_TRANSMISSIONS_MAX];
	uint8_t *first = NULL;
	struct rtr_pieces it;
	struct rtr_piece piece;

	(void)list_receives(chain, bufs);
	rtr_pieces_begin(item, &conn->v2->mine, &it);
	while (rtr_pieces_next(&it, &piece)) {
		uint8_t *at = bufs[piece.transmission]->data + piece.at;

		if (!first)
			first = at;
		if (at != first + piece.item_offset)
			return NULL;
	}
	return first ? first : chain->data; /* the item is empty */
}

void conn_copy_placed(struct weir_conn *conn, const struct rtr_item *item,
		      const struct mem_buf *chain, uint8_t *to)
{
	const struct mem_buf *bufs[RTR_TRANSMISSIONS_MAX];
	struct rtr_pieces it;
	struct rtr_piece piece;

	(void)list_receives(chain, bufs);
	rtr_pieces_begin(item, &conn->v2->mine, &it);
	while (rtr_pieces_next(&it, &piece))
		memcpy(to + piece.item_offset, bufs[piece.transmission]->data + piece.at,
		       piece.len);
	conn->ep.engine->stats.bulk_copies++;
}
