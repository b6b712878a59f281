/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the decoders that weirgen writes: those of test/weirgen/types.x.
 *
 * An input names a type and how the stream is divided, and contains the bytes of the stream:
 *
 *   1 byte   type, modulo the number of types
 *   2 bytes  size of the arena in units of 8 bytes
 *   1 byte   0: one part; otherwise an item begins at the byte 4 times this number
 *   1 byte   length of the item
 *   rest     the bytes
 *
 * A decoder must return 0, -EBADMSG or -ENOMEM. If it returns 0, the encoder must write as many
 * bytes as were decoded, which TYPE_bytes() returns, into exactly so much memory, and fail with one
 * byte less. The decoder must decode these bytes with the same arena, and the encoder must then
 * write the same bytes.
 */
#include "fuzz.h"
#include "types_xdr.h"

#define TYPES(X)                                                                                   \
	X(numbers, , NUMBERS_MAX_BYTES)                                                            \
	X(opaques, , opaques_bytes(&value))                                                        \
	X(arrays, &arena PARAMETER, arrays_bytes(&value))                                          \
	X(by_enum, , by_enum_bytes(&value))                                                        \
	X(by_int, , by_int_bytes(&value))                                                          \
	X(by_bool, &arena PARAMETER, by_bool_bytes(&value))                                        \
	X(by_word, &arena PARAMETER, by_word_bytes(&value))                                        \
	X(only_void, , ONLY_VOID_MAX_BYTES)                                                        \
	X(node, &arena PARAMETER, node_bytes(&value))                                              \
	X(entry, &arena PARAMETER, entry_bytes(&value))                                            \
	X(optionals, &arena PARAMETER, optionals_bytes(&value))                                    \
	X(items, , items_bytes(&value))                                                            \
	X(everything, &arena PARAMETER, everything_bytes(&value))
#define PARAMETER ,

/* The memory and the streams of one input. */
struct fuzz_streams {
	uint8_t *memory; /* of the arena */
	size_t memory_bytes;
	struct weir_xdr_part parts[3];
	uint32_t nparts;
};

#define DEFINE(type, arena_argument, bytes)                                                        \
	/* Encodes a value into exactly the memory that it needs. */                               \
	static uint8_t *encode_##type(const struct type *v, size_t length)                         \
	{                                                                                          \
		uint8_t *copy = fuzz_copy(NULL, length);                                           \
		struct weir_xdr_out out;                                                           \
                                                                                                   \
		weir_xdr_out_init(&out, copy, length - 1);                                         \
		REQUIRE(type##_put(&out, v) == -ENOSPC);                                           \
		weir_xdr_out_init(&out, copy, length);                                             \
		REQUIRE(type##_put(&out, v) == 0 && weir_xdr_out_len(&out) == length);             \
		return copy;                                                                       \
	}                                                                                          \
                                                                                                   \
	static void try_##type(const struct fuzz_streams *streams)                                 \
	{                                                                                          \
		struct weir_xdr_in in;                                                             \
		struct weir_xdr_arena arena;                                                       \
		struct type value;                                                                 \
		uint64_t all;                                                                      \
		uint8_t *first, *second;                                                           \
		size_t length;                                                                     \
		int rc;                                                                            \
                                                                                                   \
		weir_xdr_arena_init(&arena, streams->memory, streams->memory_bytes);               \
		weir_xdr_in_init_parts(&in, streams->parts, streams->nparts);                      \
		all = weir_xdr_remaining(&in);                                                     \
		rc = type##_get(&in, arena_argument & value);                                      \
		REQUIRE(rc == 0 || rc == -EBADMSG || rc == -ENOMEM);                               \
		REQUIRE(rc != -ENOMEM || arena.is_exhausted);                                      \
		if (rc != 0)                                                                       \
			return;                                                                    \
		length = bytes;                                                                    \
		if (streams->nparts == 1)                                                          \
			REQUIRE(length == all - weir_xdr_remaining(&in));                          \
		first = encode_##type(&value, length);                                             \
		weir_xdr_arena_init(&arena, streams->memory, streams->memory_bytes);               \
		weir_xdr_in_init(&in, first, (uint32_t)length);                                    \
		REQUIRE(type##_get(&in, arena_argument &value) == 0);                              \
		REQUIRE(weir_xdr_remaining(&in) == 0);                                             \
		second = encode_##type(&value, length);                                            \
		REQUIRE(memcmp(first, second, length) == 0);                                       \
		free(first);                                                                       \
		free(second);                                                                      \
	}
TYPES(DEFINE)

static void (*const tries[])(const struct fuzz_streams *streams) = {
#define ENTRY(type, arena_argument, bytes) try_##type,
	TYPES(ENTRY)};

/* Divides the bytes into parts. Each of them has memory of its own. */
static void divide(struct fuzz_in *in, struct fuzz_streams *streams, uint32_t item_at,
		   uint32_t item_bytes)
{
	const size_t lengths[3] = {item_at * 4u, item_bytes, SIZE_MAX};

	streams->nparts = item_at > 0 ? 3 : 1;
	for (uint32_t i = 0; i < streams->nparts; i++) {
		size_t length =
			streams->nparts == 1 || lengths[i] > in->left ? in->left : lengths[i];

		streams->parts[i].base = fuzz_copy(in->p, length);
		streams->parts[i].len_bytes = (uint32_t)length;
		streams->parts[i].is_item = i == 1;
		in->p += length;
		in->left -= length;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};
	struct fuzz_streams streams;
	uint32_t type = fuzz_u8(&in) % (sizeof(tries) / sizeof(tries[0]));
	uint32_t item_at, item_bytes;

	streams.memory_bytes = (size_t)fuzz_u16(&in) * WEIR_XDR_ARENA_ALIGN;
	streams.memory = fuzz_copy(NULL, streams.memory_bytes);
	item_at = fuzz_u8(&in);
	item_bytes = fuzz_u8(&in);
	divide(&in, &streams, item_at, item_bytes);
	tries[type](&streams);
	for (uint32_t i = 0; i < streams.nparts; i++)
		free((void *)(uintptr_t)streams.parts[i].base);
	free(streams.memory);
	return 0;
}
