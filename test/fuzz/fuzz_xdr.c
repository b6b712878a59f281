/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target that compares the XDR decoder for streams of several parts with a model. For the
 * model, a stream is a list of symbols, each of which is a plain byte or a whole item.
 *
 * An input says how the stream is divided and which values to decode, and contains the bytes of the
 * stream:
 *
 *   1 byte   number of parts less one, modulo 8; then for each part its length, odd for an item
 *   1 byte   number of gets; then for each get its kind and an argument
 *   rest     the bytes; the last part has those that are left
 *
 * The decoder and the model must agree on each get: on the result, the value and the number of
 * bytes left. They must also agree if each plain byte is in a part of its own. The values are then
 * encoded into exactly the number of bytes that they need, and decoded again. With one byte less,
 * the encoder must fail.
 */
#include "fuzz.h"
#include "xdr_ref.h"

#define PARTS_MAX   8u
#define GETS_MAX    64u
#define SYMBOLS_MAX 4096u
#define ITEM	    256u /* symbols of at least this value are items */

enum {
	GET_U32,
	GET_U64,
	GET_BOOL,
	GET_BYTES,
	SKIP,
	GET_FIXED,
	GET_OPAQUE,
	GET_REF,
	GET_INLINE_REF,
	NKINDS
};

struct get {
	uint8_t kind;
	uint8_t arg;
};

struct stream {
	struct weir_xdr_part parts[SYMBOLS_MAX];
	uint32_t nparts;
	uint16_t symbols[SYMBOLS_MAX];
	uint16_t part_of[SYMBOLS_MAX];
	uint32_t nsymbols;
};

/* The model of a decoder: its position in the stream, and if a get has failed. */
struct model {
	const struct stream *stream;
	uint32_t at;
	bool failed;
};

/* The result of a get. */
struct got {
	int rc;
	uint64_t number;
	uint32_t len;
	uint8_t bytes[SYMBOLS_MAX];
};

/* ---- the stream ---- */

static void add_part(struct stream *s, const uint8_t *bytes, uint32_t len, bool is_item)
{
	s->parts[s->nparts] = (struct weir_xdr_part){fuzz_copy(bytes, len), len, is_item};
	if (is_item) {
		s->part_of[s->nsymbols] = (uint16_t)s->nparts;
		s->symbols[s->nsymbols++] = ITEM;
	} else {
		for (uint32_t i = 0; i < len; i++) {
			s->part_of[s->nsymbols] = (uint16_t)s->nparts;
			s->symbols[s->nsymbols++] = bytes[i];
		}
	}
	s->nparts++;
}

/* Copies the stream so that each plain byte is in a part of its own. */
static void cut_finely(const struct stream *from, struct stream *to)
{
	to->nparts = to->nsymbols = 0;
	for (uint32_t i = 0; i < from->nparts; i++) {
		const struct weir_xdr_part *part = &from->parts[i];

		if (part->is_item)
			add_part(to, part->base, part->len_bytes, true);
		else
			for (uint32_t j = 0; j < part->len_bytes; j++)
				add_part(to, part->base + j, 1, false);
	}
}

static void free_stream(struct stream *s)
{
	for (uint32_t i = 0; i < s->nparts; i++)
		free((void *)(uintptr_t)s->parts[i].base);
}

/* ---- the model ---- */

static uint64_t model_remaining(const struct model *m)
{
	const struct stream *s = m->stream;
	uint64_t bytes = 0;

	for (uint32_t i = m->at; i < s->nsymbols && !m->failed; i++)
		bytes += s->symbols[i] == ITEM ? s->parts[s->part_of[i]].len_bytes : 1;
	return bytes;
}

static int model_fail(struct model *m)
{
	m->failed = true;
	return -EBADMSG;
}

static int model_bytes(struct model *m, uint8_t *to, uint32_t len)
{
	const struct stream *s = m->stream;

	if (m->failed || s->nsymbols - m->at < len)
		return model_fail(m);
	for (uint32_t i = 0; i < len; i++)
		if (s->symbols[m->at + i] == ITEM)
			return model_fail(m);
	for (uint32_t i = 0; i < len; i++, m->at++)
		if (to)
			to[i] = (uint8_t)s->symbols[m->at];
	return 0;
}

static int model_number(struct model *m, uint32_t len, uint64_t *number)
{
	uint8_t bytes[8];

	*number = 0;
	if (model_bytes(m, bytes, len) != 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < len; i++)
		*number = *number << 8 | bytes[i];
	return 0;
}

