/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EMIT_H
#define EMIT_H

/*
 * A tree of named values, which is written as JSON or as indented text. The same calls write both
 * forms, so that both have the same content.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EMIT_DEPTH_MAX 16u

struct emit {
	FILE *to;
	bool json;
	unsigned depth;
	unsigned count[EMIT_DEPTH_MAX]; /* values written so far at each depth */
	char close[EMIT_DEPTH_MAX];	/* end of each depth: '}' or ']'; 0: a row of text */
};

/* Begin and end the output. The top level is an object. */
void emit_begin(struct emit *e, FILE *to, bool json);
void emit_end(struct emit *e);

/*
 * Open and close containers. In a list, the name is NULL. A row is an object that the text form
 * shows on one line.
 */
void emit_object(struct emit *e, const char *name);
void emit_row(struct emit *e, const char *name);
void emit_list(struct emit *e, const char *name);
void emit_close(struct emit *e);

void emit_u64(struct emit *e, const char *name, uint64_t value);
void emit_hex(struct emit *e, const char *name, uint64_t value, int digits); /* a string in JSON */
void emit_string(struct emit *e, const char *name, const char *value);
/* Writes bytes that a peer sent. Each byte is one character, which is escaped if necessary. */
void emit_bytes(struct emit *e, const char *name, const void *value, size_t len);
void emit_bool(struct emit *e, const char *name, bool value);
void emit_none(struct emit *e, const char *name); /* null in JSON */

#endif
