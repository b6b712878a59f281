/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_XDR_H
#define WEIR_XDR_H

/*
 * XDR (RFC 4506) over buffers that need not be contiguous.
 *
 * A decoder (weir_xdr_in) walks a list of parts. A part is one of these:
 * - A piece of the Payload stream that arrived inline or in a Long message.
 * - A directly placed item: the content of one Read chunk (RFC 8166 section 3.4.5).
 *
 * An item can be decoded only as the whole body of an opaque, by weir_xdr_get_opaque_ref(). A get
 * of any other field that overlaps an item fails. Therefore a peer can send only those data as a
 * chunk that the procedure's decoder accepts as DDP-eligible (RFC 8166 section 6.1).
 *
 * Errors persist, so that one check at the end is enough:
 * - After a get fails, all later gets of the decoder fail.
 * - After a put fails, 'failed' of the encoder stays true.
 *
 * Thread of all functions: any, but only one thread at a time may use a decoder or encoder. No
 * function allocates memory.
 */

#include <errno.h>
#include <string.h>

#include <weir/common.h>

WEIR_BEGIN_DECLS

/** XDR unit in bytes: the length of each encoded item is a multiple of it (RFC 4506 section 3). */
#define WEIR_XDR_UNIT 4u

/**
 * Returns the length of the padding after opaque data.
 *
 * @param len length of the data in bytes
 * @return 0 to 3
 */
static inline uint32_t weir_xdr_pad(uint32_t len)
{
	return (0u - len) & 3u;
}

/** @cond private */
/* Convert between the byte order of this machine and that of XDR. <endian.h> has such functions,
 * but a compiler in strict C11 mode hides them. */
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
/** @endcond */

/** One part of a stream to decode. */
struct weir_xdr_part {
	const uint8_t *base; /**< first byte */
	uint32_t len_bytes;  /**< length in bytes; that of an item is without XDR padding */
	uint32_t is_item;    /**< 1: a directly placed item; 0: a piece of the Payload stream */
};

/** Decoder. Initialise it with weir_xdr_in_init() or weir_xdr_in_init_parts(). Members are private.
 */
struct weir_xdr_in {
	/** @cond private */
	const uint8_t *p;
	const uint8_t *end;
	const struct weir_xdr_part *next; /* parts after the current one */
	/* The next three members share one 64-bit word, so that they are set and tested at once. */
	uint32_t nparts;  /* number of parts after the current one */
	uint16_t is_item; /* the current part is an item that was not decoded yet */
	uint16_t failed;
	uint64_t later_bytes; /* total length of the parts after the current one */
	uint8_t *join; /* free memory for copies of data that cross parts; NULL: there is none */
	uint8_t *join_end;
	/** @endcond */
};

/**
 * Encoder into one buffer. Initialise it with weir_xdr_out_init(). The application may read the
 * members.
 */
struct weir_xdr_out {
	uint8_t *p;	/**< the first byte that the next put will write */
	uint8_t *end;	/**< the first byte after the buffer */
	uint8_t *start; /**< first byte of the buffer */
	bool failed;	/**< an earlier put did not fit */
};

/**
 * Initialises a decoder for one contiguous buffer.
 *
 * @param in the decoder
 * @param base first byte; the buffer must exist until the last get
 * @param len_bytes length; 0 is allowed, with any base
 */
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

/**
 * Initialises a decoder for several parts.
 *
 * @param in the decoder
 * @param parts the parts in order; the array and the buffers must exist until the last get
 * @param nparts entries of parts
 */
WEIR_API void weir_xdr_in_init_parts(struct weir_xdr_in *in, const struct weir_xdr_part *parts,
				     uint32_t nparts);

/**
 * Returns the number of bytes that were not decoded yet.
 *
 * @param in the decoder
 * @return bytes; an item counts with the length of its data, without padding
 */
static inline uint64_t weir_xdr_remaining(const struct weir_xdr_in *in)
{
	return (uint64_t)(in->end - in->p) + in->later_bytes;
}

/* Does weir_xdr_get_bytes() in the general case: the data can cross parts. Applications must not
 * call this function. */
WEIR_API int weir_xdr_get_bytes_slow(struct weir_xdr_in *in, void *dst, uint32_t len_bytes);

/**
 * Decodes raw bytes without padding.
 *
 * @param in the decoder
 * @param[out] dst the bytes; NULL: skip them
 * @param len_bytes number of bytes
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, or the next part is an item
 */
static inline int weir_xdr_get_bytes(struct weir_xdr_in *in, void *dst, uint32_t len_bytes)
{
	if (__builtin_expect(in->is_item || (size_t)(in->end - in->p) < len_bytes, 0))
		return weir_xdr_get_bytes_slow(in, dst, len_bytes);
	if (dst)
		memcpy(dst, in->p, len_bytes);
	in->p += len_bytes;
	return 0;
}

/**
 * Decodes an int or unsigned int.
 *
 * @param in the decoder
 * @param[out] value the value; unchanged on error
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, or the next part is an item
 * @rfc 4506 sections 4.1 and 4.2
 */
static inline int weir_xdr_get_u32(struct weir_xdr_in *in, uint32_t *value)
{
	uint32_t be;
	int rc = weir_xdr_get_bytes(in, &be, 4);

	if (rc == 0)
		*value = weir_xdr_big_endian32(be);
	return rc;
}

/**
 * Decodes a hyper or unsigned hyper.
 *
 * @param in the decoder
 * @param[out] value the value; unchanged on error
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, or the next part is an item
 * @rfc 4506 section 4.5
 */
