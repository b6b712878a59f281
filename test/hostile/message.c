/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parses the text of a case into the fields of a message, and encodes fields as bytes. message.h
 * describes the text.
 */
#include "message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

#define TOKEN_MAX 48u

struct parser {
	struct message *message;
	const struct parse *parse;
	uint32_t arg; /* argument of the call whose text is being expanded */
	enum field_base arg_base;
};

static int parse_text(struct parser *parser, const char *text, const char **error);

static int put(struct parser *parser, enum field_kind kind, enum field_base base, uint64_t value)
{
	struct message *m = parser->message;

	if (m->nfields == FIELDS_MAX)
		return -EINVAL;
	m->fields[m->nfields++] = (struct field){(uint8_t)kind, (uint8_t)base, value};
	return 0;
}

static int put_segment(struct parser *parser, uint64_t len)
{
	struct message *m = parser->message;
	uint32_t at = m->exposed;

	/* A length beyond the exposed memory does not advance the offset of the next segment. */
	m->exposed += len < EXPOSED_LONG - at ? (uint32_t)len : 0;
	return put(parser, FIELD_HANDLE, BASE_KEY, 0) ||
			       put(parser, FIELD_LENGTH, BASE_ZERO, len) ||
			       put(parser, FIELD_OFFSET, BASE_ADDRESS, at)
		       ? -EINVAL
		       : 0;
}

static int put_handle(struct parser *parser, const struct handle *handle)
{
	int rc = put(parser, FIELD_RPC, BASE_ZERO, handle->len_bytes);

	for (uint32_t i = 0; i < handle->len_bytes && rc == 0; i += 4)
		rc = put(parser, FIELD_RPC, BASE_ZERO, wire_get_u32(handle->data + i));
	return rc;
}

/* Tokens that stand for one field each. */
static const struct {
	const char *name;
	uint8_t kind;
	uint8_t base;
} words[] = {
	{"xid", FIELD_XID, BASE_XID},
	{"v", FIELD_VERS, BASE_ZERO},
	{"c", FIELD_CREDIT, BASE_ZERO},
	{"p", FIELD_PROC, BASE_ZERO},
	{"err", FIELD_ERR, BASE_ZERO},
	{"b", FIELD_PRESENT, BASE_ZERO},
	{"n", FIELD_COUNT, BASE_ZERO},
	{"pos", FIELD_POSITION, BASE_ZERO},
	{"item", FIELD_POSITION, BASE_ITEM},
	{"h", FIELD_HANDLE, BASE_KEY},
	{"l", FIELD_LENGTH, BASE_ZERO},
	{"o", FIELD_OFFSET, BASE_ADDRESS},
	{"a", FIELD_OFFSET, BASE_ZERO},
	{"ch", FIELD_HANDLE, BASE_CALL_KEY},
	{"cl", FIELD_LENGTH, BASE_CALL_LENGTH},
	{"co", FIELD_OFFSET, BASE_CALL_ADDRESS},
	{"wx", FIELD_RPC, BASE_XID},
	{"w", FIELD_RPC, BASE_ZERO},
	{"wl", FIELD_RPC, BASE_CALL_LENGTH},
	{"data", FIELD_BYTES, BASE_ZERO},
	{"fill", FIELD_BYTES, BASE_ZERO},
	{"dir", FIELD_PRESENT, BASE_ZERO},
	{"inv", FIELD_HANDLE, BASE_ZERO},
	{"opt", FIELD_COUNT, BASE_OPTINFO},
	{"psl", FIELD_LENGTH, BASE_PAYLOAD},
	{"plen", FIELD_LENGTH, BASE_PAYLOAD_IS},
	{"end", FIELD_LENGTH, BASE_STREAM},
	{"tl", FIELD_LENGTH, BASE_TARGET_BYTES},
	{"tn", FIELD_COUNT, BASE_TARGETS},
	{"to", FIELD_BYTES, BASE_TARGET},
	{"junk", FIELD_BYTES, BASE_JUNK},
};

