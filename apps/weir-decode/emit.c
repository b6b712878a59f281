/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a tree of named values as JSON or as indented text. */
#include "emit.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define TEXT_VALUE_COLUMN 24

static bool in_row(const struct emit *e)
{
	return e->close[e->depth] == 0;
}

/* Writes the comma, the new line, the indentation and the name that precede a JSON value. */
static void lead_json(struct emit *e, const char *name)
{
	fputs(e->count[e->depth]++ > 0 ? "," : "", e->to);
	fprintf(e->to, "\n%*s", (int)(2 * (e->depth + 1)), "");
	if (name)
		fprintf(e->to, "\"%s\": ", name);
}

/*
 * Writes the name that precedes a text value, or the value's index in a list. Values that are not
 * containers begin in column TEXT_VALUE_COLUMN.
 */
static void lead_text(struct emit *e, const char *name, bool container)
{
	unsigned index = e->count[e->depth]++;
	int indent = (int)(2 * e->depth);
	char label[32];

	if (in_row(e)) {
		fprintf(e->to, "%s%s ", index > 0 ? "  " : "", name);
		return;
	}
	if (e->depth > 0 && index == 0)
		fputc('\n', e->to); /* ends the line with the container's name */
	if (name)
		snprintf(label, sizeof(label), "%s", name);
	else
		snprintf(label, sizeof(label), "[%u]", index);
	if (container)
		fprintf(e->to, "%*s%s", indent, "", label);
	else
		fprintf(e->to, "%*s%-*s ", indent, "", TEXT_VALUE_COLUMN - indent, label);
}

static void lead(struct emit *e, const char *name)
{
	if (e->json)
		lead_json(e, name);
	else
		lead_text(e, name, false);
}

static void end_value(struct emit *e)
{
	if (!e->json && !in_row(e))
		fputc('\n', e->to);
}

static void open_container(struct emit *e, const char *name, char open, char close)
{
	assert(e->depth + 1 < EMIT_DEPTH_MAX);
	if (e->json) {
		lead_json(e, name);
		fputc(open, e->to);
	} else {
		lead_text(e, name, close != 0);
	}
	e->depth++;
	e->count[e->depth] = 0;
	e->close[e->depth] = close;
}

void emit_begin(struct emit *e, FILE *to, bool json)
{
	memset(e, 0, sizeof(*e));
	e->to = to;
	e->json = json;
	e->close[0] = '}';
	if (json)
		fputc('{', to);
}

void emit_end(struct emit *e)
{
	assert(e->depth == 0);
	if (e->json)
		fputs("\n}\n", e->to);
}

void emit_object(struct emit *e, const char *name)
{
	open_container(e, name, '{', '}');
}

void emit_row(struct emit *e, const char *name)
{
	open_container(e, name, '{', e->json ? '}' : 0);
}

void emit_list(struct emit *e, const char *name)
{
	open_container(e, name, '[', ']');
}

void emit_close(struct emit *e)
{
	assert(e->depth > 0);
	if (e->json) {
		if (e->count[e->depth] > 0)
			fprintf(e->to, "\n%*s", (int)(2 * e->depth), "");
		fputc(e->close[e->depth], e->to);
	} else if (in_row(e)) {
		fputc('\n', e->to);
	} else if (e->count[e->depth] == 0) {
		fputs(" (empty)\n", e->to);
	}
	e->depth--;
}

void emit_u64(struct emit *e, const char *name, uint64_t value)
{
	lead(e, name);
	fprintf(e->to, "%" PRIu64, value);
	end_value(e);
}

void emit_hex(struct emit *e, const char *name, uint64_t value, int digits)
{
	lead(e, name);
	fprintf(e->to, e->json ? "\"0x%0*" PRIx64 "\"" : "0x%0*" PRIx64, digits, value);
	end_value(e);
}

void emit_string(struct emit *e, const char *name, const char *value)
{
	emit_bytes(e, name, value, strlen(value));
}

void emit_bytes(struct emit *e, const char *name, const void *value, size_t len)
{
	const uint8_t *bytes = value;

	lead(e, name);
	if (e->json)
		fputc('"', e->to);
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] < 0x20 || bytes[i] > 0x7e)
			fprintf(e->to, e->json ? "\\u00%02x" : "\\x%02x", bytes[i]);
		else if (bytes[i] == '\\' || (bytes[i] == '"' && e->json))
			fprintf(e->to, "\\%c", bytes[i]);
		else
			fputc(bytes[i], e->to);
	}
	if (e->json)
		fputc('"', e->to);
	end_value(e);
}

void emit_bool(struct emit *e, const char *name, bool value)
{
	lead(e, name);
	fputs(value ? "true" : "false", e->to);
	end_value(e);
}

void emit_none(struct emit *e, const char *name)
{
	lead(e, name);
	fputs(e->json ? "null" : "none", e->to);
	end_value(e);
}
