/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EMIT_H
#define EMIT_H

/*
 * Writes a tree of named values as JSON or as indented text. The same calls write both forms, so
 * that both have the same content.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EMIT_DEPTH_MAX 16u

struct emit {
	FILE *to;
	bool json;
	/* The number of open containers is the index of the two arrays below. */
	unsigned depth;
	unsigned count[EMIT_DEPTH_MAX]; /* values written to the open container at each depth */
	char close[EMIT_DEPTH_MAX]; /* character that ends the container at each depth, '}' or ']';
				       0: a row of the text form */
};

/* These functions begin and end the output. The top level is an object. */
void emit_begin(struct emit *e, FILE *to, bool json);
void emit_end(struct emit *e);

/*
 * These functions open a container, and emit_close() closes the innermost one. In a list, the name
 * of each value is NULL. A row is an object that the text form prints on one line.
 */
void emit_object(struct emit *e, const char *name);
void emit_row(struct emit *e, const char *name);
void emit_list(struct emit *e, const char *name);
void emit_close(struct emit *e);

void emit_u64(struct emit *e, const char *name, uint64_t value);
/* a string in JSON, with at least 'digits' digits */
void emit_hex(struct emit *e, const char *name, uint64_t value, int digits);
void emit_string(struct emit *e, const char *name, const char *value);
/*
 * Writes bytes that a peer sent, as a string. Each byte is one character, which is escaped if
 * necessary.
 */
void emit_bytes(struct emit *e, const char *name, const void *value, size_t len);
void emit_bool(struct emit *e, const char *name, bool value);
void emit_none(struct emit *e, const char *name); /* writes null in JSON, and "none" in text */

#endif