/* Tokens that stand for other tokens. */
static const struct {
	const char *name;
	const char *text;
} phrases[] = {
	{"none", "b:0 b:0 b:0"},
	{"call", "wx w:0 w:2 prog vers"},
	{"null", "call w:0 cred w:0 w:0"},
	{"void", "wx w:1 w:0 w:0 w:0 w:0"},
	{"results", "void wl"},
	{"good", "xid v:1 c:8 p:msg b:0 b:1 n:1 ch cl co b:0 b:0 results"},
	{"long", "h longbytes o:196608"},
};

static int parse_number(const char *text, uint64_t *number)
{
	static const char *const procs[] = {"msg", "nomsg", "msgp", "done", "error"};
	char *end;

	for (uint32_t i = 0; i < 5; i++) {
		if (strcmp(text, procs[i]) == 0) {
			*number = i;
			return 0;
		}
	}
	errno = 0;
	if (text[0] == '-')
		*number = (uint64_t)strtoll(text, &end, 0);
	else
		*number = strtoull(text, &end, 0);
	return errno == 0 && end != text && *end == '\0' ? 0 : -EINVAL;
}

/* Parses the argument KxN of a token: K segments, Read list entries or Write chunks of N bytes. */
static int parse_repeated(struct parser *parser, const char *name, const char *text)
{
	uint32_t count, len;
	int rc = 0;

	if (sscanf(text, "%ux%u", &count, &len) != 2)
		return -EINVAL;
	for (uint32_t i = 0; i < count && rc == 0; i++) {
		if (strcmp(name, "segs") != 0)
			rc = put(parser, FIELD_PRESENT, BASE_ZERO, 1);
		if (rc == 0 && strcmp(name, "reads") == 0)
			rc = put(parser, FIELD_POSITION, BASE_ITEM, 0);
		if (rc == 0 && strcmp(name, "chunks") == 0)
			rc = put(parser, FIELD_COUNT, BASE_ZERO, 1);
		if (rc == 0)
			rc = put_segment(parser, len);
	}
	return rc;
}

static uint32_t rpc_bytes(const struct message *m)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < m->nfields; i++)
		if (m->fields[i].kind == FIELD_RPC)
			bytes += 4;
	return bytes;
}

/* Parses a token for a call of the program, and expands the text of that call. */
static int parse_call(struct parser *parser, const char *name, uint64_t arg)
{
	const struct program *program = parser->parse->program;
	bool is_write = strncmp(name, "write", 5) == 0;
	const char *text = strcmp(name, "read") == 0	 ? program->read
			   : strcmp(name, "create") == 0 ? program->create
			   : is_write			 ? program->write
							 : NULL;
	const char *error;
	int rc;

	if (!text || (is_write && name[5] != '\0' && strcmp(name, "writet") != 0))
		return -EINVAL;
	parser->arg = (uint32_t)arg;
	parser->arg_base = is_write && name[5] == 't' ? BASE_TARGET_BYTES : BASE_ZERO;
	rc = parse_text(parser, text, &error);
	if (is_write)
		parser->message->item_bytes = rpc_bytes(parser->message);
	return rc;
}

static int parse_answer(struct parser *parser, const char *text)
{
	uint32_t from, len;

	if (sscanf(text, "%ux%u", &from, &len) != 2)
		return -EINVAL;
	return put(parser, FIELD_BYTES, BASE_ANSWER, (uint64_t)from << 32 | len);
}

/*
 * Parses the tokens for words of the program, and those that control how the message is composed.
 */
