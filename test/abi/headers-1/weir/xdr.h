/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_XDR_H
#define WEIR_XDR_H

#include <errno.h>
#include <string.h>

#include <weir/common.h>

WEIR_BEGIN_DECLS

#define WEIR_XDR_UNIT 4u

static inline uint32_t weir_xdr_pad(uint32_t len)
{
	return (0u - len) & 3u;
}

static inline uint32_t weir_xdr_big_endian32(uint32_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	value = __builtin_bswap32(value);
#endif
	return value;
}

static inline uint64_t weir_xdr_big_endian64(uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	return value;
}

struct weir_xdr_part {
	const uint8_t *base;
	uint32_t len_bytes;
	uint32_t is_item;
};

struct weir_xdr_in {
	const uint8_t *p;
	const uint8_t *end;
	const struct weir_xdr_part *next;

	uint32_t nparts;
	uint16_t is_item;
	uint16_t failed;
	uint64_t later_bytes;
	uint8_t *join;
	uint8_t *join_end;
};

struct weir_xdr_out {
	uint8_t *p;
	uint8_t *end;
	uint8_t *start;
	bool failed;
};

static inline void weir_xdr_in_init(struct weir_xdr_in *in, const void *base, uint32_t len_bytes)
{
	in->p = (const uint8_t *)base;
	in->end = len_bytes ? in->p + len_bytes : in->p;
	in->next = NULL;
	in->nparts = 0;
	in->is_item = false;
	in->failed = false;
	in->later_bytes = 0;
}

WEIR_API void weir_xdr_in_init_parts(struct weir_xdr_in *in, const struct weir_xdr_part *parts,
				     uint32_t nparts);

static inline uint64_t weir_xdr_remaining(const struct weir_xdr_in *in)
{
	return (uint64_t)(in->end - in->p) + in->later_bytes;
}

WEIR_API int weir_xdr_get_bytes_slow(struct weir_xdr_in *in, void *dst, uint32_t len_bytes);

static inline int weir_xdr_get_bytes(struct weir_xdr_in *in, void *dst, uint32_t len_bytes)
{
	if (__builtin_expect(in->is_item || (size_t)(in->end - in->p) < len_bytes, 0))
		return weir_xdr_get_bytes_slow(in, dst, len_bytes);
	if (dst)
		memcpy(dst, in->p, len_bytes);
	in->p += len_bytes;
	return 0;
}

static inline int weir_xdr_get_u32(struct weir_xdr_in *in, uint32_t *value)
{
	uint32_t be;
	int rc = weir_xdr_get_bytes(in, &be, 4);

	if (rc == 0)
		*value = weir_xdr_big_endian32(be);
	return rc;
}

static inline int weir_xdr_get_u64(struct weir_xdr_in *in, uint64_t *value)
{
	uint64_t be;
	int rc = weir_xdr_get_bytes(in, &be, 8);

	if (rc == 0)
		*value = weir_xdr_big_endian64(be);
	return rc;
}

WEIR_API int weir_xdr_get_bool(struct weir_xdr_in *in, bool *value);

WEIR_API int weir_xdr_get_opaque_fixed(struct weir_xdr_in *in, void *dst, uint32_t len_bytes);

WEIR_API int weir_xdr_get_opaque(struct weir_xdr_in *in, void *dst, uint32_t max_bytes,
				 uint32_t *len_bytes);

WEIR_API int weir_xdr_get_opaque_ref(struct weir_xdr_in *in, const void **data, uint32_t max_bytes,
				     uint32_t *len_bytes);

static inline void weir_xdr_out_init(struct weir_xdr_out *out, void *base, size_t size_bytes)
{
	out->start = (uint8_t *)base;
	out->p = out->start;
	out->end = size_bytes ? out->start + size_bytes : out->start;
	out->failed = false;
}

static inline size_t weir_xdr_out_len(const struct weir_xdr_out *out)
{
	return (size_t)(out->p - out->start);
}

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

static inline int weir_xdr_put_u32(struct weir_xdr_out *out, uint32_t value)
{
	uint8_t *at = weir_xdr_reserve(out, 4);

	value = weir_xdr_big_endian32(value);
	if (!at)
		return -ENOSPC;
	memcpy(at, &value, 4);
	return 0;
}

static inline int weir_xdr_put_u64(struct weir_xdr_out *out, uint64_t value)
{
	uint8_t *at = weir_xdr_reserve(out, 8);

	value = weir_xdr_big_endian64(value);
	if (!at)
		return -ENOSPC;
	memcpy(at, &value, 8);
	return 0;
}

WEIR_API int weir_xdr_put_opaque_fixed(struct weir_xdr_out *out, const void *src,
				       uint32_t len_bytes);

WEIR_API int weir_xdr_put_opaque(struct weir_xdr_out *out, const void *src, uint32_t len_bytes);

WEIR_END_DECLS

#endif
