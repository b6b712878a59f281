/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads bytes in hex digits, which can be grouped in words and contain comments. */
#include "hex.h"

#include <ctype.h>
#include <stdbool.h>

struct reader {
	FILE *from;
	unsigned line;
	int c; /* the next character of the file, or EOF */
};

static void advance(struct reader *r)
{
	if (r->c == '\n')
		r->line++;
	r->c = getc(r->from);
}

static int digit_value(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void skip_blank(struct reader *r)
{
	while (r->c != EOF && (isspace(r->c) || r->c == '#')) {
		if (r->c == '#')
			while (r->c != EOF && r->c != '\n')
				advance(r);
		else
			advance(r);
	}
}

static bool ends_word(const struct reader *r)
{
	return r->c == EOF || isspace(r->c) || r->c == '#';
}

/* Writes the reason why the next character is wrong to 'error'. Returns -1. */
static int complain(const struct reader *r, char *error, size_t error_size)
{
	if (ends_word(r))
		snprintf(error, error_size, "line %u: a word has an odd number of hex digits",
			 r->line);
	else if (isprint(r->c))
		snprintf(error, error_size, "line %u: '%c' is not a hex digit", r->line, r->c);
	else
		snprintf(error, error_size, "line %u: byte 0x%02x is not a hex digit", r->line,
			 (unsigned)r->c);
	return -1;
}

static int parse_digit(struct reader *r)
{
	int value = digit_value(r->c);

	if (value >= 0)
		advance(r);
	return value;
}

/*
 * Reads two digits, which are one byte. "0x" is allowed before the first digits of a word. Returns
 * the byte, or -1 if a digit is missing.
 */
static int parse_byte(struct reader *r, bool starts_word)
{
	int high = parse_digit(r), low;

	if (starts_word && high == 0 && (r->c == 'x' || r->c == 'X')) {
		advance(r);
		high = parse_digit(r);
	}
	low = high < 0 ? -1 : parse_digit(r);
	return low < 0 ? -1 : high * 16 + low;
}

int hex_read(FILE *from, uint8_t *buf, size_t size, size_t *len, char *error, size_t error_size)
{
	struct reader r = {.from = from, .line = 1, .c = getc(from)};
	size_t n = 0;

	for (skip_blank(&r); r.c != EOF; skip_blank(&r)) {
		bool starts_word = true;

		do {
			int byte = parse_byte(&r, starts_word);

			if (byte < 0)
				return complain(&r, error, error_size);
			if (n == size) {
				snprintf(error, error_size,
					 "line %u: the message is longer than %zu bytes", r.line,
					 size);
				return -1;
			}
			buf[n++] = (uint8_t)byte;
			starts_word = false;
		} while (!ends_word(&r));
	}
	if (ferror(from)) {
		snprintf(error, error_size, "standard input can't be read");
		return -1;
	}
	*len = n;
	return 0;
}