static int model_padded(struct model *m, uint8_t *to, uint32_t len)
{
	if (model_bytes(m, to, len) != 0)
		return -EBADMSG;
	return model_bytes(m, NULL, (4 - len % 4) % 4);
}

static int model_ref(struct model *m, struct got *got, uint32_t max, bool may_be_item)
{
	const struct stream *s = m->stream;
	uint64_t count;

	if (model_number(m, 4, &count) != 0)
		return -EBADMSG;
	if (count > max)
		return model_fail(m);
	got->len = (uint32_t)count;
	if (m->at < s->nsymbols && s->symbols[m->at] == ITEM) {
		const struct weir_xdr_part *item = &s->parts[s->part_of[m->at]];

		if (!may_be_item || item->len_bytes != count)
			return model_fail(m);
		if (count > 0)
			memcpy(got->bytes, item->base, count);
		m->at++;
		return 0;
	}
	/* Data that are decoded in place must be within one part. */
	if (s->nsymbols - m->at < count ||
	    (count > 0 && s->part_of[m->at] != s->part_of[m->at + count - 1]))
		return model_fail(m);
	return model_padded(m, got->bytes, got->len);
}

static void model_get(struct model *m, const struct get *get, struct got *got)
{
	uint64_t count;

	got->len = 0;
	got->number = 0;
	switch (get->kind) {
	case GET_U32:
	case GET_U64:
		got->rc = model_number(m, get->kind == GET_U64 ? 8 : 4, &got->number);
		break;
	case GET_BOOL:
		got->rc = model_number(m, 4, &got->number);
		if (got->rc == 0 && got->number > 1)
			got->rc = model_fail(m);
		break;
	case GET_BYTES:
	case SKIP:
		got->len = get->kind == SKIP ? 0 : get->arg;
		got->rc = model_bytes(m, get->kind == SKIP ? NULL : got->bytes, get->arg);
		break;
	case GET_FIXED:
		got->len = get->arg;
		got->rc = model_padded(m, got->bytes, get->arg);
		break;
	case GET_OPAQUE:
		got->rc = model_number(m, 4, &count);
		if (got->rc == 0 && count > get->arg)
			got->rc = model_fail(m);
		if (got->rc == 0) {
			got->len = (uint32_t)count;
			got->rc = model_padded(m, got->bytes, got->len);
		}
		break;
	default:
		got->rc = model_ref(m, got, get->arg * 16u, get->kind == GET_REF);
		break;
	}
}

/* ---- the decoder ---- */

static void decoder_ref(struct weir_xdr_in *in, const struct get *get, struct got *got)
{
	const void *data = NULL;

	got->rc = get->kind == GET_REF
			  ? weir_xdr_get_opaque_ref(in, &data, get->arg * 16u, &got->len)
			  : xdr_get_inline_ref(in, &data, get->arg * 16u, &got->len);
	if (got->rc == 0 && got->len > 0)
		memcpy(got->bytes, data, got->len);
}

static void decoder_get(struct weir_xdr_in *in, const struct get *get, struct got *got)
{
	/* exactly the number of bytes that the get is allowed to write */
	uint8_t *room = fuzz_copy(NULL, get->arg);
	bool is_true = false;
	uint32_t word = 0;

	got->len = 0;
	got->number = 0;
	switch (get->kind) {
	case GET_U32:
		got->rc = weir_xdr_get_u32(in, &word);
		got->number = word;
		break;
	case GET_U64:
		got->rc = weir_xdr_get_u64(in, &got->number);
		break;
	case GET_BOOL:
		got->rc = weir_xdr_get_bool(in, &is_true);
		got->number = is_true;
		break;
	case GET_BYTES:
		got->len = get->arg;
		got->rc = weir_xdr_get_bytes(in, room, get->arg);
		break;
	case SKIP:
		got->rc = weir_xdr_get_bytes(in, NULL, get->arg);
		break;
	case GET_FIXED:
		got->len = get->arg;
		got->rc = weir_xdr_get_opaque_fixed(in, room, get->arg);
		break;
	case GET_OPAQUE:
		got->rc = weir_xdr_get_opaque(in, room, get->arg, &got->len);
		break;
	default:
		decoder_ref(in, get, got);
		break;
	}
	if (got->rc == 0 && get->kind >= GET_BYTES && get->kind <= GET_OPAQUE && got->len > 0)
		memcpy(got->bytes, room, got->len);
	free(room);
}

