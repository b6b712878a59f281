/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_CODEC_H
#define WEIR_CODEC_H

/*
 * The types and functions that the C code of weirgen uses, in addition to those of weir/xdr.h.
 *
 * Decoded opaque data and strings are references to the message. They are valid as long as the
 * buffers of the stream. Decoded arrays and lists are in an arena, which is memory of the caller.
 * No function allocates other memory.
 *
 * Thread of all functions: any, but only one thread at a time may use a decoder, an encoder or an
 * arena.
 */

#include <weir/xdr.h>

WEIR_BEGIN_DECLS

struct weir_region;

/** Opaque data of variable length. */
struct weir_xdr_opaque {
	const void *data;   /**< first byte */
	uint32_t len_bytes; /**< length in bytes */
};

/** A string. It is not NUL-terminated. */
struct weir_xdr_string {
	const char *data;   /**< first byte */
	uint32_t len_bytes; /**< length in bytes */
};

/** DDP-eligible opaque data, or a DDP-eligible string. */
struct weir_xdr_item {
	const void *data;   /**< first byte */
	uint32_t len_bytes; /**< length in bytes */
	/**
	 * The region that contains the data, which are then not copied. NULL: the data are copied
	 * into the message. A decoder sets the member to NULL.
	 */
	const struct weir_region *region;
};

/** Memory that receives a DDP-eligible result of a call. */
struct weir_xdr_room {
	const struct weir_region *region; /**< added to the engine; ignored if data is NULL */
	void *data;			  /**< first byte; NULL: the result arrives inline */
	uint32_t max_bytes;		  /**< size of the memory in bytes */
};

/**
 * Memory for decoded arrays and lists. Initialise it with weir_xdr_arena_init(). Members are
 * private.
 */
struct weir_xdr_arena {
	/** @cond private */
	uint8_t *p;
	uint8_t *end;
	bool is_exhausted;
	/** @endcond */
};

/** The alignment in bytes of each allocation from an arena. */
#define WEIR_XDR_ARENA_ALIGN 8u

/** The bytes of an arena that an allocation of 'bytes' bytes takes. */
#define WEIR_XDR_ARENA_BYTES(bytes) (((bytes) + 7u) / 8u * 8u)

/**
 * Initialises an arena, or makes all of its memory free.
 *
 * @param arena the arena
 * @param base first byte; WEIR_XDR_ARENA_ALIGN divides the address
 * @param size_bytes size; 0 is allowed, with any base
 */
static inline void weir_xdr_arena_init(struct weir_xdr_arena *arena, void *base, size_t size_bytes)
{
	arena->p = (uint8_t *)base;
	arena->end = size_bytes ? arena->p + size_bytes : arena->p;
	arena->is_exhausted = false;
}

/**
 * Allocates the elements of an array from an arena. The elements are not initialised.
 *
 * @param arena the arena
 * @param count number of elements; 0 is allowed
 * @param size_bytes size of an element; at most 4 GiB
 * @return the first element; NULL if the arena has too little memory
 * @owner the arena
 */
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

/**
 * Returns the error of a decoder that failed.
 *
 * @param arena the arena of the decoder
 * @retval -ENOMEM the arena has too little memory
 * @retval -EBADMSG the stream is malformed
 */
static inline int weir_xdr_get_error(const struct weir_xdr_arena *arena)
{
	return arena->is_exhausted ? -ENOMEM : -EBADMSG;
}

/**
 * Returns the error of an encoder that failed.
 *
 * @param out the encoder
 * @retval -ENOSPC the data do not fit
 * @retval -EINVAL the data exceed a limit, or a discriminant has no arm
 */
static inline int weir_xdr_put_error(const struct weir_xdr_out *out)
{
	return out->failed ? -ENOSPC : -EINVAL;
}

/**
 * Decodes an int.
 *
 * @param in the decoder
 * @param[out] value the value; unchanged on error
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, or the next part is an item
 * @rfc 4506 section 4.1
 */
static inline int weir_xdr_get_i32(struct weir_xdr_in *in, int32_t *value)
{
	return weir_xdr_get_u32(in, (uint32_t *)value);
}

