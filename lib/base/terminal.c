/* SPDX-License-Identifier: BSD-3-Clause */
#include "terminal.h"

#include <weir/common.h>

/* Ranges of code points that terminal_text() replaces, in ascending order. */
static const struct {
	uint32_t first, last;
} unsafe[] = {
	{0x00, 0x1f},	  /* C0 */
	{0x7f, 0x9f},	  /* DEL, C1 */
	{0xad, 0xad},	  /* soft hyphen */
	{0x034f, 0x034f}, /* combining grapheme joiner */
	{0x0600, 0x0605}, /* format characters of Arabic */
	{0x061c, 0x061c}, /* Arabic letter mark */
	{0x06dd, 0x06dd}, /* format */
	{0x070f, 0x070f}, /* format */
	{0x0890, 0x0891}, /* format */
	{0x08e2, 0x08e2}, /* format */
	{0x115f, 0x1160}, /* Hangul fillers, which are empty */
	{0x17b4, 0x17b5}, /* inherent vowels, which are empty */
	{0x180b, 0x180f}, /* Mongolian selectors and separator */
	{0x200b, 0x200f}, /* zero width, and the marks of both directions */
	{0x2028,
	 0x202e}, /* line and paragraph separators, bidirectional embeddings and overrides */
	{0x2060,
	 0x206f}, /* invisible operators, bidirectional isolates, deprecated format characters */
	{0x3164, 0x3164},   /* Hangul filler */
	{0xfdd0, 0xfdef},   /* noncharacters */
	{0xfe00, 0xfe0f},   /* variation selectors */
	{0xfeff, 0xfeff},   /* byte order mark */
	{0xffa0, 0xffa0},   /* Hangul filler */
	{0xfff0, 0xfffb},   /* unassigned, and interlinear annotation */
	{0xfffe, 0xffff},   /* noncharacters, as are the last two of each plane */
	{0x110bd, 0x110bd}, /* format */
	{0x110cd, 0x110cd}, /* format */
	{0x13430, 0x1343f}, /* format characters of hieroglyphs */
	{0x1bca0, 0x1bca3}, /* format characters of shorthand */
	{0x1d173, 0x1d17a}, /* format characters of music */
	{0xe0000, 0xe0fff}, /* tags and variation selectors */
};

/* Returns whether the code point is in none of these ranges, and is none of the two noncharacters
 * at the end of a plane. */
static bool is_safe(uint32_t c)
{
	if ((c & 0xfffe) == 0xfffe)
		return false;
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]) && unsafe[i].first <= c; i++)
		if (c <= unsafe[i].last)
			return false;
	return true;
}

/* Decodes the UTF-8 character at 'at', in a text that ends with a NUL. Returns the length of the
 * character in bytes, and sets *code to its code point. Returns 0 if the bytes at 'at' are not a
 * character. */
static size_t take(const uint8_t *at, uint32_t *code)
{
	static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = at[0] < 0x80   ? 1
		     : at[0] < 0xc0 ? 0
		     : at[0] < 0xe0 ? 2
		     : at[0] < 0xf0 ? 3
		     : at[0] < 0xf8 ? 4
				    : 0;

	if (len == 0)
		return 0;
	*code = len == 1 ? at[0] : at[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xc0) != 0x80) /* This includes a NUL. */
			return 0;
		*code = *code << 6 | (at[i] & 0x3f);
	}
	/* The bytes are not a character if the form is not the shortest one, or the code point is a
	 * surrogate or is beyond U+10FFFF. */
	return *code < lowest[len] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff)
		       ? 0
		       : len;
}

void terminal_text(const char *text, char *out, size_t out_bytes)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t used = 0;

	while (*at != '\0') {
		uint32_t code = 0;
		size_t len = take(at, &code);
		bool is_shown = len > 0 && is_safe(code);

		len = len > 0 ? len : 1; /* A byte that starts no character is replaced alone. */
		if (out_bytes - used <= len)
			break;
		for (size_t i = 0; i < len; i++)
			out[used++] = is_shown ? (char)at[i] : '?';
		at += len;
	}
	out[used] = '\0';
}
