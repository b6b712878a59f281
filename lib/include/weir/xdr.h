/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_XDR_H
#define WEIR_XDR_H

/*
 * XDR (RFC 4506) over buffers that need not be contiguous.
 *
 * A decoder (weir_xdr_in) walks a list of parts. A part is either a piece of the Payload stream
 * that came inline or in a Long message, or a directly placed item: the content of one Read chunk
 * (RFC 8166 section 3.4.5). An item can be taken only as the body of an opaque, in full and in
 * place; any other field that would reach into an item is an error, so that a peer can reduce
 * nothing but what the procedure's own decoder takes as DDP-eligible (RFC 8166 section 6.1).
 *
 * All functions: owner's thread only, no allocation, no side effect on error other than setting
 * 'failed', which stays set (later gets fail too, so that a decoder may check once at its end).
 * Gets return 0, or -EBADMSG when the stream is exhausted or the value is out of its XDR type's
 * range.
 */

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <weir/common.h>

WEIR_BEGIN_DECLS

/** XDR's unit: everything is a multiple of this many bytes (RFC 4506 section 3). */
#define WEIR_XDR_UNIT 4u

/** The zero bytes, 0 to 3, that follow 'len' bytes of opaque data. */
static inline uint32_t weir_xdr_pad(uint32_t len)
{
	return (0u - len) & 3u;
}

/** One part of a stream that is being decoded. */
struct weir_xdr_part {
	const uint8_t *base;
	uint32_t len_bytes; /**< an item: the length of the data, without roundup padding */
	uint32_t is_item;   /**< 1: a directly placed item */
};

/** Decoder. Set up with weir_xdr_in_init() or weir_xdr_in_init_parts(); fields are private. */
struct weir_xdr_in {
	const uint8_t *p;
	const uint8_t *end;
	const struct weir_xdr_part *next; /* parts after the present one */
	uint32_t nparts;  /* how many; and bools so wide that all three are one word */
	uint16_t is_item; /* the present part is an item not yet taken */
	uint16_t failed;
	uint64_t later_bytes; /* sum of the lengths of the parts after the present one */
	uint8_t *join; /* of several parts: memory to put what crosses them together in, and its end
			*/
	uint8_t *join_end;
};

/** Encoder into one buffer. Fields may be read. */
struct weir_xdr_out {
	uint8_t *p;
	uint8_t *end;
	uint8_t *start;
	bool failed; /**< an earlier put did not fit */
};

/** Decode one contiguous buffer of 'len_bytes'. The buffer must stay until the last get. */
static inline void weir_xdr_in_init(struct weir_xdr_in *in, const void *base, uint32_t len_bytes)
{
	in->p = (const uint8_t *)base;
	in->end = len_bytes ? in->p + len_bytes : in->p; /* NULL + 0 is not defined in C */
	in->next = NULL;
	in->nparts = 0;
	in->is_item = false;
	in->failed = false;
	in->later_bytes = 0;
}

/** Decode 'nparts' parts in order. The array and what it points to must stay until the last get. */
WEIR_API void weir_xdr_in_init_parts(struct weir_xdr_in *in, const struct weir_xdr_part *parts,
				     uint32_t nparts);

/** Bytes not yet taken (items count with their data's length). */
static inline uint64_t weir_xdr_remaining(const struct weir_xdr_in *in)
{
	return (uint64_t)(in->end - in->p) + in->later_bytes;
}

/* The path of each get for data that crosses parts; not for callers. */
WEIR_API int weir_xdr_get_bytes_slow(struct weir_xdr_in *in, void *dst, uint32_t len_bytes);

/** Copy 'len_bytes' raw bytes (no padding) to dst; dst NULL: skip them. */
static inline int weir_xdr_get_bytes(struct weir_xdr_in *in, void *dst, uint32_t len_bytes)
{
	if (__builtin_expect(in->is_item || (size_t)(in->end - in->p) < len_bytes, 0))
		return weir_xdr_get_bytes_slow(in, dst, len_bytes);
	if (dst)
		memcpy(dst, in->p, len_bytes);
	in->p += len_bytes;
	return 0;
}