static int parse_special(struct parser *parser, const char *name, const char *text)
{
	const struct program *program = parser->parse->program;
	const char *error;
	uint64_t number = 0;

	if (strcmp(name, "segs") == 0 || strcmp(name, "reads") == 0 || strcmp(name, "chunks") == 0)
		return text ? parse_repeated(parser, name, text) : -EINVAL;
	if (strcmp(name, "ans") == 0)
		return text ? parse_answer(parser, text) : -EINVAL;
	if (text && parse_number(text, &number) != 0)
		return -EINVAL;
	if (strcmp(name, "seg") == 0)
		return put_segment(parser, number);
	if (strcmp(name, "longbytes") == 0)
		return put(parser, FIELD_LENGTH, BASE_LONG_BYTES, number);
	if (strcmp(name, "prog") == 0)
		return put(parser, FIELD_RPC, BASE_ZERO, program->prog + number);
	if (strcmp(name, "vers") == 0)
		return put(parser, FIELD_RPC, BASE_ZERO, program->vers + number);
	if (strcmp(name, "arg") == 0)
		return put(parser, FIELD_RPC, parser->arg_base, parser->arg);
	if (strcmp(name, "cred") == 0)
		return parse_text(parser, program->cred, &error);
	if (strcmp(name, "fh") == 0)
		return put_handle(parser, &parser->parse->file);
	if (strcmp(name, "root") == 0)
		return put_handle(parser, &parser->parse->root);
	if (strcmp(name, "cut") == 0)
		parser->message->cut_bytes = (uint32_t)number;
	else if (strcmp(name, "|") == 0)
		parser->message->nsent = parser->message->nfields;
	else
		return parse_call(parser, name, number);
	return 0;
}

static int parse_token(struct parser *parser, char *token)
{
	char *colon = strchr(token, ':');
	const char *error;
	uint64_t number = 0;

	if (colon)
		*colon++ = '\0';
	for (uint32_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
		if (strcmp(token, phrases[i].name) == 0)
			return parse_text(parser, phrases[i].text, &error);
	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(token, words[i].name) != 0)
			continue;
		if (colon && parse_number(colon, &number) != 0)
			return -EINVAL;
		if (strcmp(token, "data") == 0)
			number = (number + 3) & ~UINT64_C(3);
		return put(parser, words[i].kind, words[i].base, number);
	}
	return parse_special(parser, token, colon);
}

static int parse_text(struct parser *parser, const char *text, const char **error)
{
	char token[TOKEN_MAX];

	for (;;) {
		size_t len;

		text += strspn(text, " ");
		len = strcspn(text, " ");
		if (len == 0)
			return 0;
		*error = text;
		if (len >= sizeof(token))
			return -EINVAL;
		memcpy(token, text, len);
		token[len] = '\0';
		if (parse_token(parser, token) != 0)
			return -EINVAL;
		text += len;
	}
}

int message_parse(struct message *message, const char *text, const struct parse *parse,
		  const char **error)
{
	struct parser parser = {.message = message, .parse = parse};
	int rc;

	message->nfields = 0;
	message->nsent = FIELDS_MAX;
	message->item_bytes = 0;
	message->cut_bytes = MESSAGE_UNCUT;
	message->exposed = 0;
	rc = parse_text(&parser, text, error);
	if (message->nsent > message->nfields)
		message->nsent = message->nfields;
	return rc;
}

/*
 * Returns the length of a field in bytes. A field that fills the bytes before a target has a length
 * that only message_encode() knows, and counts as 0 here.
 */
uint32_t field_bytes(const struct field *field)
{
	if (field->kind == FIELD_BYTES)
		return field->base == BASE_TARGET ? 0 : (uint32_t)field->value;
	return field->kind == FIELD_OFFSET ? 8 : 4;
}

static uint32_t bytes_of(const struct message *message, uint32_t first, uint32_t end)
{
	uint32_t bytes = 0;

	for (uint32_t i = first; i < end; i++)
		bytes += field_bytes(&message->fields[i]);
	return bytes;
}

/*
 * Returns the index of the first field after the header of an operation of version 2's extension.
 * This is where the payload begins.
 */
static uint32_t payload_at(const struct message *message)
{
	for (uint32_t i = 0; i < message->nsent; i++)
		if (message->fields[i].base == BASE_PAYLOAD ||
		    message->fields[i].base == BASE_PAYLOAD_IS)
			return i + 1;
	return message->nsent;
}

/*
 * Returns the index of the first field after the payload. This field is placed data or filler, or
 * does not exist.
 */
