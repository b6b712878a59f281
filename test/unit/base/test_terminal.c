/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests of text from a peer that is printed on a terminal: each code point, and bytes that are not
 * UTF-8.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "terminal.h"

/*
 * Encodes 'code' in 'len' bytes in the form of RFC 3629 section 3, even if a shorter form exists.
 */
static void put(uint32_t code, size_t len, char text[5])
{
	static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

	memset(text, 0, 5);
	if (len == 1)
		text[0] = (char)code;
	for (size_t i = len; len > 1 && i-- > 0; code >>= 6)
		text[i] = (char)(i > 0 ? 0x80 | (code & 0x3f) : lead[len] | code);
}

static size_t length_of(uint32_t code)
{
	return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

static bool is_within(uint32_t code, const uint32_t (*ranges)[2], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return true;
	return false;
}

/*
 * Checks each code point: it is unchanged, or each of its bytes is replaced by a '?'. Surrogates
 * have no form in UTF-8.
 */
static void text__every_code_point(void **state)
{
	static const uint32_t must_go[][2] = {
		{0x01, 0x1f},	  {0x7f, 0x9f},	    {0x61c, 0x61c},	{0x200b, 0x200f},
		{0x2028, 0x202e}, {0x2060, 0x206f}, {0xd800, 0xdfff},	{0xfeff, 0xfeff},
		{0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0001, 0xe007f},
	};
	static const uint32_t must_stay[][2] = {
		{0x20, 0x7e},	  {0xa1, 0xac},	    {0xae, 0x34e},    {0x370, 0x5ff},
		{0x3041, 0x3096}, {0x4e00, 0x9fff}, {0xac00, 0xd7a3}, {0x1f300, 0x1f64f},
	};
	char text[5], out[16], marks[5];
	uint32_t shown = 0;

	(void)state;
	for (uint32_t code = 1; code <= 0x10ffff; code++) {
		size_t len = length_of(code);
		bool stays;

		put(code, len, text);
		memset(marks, '?', len);
		marks[len] = '\0';
		terminal_text(text, out, sizeof(out));
		stays = strcmp(out, text) == 0 && code != '?';
		if (!stays)
			assert_string_equal(out, marks);
		shown += stays;
		if (is_within(code, must_go, sizeof(must_go) / sizeof(must_go[0])))
			assert_false(stays);
		if (is_within(code, must_stay, sizeof(must_stay) / sizeof(must_stay[0])) &&
		    code != '?')
			assert_true(stays);
	}
	assert_in_range(shown, 1100000, 1110000);
}

/*
 * Checks that the output never contains a control character, whatever byte precedes it. The control
 * character could be one byte or a code point in UTF-8.
 */
static void text__every_pair_of_bytes(void **state)
{
	char text[4] = {0}, out[16];

	(void)state;
	for (uint32_t first = 1; first < 256; first++) {
		for (uint32_t second = 1; second < 256; second++) {
			text[0] = (char)first;
			text[1] = (char)second;
			text[2] = 'x';
			terminal_text(text, out, sizeof(out));
			assert_int_equal(strlen(out), 3);
			assert_int_equal(out[2], 'x');
			for (size_t i = 0; i < 2; i++) {
				uint8_t c = (uint8_t)out[i];
				bool is_second =
					i == 1 && first >= 0xc3 && first < 0xe0 && c == second;

				assert_true(c >= 0x20 && c != 0x7f);
				assert_true(c < 0x80 || c >= 0xa0 || is_second);
			}
		}
	}
	terminal_text("\x80\x9b"
		      "31m",
		      /* one byte is printed after another byte of 0x80 or above */
		      out, sizeof(out));
	assert_string_equal(out, "??31m");
	terminal_text("\xc3\xa9\x9b"
		      "31m",
		      out, sizeof(out));
	assert_string_equal(out, "\xc3\xa9?31m");
}

static void text__3629_3_what_is_not_well_formed(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{"\xc3", "?"},			   /* cut short */
		{"\xe2\x82", "??"},		   /* cut short */
		{"\xf0\x9f\x98", "???"},	   /* cut short */
		{"\xc3x", "?x"},		   /* the second byte is another character */
		{"\xe2\x82x", "??x"},		   /* the third byte is another character */
		{"\xe2\xc3\xa9", "?\xc3\xa9"},	   /* a new character begins at the second byte */
		{"\xed\xa0\x80", "???"},	   /* a surrogate */
		{"\xf4\x90\x80\x80", "????"},	   /* beyond U+10FFFF */
		{"\xf8\x88\x80\x80\x80", "?????"}, /* five bytes */
		{"\xfe\xff", "??"},		   /* bytes that never occur in UTF-8 */
		{"\xe2\x80\xae"
		 "exe.txt",
		 /*
		  * with the override character, a terminal would display the name as one that ends
		  * in txt.exe
		  */
		 "???exe.txt"},
		{"a\nb\tc\r", "a?b?c?"},
		{"\033]0;title\a", "?]0;title?"},
		{"", ""},
	};
	char text[5], out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		terminal_text(cases[i].text, out, sizeof(out));
		assert_string_equal(out, cases[i].shown);
	}
	/* An overlong form could hide its character from code that searches for the character. */
	for (uint32_t code = 1; code < 0x10000; code++) {
		for (size_t len = length_of(code) + 1; len <= 4; len++) {
			put(code, len, text);
			terminal_text(text, out, sizeof(out));
			assert_int_equal(strspn(out, "?"), len);
			assert_int_equal(strlen(out), len);
		}
	}
}

static void text__is_cut_between_characters(void **state)
{
	const char *text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
	static const size_t kept[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10};
	char out[16];

	(void)state;
	for (size_t bytes = 1; bytes <= 11; bytes++) {
		memset(out, 'z', sizeof(out));
		terminal_text(text, out, bytes);
		assert_int_equal(strlen(out), kept[bytes - 1]);
		assert_memory_equal(out, text, kept[bytes - 1]);
		assert_int_equal(out[bytes], 'z');
	}
	snprintf(out, sizeof(out), "%s",
		 "a\033"
		 "b\xe2\x80\xae");
	terminal_text(out, out, sizeof(out)); /* the output replaces the input */
	assert_string_equal(out, "a?b???");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text__every_code_point),
		cmocka_unit_test(text__every_pair_of_bytes),
		cmocka_unit_test(text__3629_3_what_is_not_well_formed),
		cmocka_unit_test(text__is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