/** A word (RFC 4506 4.1, 4.2). 0, or -EBADMSG where the message ends before, or a
 * chunk's data is next: *value is as it was then. */
static inline int weir_xdr_get_u32(struct weir_xdr_in *in, uint32_t *value)
{
	uint32_t be;
	int rc = weir_xdr_get_bytes(in, &be, 4);

	if (rc == 0)
		*value = be32toh(be);
	return rc;
}

/** The same of a hyper (RFC 4506 4.5). */
static inline int weir_xdr_get_u64(struct weir_xdr_in *in, uint64_t *value)
{
	uint64_t be;
	int rc = weir_xdr_get_bytes(in, &be, 8);

	if (rc == 0)
		*value = be64toh(be);
	return rc;
}

/** bool (RFC 4506 section 4.4): a value above 1 is an error. */
WEIR_API int weir_xdr_get_bool(struct weir_xdr_in *in, bool *value);

/** Fixed-length opaque of 'len_bytes', with its padding; dst NULL: skip. Padding is not checked to
 * be zero (RFC 8166 section 8.2.2: 'they don't have to be'). */
WEIR_API int weir_xdr_get_opaque_fixed(struct weir_xdr_in *in, void *dst, uint32_t len_bytes);

/** Variable-length opaque or string copied to dst: at most 'max_bytes', else error. */
WEIR_API int weir_xdr_get_opaque(struct weir_xdr_in *in, void *dst, uint32_t max_bytes,
				 uint32_t *len_bytes);

/** Variable-length opaque in place: *data points into the stream and is valid as long as its
 * buffers. An item is contiguous always, and so is inline data but in a decoder that the caller
 * made of several parts (there -EBADMSG: use weir_xdr_get_opaque()): where weir received them
 * apart, it has memory to put the bytes together in. At most 'max_bytes', else error. An item must
 * have exactly the length that the count says (RFC 8166 section 3.4.5). */
WEIR_API int weir_xdr_get_opaque_ref(struct weir_xdr_in *in, const void **data, uint32_t max_bytes,
				     uint32_t *len_bytes);

/** Encode into 'base', at most 'size_bytes'. */
static inline void weir_xdr_out_init(struct weir_xdr_out *out, void *base, size_t size_bytes)
{
	out->start = (uint8_t *)base;
	out->p = out->start;
	out->end = size_bytes ? out->start + size_bytes : out->start;
	out->failed = false;
}

/** Bytes written so far. */
static inline size_t weir_xdr_out_len(const struct weir_xdr_out *out)
{
	return (size_t)(out->p - out->start);
}

/** Take 'len_bytes' of the output for the caller to fill; NULL and 'failed' when they do not fit.
 */
static inline uint8_t *weir_xdr_reserve(struct weir_xdr_out *out, size_t len_bytes)
{
	uint8_t *at = out->p;

	if (__builtin_expect((size_t)(out->end - at) < len_bytes, 0)) {
		out->failed = true;
		return NULL;
	}
	out->p = at + len_bytes;
	return at;
}

/** Puts return 0, or -ENOSPC when the output is full. */
static inline int weir_xdr_put_u32(struct weir_xdr_out *out, uint32_t value)
{
	uint8_t *at = weir_xdr_reserve(out, 4);

	value = htobe32(value);
	if (!at)
		return -ENOSPC;
	memcpy(at, &value, 4);
	return 0;
}

/** A hyper (RFC 4506 4.5). 0, or -ENOSPC when the output is full. */
static inline int weir_xdr_put_u64(struct weir_xdr_out *out, uint64_t value)
{
	uint8_t *at = weir_xdr_reserve(out, 8);

	value = htobe64(value);
	if (!at)
		return -ENOSPC;
	memcpy(at, &value, 8);
	return 0;
}

/** Fixed-length opaque with zero padding. */
WEIR_API int weir_xdr_put_opaque_fixed(struct weir_xdr_out *out, const void *src,
				       uint32_t len_bytes);

/** Variable-length opaque: count, bytes, zero padding. */
WEIR_API int weir_xdr_put_opaque(struct weir_xdr_out *out, const void *src, uint32_t len_bytes);

WEIR_END_DECLS

#endif
