/* SPDX-License-Identifier: BSD-3-Clause */
/* Combines payload sections and items to the virtual XDR stream of a message. */
#include "rtr_stream.h"

#include "wire.h"

#define LENGTH_SIZE 4u /* the word before an item, which stays in the payload */

/* The state of rtr_stream_parts(). */
struct stream {
	const struct weir_xdr_part *section; /* the current payload section */
	uint32_t left;			     /* sections from the current one on */
	/* bytes of the current section that are in 'parts' already */
	uint32_t at;
	/* bytes of the payload that are in 'parts' already */
	uint64_t done;
	struct weir_xdr_part *parts;
	uint32_t n;
	uint32_t max;
	const uint8_t *last; /* pointer after the last byte of payload that is in 'parts' */
};

static int add(struct stream *s, const uint8_t *base, uint32_t len, bool is_item)
{
	if (s->n == s->max)
		return -E2BIG;
	s->parts[s->n++] =
		(struct weir_xdr_part){.base = base, .len_bytes = len, .is_item = is_item};
	return 0;
}

/* Adds the payload up to its offset 'end', or all of the rest if there are fewer bytes, to the
 * parts. Returns 0, or -E2BIG if there are too many parts. */
static int add_payload(struct stream *s, uint64_t end)
{
	while (s->done < end && s->left > 0) {
		uint32_t len = s->section->len_bytes - s->at;

		if (len > end - s->done)
			len = (uint32_t)(end - s->done);
		if (len > 0) {
			int rc = add(s, s->section->base + s->at, len, false);

			if (rc != 0)
				return rc;
			s->at += len;
			s->done += len;
			s->last = s->section->base + s->at;
		}
		if (s->at == s->section->len_bytes) {
			s->section++;
			s->left--;
			s->at = 0;
		}
	}
	return 0;
}

int rtr_stream_parts(const struct weir_xdr_part *sections, uint32_t nsections,
		     const struct rtr_stream_item *items, uint32_t nitems,
		     struct weir_xdr_part *parts, uint32_t max)
{
	struct stream s = {.section = sections, .left = nsections, .parts = parts, .max = max};
	uint64_t excised = 0;
	int rc;

	for (uint32_t i = 0; i < nitems; i++) {
		uint64_t end = items[i].disp - excised;

		if (items[i].disp < excised + s.done + LENGTH_SIZE)
			return -EBADMSG;
		rc = add_payload(&s, end);
		if (rc == 0 &&
		    (s.done != end || wire_get_u32(s.last - LENGTH_SIZE) != items[i].len))
			rc = -EBADMSG;
		if (rc == 0 && items[i].base)
			rc = add(&s, items[i].base, items[i].len, true);
		if (rc != 0)
			return rc;
		excised += (uint64_t)items[i].len + weir_xdr_pad(items[i].len);
	}
	rc = add_payload(&s, UINT64_MAX);
	return rc != 0 ? rc : (int)s.n;
}