/* ---- encoding ---- */

static int put(struct weir_xdr_out *out, uint8_t kind, const struct got *got)
{
	switch (kind) {
	case GET_U32:
	case GET_BOOL:
		return weir_xdr_put_u32(out, (uint32_t)got->number);
	case GET_U64:
		return weir_xdr_put_u64(out, got->number);
	case GET_FIXED:
		return weir_xdr_put_opaque_fixed(out, got->bytes, got->len);
	default:
		return weir_xdr_put_opaque(out, got->bytes, got->len);
	}
}

static uint32_t put_size(uint8_t kind, uint32_t len)
{
	uint32_t padded = (len + 3) / 4 * 4;

	return kind == GET_U64 ? 8 : kind <= GET_BOOL ? 4 : kind == GET_FIXED ? padded : 4 + padded;
}

static void check_put(const struct get *get, const struct got *got)
{
	uint32_t size = put_size(get->kind, got->len);
	uint8_t *room = fuzz_copy(NULL, size);
	static struct got again;
	struct weir_xdr_out out;
	struct weir_xdr_in in;

	weir_xdr_out_init(&out, room, size);
	REQUIRE(put(&out, get->kind, got) == 0 && !out.failed && weir_xdr_out_len(&out) == size);
	weir_xdr_in_init(&in, room, size);
	decoder_get(&in, get, &again);
	REQUIRE(again.rc == 0 && again.number == got->number && again.len == got->len);
	REQUIRE(memcmp(again.bytes, got->bytes, got->len) == 0);
	REQUIRE(weir_xdr_remaining(&in) == 0);
	for (uint32_t i = 0; get->kind > GET_BOOL && i < weir_xdr_pad(got->len); i++)
		REQUIRE(room[size - 1 - i] == 0);
	if (size > 0) {
		weir_xdr_out_init(&out, room, size - 1);
		REQUIRE(put(&out, get->kind, got) == -ENOSPC && out.failed &&
			weir_xdr_out_len(&out) == 0);
	}
	free(room);
}

/* ---- one input ---- */

static void run(const struct stream *s, const struct get *gets, uint32_t ngets)
{
	static struct got want, got;
	struct model model = {s, 0, false};
	struct weir_xdr_in in;

	weir_xdr_in_init_parts(&in, s->parts, s->nparts);
	REQUIRE(weir_xdr_remaining(&in) == model_remaining(&model));
	for (uint32_t i = 0; i < ngets; i++) {
		model_get(&model, &gets[i], &want);
		decoder_get(&in, &gets[i], &got);
		REQUIRE(got.rc == want.rc);
		REQUIRE(in.failed == model.failed);
		REQUIRE(weir_xdr_remaining(&in) == model_remaining(&model));
		if (got.rc != 0)
			continue;
		REQUIRE(got.number == want.number && got.len == want.len);
		REQUIRE(memcmp(got.bytes, want.bytes, got.len) == 0);
		if (gets[i].kind != GET_BYTES && gets[i].kind != SKIP)
			check_put(&gets[i], &got);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stream stream, fine;
	struct fuzz_in in = {data, size};
	struct get gets[GETS_MAX];
	uint32_t lens[PARTS_MAX], nparts, ngets;
	bool is_item[PARTS_MAX];

	if (size > SYMBOLS_MAX - PARTS_MAX)
		return 0;
	nparts = fuzz_u8(&in) % PARTS_MAX + 1;
	for (uint32_t i = 0; i < nparts; i++) {
		lens[i] = fuzz_u8(&in);
		is_item[i] = fuzz_u8(&in) & 1;
	}
	ngets = fuzz_u8(&in) % GETS_MAX;
	for (uint32_t i = 0; i < ngets; i++) {
		gets[i].kind = fuzz_u8(&in) % NKINDS;
		gets[i].arg = fuzz_u8(&in);
	}
	stream.nparts = stream.nsymbols = 0;
	for (uint32_t i = 0; i < nparts; i++) {
		uint32_t len = i + 1 == nparts || lens[i] > in.left ? (uint32_t)in.left : lens[i];

		add_part(&stream, in.p, len, is_item[i]);
		in.p += len;
		in.left -= len;
	}
	run(&stream, gets, ngets);
	cut_finely(&stream, &fine);
	run(&fine, gets, ngets);
	free_stream(&stream);
	free_stream(&fine);
	return 0;
}