/**
 * Decodes a hyper.
 *
 * @param in the decoder
 * @param[out] value the value; unchanged on error
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, or the next part is an item
 * @rfc 4506 section 4.5
 */
static inline int weir_xdr_get_i64(struct weir_xdr_in *in, int64_t *value)
{
	return weir_xdr_get_u64(in, (uint64_t *)value);
}

/**
 * Decodes a float.
 *
 * @param in the decoder
 * @param[out] value the value; unchanged on error
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, or the next part is an item
 * @rfc 4506 section 4.6
 */
static inline int weir_xdr_get_float(struct weir_xdr_in *in, float *value)
{
	uint32_t bits;
	int rc = weir_xdr_get_u32(in, &bits);

	if (rc == 0)
		memcpy(value, &bits, sizeof(bits));
	return rc;
}

/**
 * Decodes a double.
 *
 * @param in the decoder
 * @param[out] value the value; unchanged on error
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, or the next part is an item
 * @rfc 4506 section 4.7
 */
static inline int weir_xdr_get_double(struct weir_xdr_in *in, double *value)
{
	uint64_t bits;
	int rc = weir_xdr_get_u64(in, &bits);

	if (rc == 0)
		memcpy(value, &bits, sizeof(bits));
	return rc;
}

/**
 * Decodes the number of elements of an array. The number is an error if the stream is too short for
 * so many elements, so that a decoder does not allocate memory for them.
 *
 * @param in the decoder
 * @param[out] count the number
 * @param max largest number to accept
 * @param element_bytes smallest size of an element in bytes of XDR; not 0
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, or the number exceeds max
 * @rfc 4506 section 4.13
 */
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

/**
 * Decodes opaque data in place; see weir_xdr_get_opaque_ref().
 *
 * @param in the decoder
 * @param[out] value the data
 * @param max_bytes largest length to accept
 * @retval 0 success
 * @retval -EBADMSG as weir_xdr_get_opaque_ref()
 */
static inline int weir_xdr_get_opaque_view(struct weir_xdr_in *in, struct weir_xdr_opaque *value,
					   uint32_t max_bytes)
{
	return weir_xdr_get_opaque_ref(in, &value->data, max_bytes, &value->len_bytes);
}

/**
 * Decodes a string in place; see weir_xdr_get_opaque_ref().
 *
 * @param in the decoder
 * @param[out] value the string
 * @param max_bytes largest length to accept
 * @retval 0 success
 * @retval -EBADMSG as weir_xdr_get_opaque_ref()
 */
static inline int weir_xdr_get_string_view(struct weir_xdr_in *in, struct weir_xdr_string *value,
					   uint32_t max_bytes)
{
	const void *data;
	int rc = weir_xdr_get_opaque_ref(in, &data, max_bytes, &value->len_bytes);

	if (rc == 0)
		value->data = (const char *)data;
	return rc;
}

/**
 * Decodes an item in place; see weir_xdr_get_opaque_ref().
 *
 * @param in the decoder
 * @param[out] value the data
 * @param max_bytes largest length to accept
 * @retval 0 success
 * @retval -EBADMSG as weir_xdr_get_opaque_ref()
 */
static inline int weir_xdr_get_item_view(struct weir_xdr_in *in, struct weir_xdr_item *value,
					 uint32_t max_bytes)
{
	value->region = NULL;
	return weir_xdr_get_opaque_ref(in, &value->data, max_bytes, &value->len_bytes);
}

/**
 * Decodes variable-length opaque data, or a string, into a buffer that can be smaller than the
 * largest length.
 *
 * @param in the decoder
 * @param[out] dst the data; unchanged if they are longer than room_bytes, and then they are skipped
 * @param room_bytes size of the buffer
 * @param max_bytes largest length to accept
 * @param[out] len_bytes length of the data; it can exceed room_bytes
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, the length exceeds max_bytes, or the data overlap an
 * item
 * @rfc 4506 sections 4.10 and 4.11
 */
static inline int weir_xdr_get_opaque_room(struct weir_xdr_in *in, void *dst, uint32_t room_bytes,
					   uint32_t max_bytes, uint32_t *len_bytes)
{
	if (weir_xdr_get_u32(in, len_bytes) != 0 || *len_bytes > max_bytes)
		return -EBADMSG;
	return weir_xdr_get_opaque_fixed(in, *len_bytes <= room_bytes ? dst : NULL, *len_bytes);
}

