/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_CODEC_H
#define WEIR_CODEC_H

#include <weir/xdr.h>

WEIR_BEGIN_DECLS

struct weir_region;

struct weir_xdr_opaque {
	const void *data;
	uint32_t len_bytes;
};

struct weir_xdr_string {
	const char *data;
	uint32_t len_bytes;
};

struct weir_xdr_item {
	const void *data;
	uint32_t len_bytes;

	const struct weir_region *region;
};

struct weir_xdr_room {
	const struct weir_region *region;
	void *data;
	uint32_t max_bytes;
};

struct weir_xdr_arena {
	uint8_t *p;
	uint8_t *end;
	bool is_exhausted;
};

#define WEIR_XDR_ARENA_ALIGN 8u

#define WEIR_XDR_ARENA_BYTES(bytes) (((bytes) + 7u) / 8u * 8u)

static inline void weir_xdr_arena_init(struct weir_xdr_arena *arena, void *base, size_t size_bytes)
{
	arena->p = (uint8_t *)base;
	arena->end = size_bytes ? arena->p + size_bytes : arena->p;
	arena->is_exhausted = false;
}

static inline void *weir_xdr_arena_alloc(struct weir_xdr_arena *arena, uint32_t count,
					 size_t size_bytes)
{
	uint64_t bytes = WEIR_XDR_ARENA_BYTES((uint64_t)count * size_bytes);
	uint8_t *at = arena->p;

	if (at == NULL || (uint64_t)(arena->end - at) < bytes) {
		arena->is_exhausted = true;
		return NULL;
	}
	arena->p = at + bytes;
	return at;
}

static inline int weir_xdr_get_error(const struct weir_xdr_arena *arena)
{
	return arena->is_exhausted ? -ENOMEM : -EBADMSG;
}

static inline int weir_xdr_put_error(const struct weir_xdr_out *out)
{
	return out->failed ? -ENOSPC : -EINVAL;
}

static inline int weir_xdr_get_i32(struct weir_xdr_in *in, int32_t *value)
{
	return weir_xdr_get_u32(in, (uint32_t *)value);
}

static inline int weir_xdr_get_i64(struct weir_xdr_in *in, int64_t *value)
{
	return weir_xdr_get_u64(in, (uint64_t *)value);
}

static inline int weir_xdr_get_float(struct weir_xdr_in *in, float *value)
{
	uint32_t bits;
	int rc = weir_xdr_get_u32(in, &bits);

	if (rc == 0)
		memcpy(value, &bits, sizeof(bits));
	return rc;
}

static inline int weir_xdr_get_double(struct weir_xdr_in *in, double *value)
{
	uint64_t bits;
	int rc = weir_xdr_get_u64(in, &bits);

	if (rc == 0)
		memcpy(value, &bits, sizeof(bits));
	return rc;
}

static inline int weir_xdr_get_count(struct weir_xdr_in *in, uint32_t *count, uint32_t max,
				     uint64_t element_bytes)
{
	uint32_t value;

	if (weir_xdr_get_u32(in, &value) != 0 || value > max ||
	    value > weir_xdr_remaining(in) / element_bytes)
		return -EBADMSG;
	*count = value;
	return 0;
}

static inline int weir_xdr_get_opaque_view(struct weir_xdr_in *in, struct weir_xdr_opaque *value,
					   uint32_t max_bytes)
{
	return weir_xdr_get_opaque_ref(in, &value->data, max_bytes, &value->len_bytes);
}

static inline int weir_xdr_get_string_view(struct weir_xdr_in *in, struct weir_xdr_string *value,
					   uint32_t max_bytes)
{
	const void *data;
	int rc = weir_xdr_get_opaque_ref(in, &data, max_bytes, &value->len_bytes);

	if (rc == 0)
		value->data = (const char *)data;
	return rc;
}

static inline int weir_xdr_get_item_view(struct weir_xdr_in *in, struct weir_xdr_item *value,
					 uint32_t max_bytes)
{
	value->region = NULL;
	return weir_xdr_get_opaque_ref(in, &value->data, max_bytes, &value->len_bytes);
}

static inline int weir_xdr_get_opaque_room(struct weir_xdr_in *in, void *dst, uint32_t room_bytes,
					   uint32_t max_bytes, uint32_t *len_bytes)
{
	if (weir_xdr_get_u32(in, len_bytes) != 0 || *len_bytes > max_bytes)
		return -EBADMSG;
	return weir_xdr_get_opaque_fixed(in, *len_bytes <= room_bytes ? dst : NULL, *len_bytes);
}

static inline void weir_xdr_store_u32(uint8_t *at, uint32_t value)
{
	value = weir_xdr_big_endian32(value);
	memcpy(at, &value, 4);
}

static inline void weir_xdr_store_u64(uint8_t *at, uint64_t value)
{
	value = weir_xdr_big_endian64(value);
	memcpy(at, &value, 8);
}

static inline int weir_xdr_put_i32(struct weir_xdr_out *out, int32_t value)
{
	return weir_xdr_put_u32(out, (uint32_t)value);
}

static inline int weir_xdr_put_i64(struct weir_xdr_out *out, int64_t value)
{
	return weir_xdr_put_u64(out, (uint64_t)value);
}

static inline int weir_xdr_put_bool(struct weir_xdr_out *out, bool value)
{
	return weir_xdr_put_u32(out, value);
}

static inline int weir_xdr_put_float(struct weir_xdr_out *out, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return weir_xdr_put_u32(out, bits);
}

static inline int weir_xdr_put_double(struct weir_xdr_out *out, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return weir_xdr_put_u64(out, bits);
}

static inline int weir_xdr_put_opaque_max(struct weir_xdr_out *out, const void *src,
					  uint32_t len_bytes, uint32_t max_bytes)
{
	if (len_bytes > max_bytes)
		return -EINVAL;
	return weir_xdr_put_opaque(out, src, len_bytes);
}

static inline size_t weir_xdr_opaque_bytes(uint32_t len_bytes)
{
	return 4u + (size_t)len_bytes + weir_xdr_pad(len_bytes);
}

static inline size_t weir_xdr_item_bytes(const struct weir_xdr_item *item)
{
	return item->region ? 4u : weir_xdr_opaque_bytes(item->len_bytes);
}

WEIR_END_DECLS

#endif