static uint32_t payload_end(const struct message *message)
{
	uint32_t i = payload_at(message);

	while (i < message->nsent && message->fields[i].base != BASE_TARGET &&
	       message->fields[i].base != BASE_JUNK)
		i++;
	return i;
}

static uint32_t targets_of(const struct values *values)
{
	return values->targets ? rtr_buffer_targets(values->targets) : 0;
}

static uint32_t first_target_bytes(const struct values *values)
{
	struct rtr_target target = {0};

	if (values->targets)
		(void)rtr_buffer_target(values->targets, 0, &target);
	return target.length;
}

/*
 * Returns the offset of target n in the other side's receives. If n is the number of targets,
 * returns the end of the last one. Returns 0 if there is no such target.
 */
static uint32_t target_at(const struct values *values, int64_t n)
{
	uint32_t count = targets_of(values);
	struct rtr_target target;

	if (n < 0)
		n += count;
	if (n < 0 || n > count || count == 0)
		return 0;
	(void)rtr_buffer_target(values->targets, n < count ? (uint32_t)n : count - 1, &target);
	return n < count ? target.offset : target.offset + target.length;
}

uint64_t field_value(const struct message *message, const struct field *field,
		     const struct values *values)
{
	switch ((enum field_base)field->base) {
	case BASE_XID:
		return values->xid + field->value;
	case BASE_KEY:
		return values->key + field->value;
	case BASE_ADDRESS:
		return values->address + field->value;
	case BASE_ITEM:
		return message->item_bytes + field->value;
	case BASE_LONG_BYTES:
		return bytes_of(message, message->nsent, message->nfields) + field->value;
	case BASE_CALL_KEY:
		return values->call_key + field->value;
	case BASE_CALL_LENGTH:
		return values->call_length + field->value;
	case BASE_CALL_ADDRESS:
		return values->call_address + field->value;
	case BASE_OPTINFO:
		return bytes_of(message, (uint32_t)(field - message->fields) + 1,
				payload_at(message)) +
		       field->value;
	case BASE_PAYLOAD:
	case BASE_STREAM:
		return bytes_of(message, payload_at(message), payload_end(message)) + field->value;
	case BASE_TARGET_BYTES:
		return first_target_bytes(values) + field->value;
	case BASE_TARGETS:
		return targets_of(values) + field->value;
	default:
		return field->value;
	}
}

static void put_bytes(const struct field *field, const struct values *values, uint8_t *out,
		      uint32_t len)
{
	uint32_t from = (uint32_t)(field->value >> 32);

	memset(out, field->base == BASE_JUNK ? 0xa5 : 0, len);
	if (field->base != BASE_ANSWER || !values->answer || from > values->call_length)
		return;
	memcpy(out, values->answer + from,
	       len < values->call_length - from ? len : values->call_length - from);
}

static uint32_t encode(const struct message *message, const struct values *values, uint32_t first,
		       uint32_t end, uint8_t *out, uint32_t size)
{
	uint32_t at = 0;

	for (uint32_t i = first; i < end; i++) {
		const struct field *field = &message->fields[i];
		uint32_t len = field_bytes(field);

		if (field->base == BASE_TARGET) {
			uint32_t until = target_at(values, (int64_t)field->value);

			len = until > at ? until - at : 0;
		}
		if (len > size - at)
			break;
		if (field->kind == FIELD_BYTES)
			put_bytes(field, values, out + at, len);
		else if (len == 8)
			wire_put_u64(out + at, field_value(message, field, values));
		else
			wire_put_u32(out + at, (uint32_t)field_value(message, field, values));
		at += len;
	}
	return at;
}

uint32_t message_encode(const struct message *message, const struct values *values, uint8_t *out,
			uint8_t *exposed)
{
	uint32_t len = encode(message, values, 0, message->nsent, out, MESSAGE_MAX);

	encode(message, values, message->nsent, message->nfields, exposed + EXPOSED_LONG,
	       EXPOSED_BYTES - EXPOSED_LONG);
	return len < message->cut_bytes ? len : message->cut_bytes;
}