/**
 * Encodes an int or unsigned int at an address that weir_xdr_reserve() returned.
 *
 * @param[out] at first byte of 4
 * @param value the value
 * @rfc 4506 sections 4.1 and 4.2
 */
static inline void weir_xdr_store_u32(uint8_t *at, uint32_t value)
{
	value = weir_xdr_big_endian32(value);
	memcpy(at, &value, 4);
}

/**
 * Encodes a hyper or unsigned hyper at an address that weir_xdr_reserve() returned.
 *
 * @param[out] at first byte of 8
 * @param value the value
 * @rfc 4506 section 4.5
 */
static inline void weir_xdr_store_u64(uint8_t *at, uint64_t value)
{
	value = weir_xdr_big_endian64(value);
	memcpy(at, &value, 8);
}

/**
 * Encodes an int.
 *
 * @param out the encoder
 * @param value the value
 * @retval 0 success
 * @retval -ENOSPC the value does not fit
 * @rfc 4506 section 4.1
 */
static inline int weir_xdr_put_i32(struct weir_xdr_out *out, int32_t value)
{
	return weir_xdr_put_u32(out, (uint32_t)value);
}

/**
 * Encodes a hyper.
 *
 * @param out the encoder
 * @param value the value
 * @retval 0 success
 * @retval -ENOSPC the value does not fit
 * @rfc 4506 section 4.5
 */
static inline int weir_xdr_put_i64(struct weir_xdr_out *out, int64_t value)
{
	return weir_xdr_put_u64(out, (uint64_t)value);
}

/**
 * Encodes a bool.
 *
 * @param out the encoder
 * @param value the value
 * @retval 0 success
 * @retval -ENOSPC the value does not fit
 * @rfc 4506 section 4.4
 */
static inline int weir_xdr_put_bool(struct weir_xdr_out *out, bool value)
{
	return weir_xdr_put_u32(out, value);
}

/**
 * Encodes a float.
 *
 * @param out the encoder
 * @param value the value
 * @retval 0 success
 * @retval -ENOSPC the value does not fit
 * @rfc 4506 section 4.6
 */
static inline int weir_xdr_put_float(struct weir_xdr_out *out, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return weir_xdr_put_u32(out, bits);
}

/**
 * Encodes a double.
 *
 * @param out the encoder
 * @param value the value
 * @retval 0 success
 * @retval -ENOSPC the value does not fit
 * @rfc 4506 section 4.7
 */
static inline int weir_xdr_put_double(struct weir_xdr_out *out, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return weir_xdr_put_u64(out, bits);
}

/**
 * Encodes opaque data, or a string, of limited length.
 *
 * @param out the encoder
 * @param src the data
 * @param len_bytes length of the data
 * @param max_bytes largest length to encode
 * @retval 0 success
 * @retval -EINVAL the length exceeds max_bytes
 * @retval -ENOSPC the data do not fit
 * @rfc 4506 sections 4.10 and 4.11
 */
static inline int weir_xdr_put_opaque_max(struct weir_xdr_out *out, const void *src,
					  uint32_t len_bytes, uint32_t max_bytes)
{
	if (len_bytes > max_bytes)
		return -EINVAL;
	return weir_xdr_put_opaque(out, src, len_bytes);
}

/**
 * Returns the number of bytes of XDR that opaque data or a string take.
 *
 * @param len_bytes length of the data
 * @return bytes: the length word, the data and the padding
 */
static inline size_t weir_xdr_opaque_bytes(uint32_t len_bytes)
{
	return 4u + (size_t)len_bytes + weir_xdr_pad(len_bytes);
}

/**
 * Returns the number of bytes of XDR that an item takes in the message.
 *
 * @param item the item
 * @return bytes; without the data if the item has a region
 */
static inline size_t weir_xdr_item_bytes(const struct weir_xdr_item *item)
{
	return item->region ? 4u : weir_xdr_opaque_bytes(item->len_bytes);
}

WEIR_END_DECLS

#endif