static inline int weir_xdr_get_u64(struct weir_xdr_in *in, uint64_t *value)
{
	uint64_t be;
	int rc = weir_xdr_get_bytes(in, &be, 8);

	if (rc == 0)
		*value = weir_xdr_big_endian64(be);
	return rc;
}

/**
 * Decodes a bool.
 *
 * @param in the decoder
 * @param[out] value the value; unchanged on error
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, the next part is an item, or the value is above 1
 * @rfc 4506 section 4.4
 */
WEIR_API int weir_xdr_get_bool(struct weir_xdr_in *in, bool *value);

/**
 * Decodes fixed-length opaque data with their padding. The padding can have any value.
 *
 * @param in the decoder
 * @param[out] dst the data; NULL: skip them
 * @param len_bytes length of the data
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, or the data overlap an item
 * @rfc 4506 section 4.9
 */
WEIR_API int weir_xdr_get_opaque_fixed(struct weir_xdr_in *in, void *dst, uint32_t len_bytes);

/**
 * Decodes variable-length opaque data, or a string, into a buffer.
 *
 * @param in the decoder
 * @param[out] dst the data; max_bytes long
 * @param max_bytes largest length to accept
 * @param[out] len_bytes length of the data
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, the length exceeds max_bytes, or the data overlap an
 * item; use weir_xdr_get_opaque_ref() for items
 * @rfc 4506 sections 4.10 and 4.11
 */
WEIR_API int weir_xdr_get_opaque(struct weir_xdr_in *in, void *dst, uint32_t max_bytes,
				 uint32_t *len_bytes);

/**
 * Decodes variable-length opaque data in place.
 *
 * The function returns the address of the data. An item is always contiguous. Inline data are
 * contiguous, too: if a message arrived in several parts, weir provides memory to join the data.
 * Only a decoder that the caller initialised with several parts cannot join data that cross parts.
 * For such data, use weir_xdr_get_opaque().
 *
 * @param in the decoder
 * @param[out] data the first byte; valid as long as the buffers of the stream
 * @param max_bytes largest length to accept
 * @param[out] len_bytes length of the data
 * @retval 0 success
 * @retval -EBADMSG the stream is too short, the length exceeds max_bytes, the length of an item
 * differs from the encoded length, or the data cross parts that cannot be joined
 * @rfc 8166 section 3.4.5
 */
WEIR_API int weir_xdr_get_opaque_ref(struct weir_xdr_in *in, const void **data, uint32_t max_bytes,
				     uint32_t *len_bytes);

/**
 * Initialises an encoder.
 *
 * @param out the encoder
 * @param base the buffer; it must exist until the last put
 * @param size_bytes size of the buffer; 0 is allowed, with any base
 */
static inline void weir_xdr_out_init(struct weir_xdr_out *out, void *base, size_t size_bytes)
{
	out->start = (uint8_t *)base;
	out->p = out->start;
	out->end = size_bytes ? out->start + size_bytes : out->start;
	out->failed = false;
}

/**
 * Returns the number of bytes that were encoded.
 *
 * @param out the encoder
 * @return bytes
 */
static inline size_t weir_xdr_out_len(const struct weir_xdr_out *out)
{
	return (size_t)(out->p - out->start);
}

/**
 * Reserves the next bytes of the output, which the caller then fills.
 *
 * @param out the encoder
 * @param len_bytes number of bytes
 * @return the first byte; NULL if the bytes do not fit, and 'failed' is then set
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

/**
 * Encodes an int or unsigned int.
 *
 * @param out the encoder
 * @param value the value
 * @retval 0 success
 * @retval -ENOSPC the value does not fit
 * @rfc 4506 sections 4.1 and 4.2
 */
static inline int weir_xdr_put_u32(struct weir_xdr_out *out, uint32_t value)
{
	uint8_t *at = weir_xdr_reserve(out, 4);

	value = weir_xdr_big_endian32(value);
	if (!at)
		return -ENOSPC;
	memcpy(at, &value, 4);
	return 0;
}

/**
 * Encodes a hyper or unsigned hyper.
 *
 * @param out the encoder
 * @param value the value
 * @retval 0 success
 * @retval -ENOSPC the value does not fit
 * @rfc 4506 section 4.5
 */
static inline int weir_xdr_put_u64(struct weir_xdr_out *out, uint64_t value)
{
	uint8_t *at = weir_xdr_reserve(out, 8);

	value = weir_xdr_big_endian64(value);
	if (!at)
		return -ENOSPC;
	memcpy(at, &value, 8);
	return 0;
}

/**
 * Encodes fixed-length opaque data with zero padding.
 *
 * @param out the encoder
 * @param src the data
 * @param len_bytes length of the data
 * @retval 0 success
 * @retval -ENOSPC the data do not fit
 * @rfc 4506 section 4.9
 */
WEIR_API int weir_xdr_put_opaque_fixed(struct weir_xdr_out *out, const void *src,
				       uint32_t len_bytes);

/**
 * Encodes variable-length opaque data, or a string: length, data and zero padding.
 *
 * @param out the encoder
 * @param src the data
 * @param len_bytes length of the data
 * @retval 0 success
 * @retval -ENOSPC the data do not fit
 * @rfc 4506 sections 4.10 and 4.11
 */
WEIR_API int weir_xdr_put_opaque(struct weir_xdr_out *out, const void *src, uint32_t len_bytes);

WEIR_END_DECLS

#endif
