/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a file handle as hexadecimal digits from a file or from the environment. */
#include "handle_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_BYTES                                                                                 \
	(2u * HANDLE_TEXT_BYTES_MAX + 2u) /* room for a newline and for one excess byte */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/*
 * Parses the hexadecimal digits of a handle. Returns NULL with 'data' and *len_bytes set, or an
 * error text.
 */
static const char *parse(const char *text, size_t len, uint8_t *data, uint32_t *len_bytes)
{
	if (len > 0 && text[len - 1] == '\n')
		len--;
	if (len == 0 || len % 2 != 0 || len > (size_t)2 * HANDLE_TEXT_BYTES_MAX)
		return "expected 1 to 64 bytes as hexadecimal digits";
	for (size_t i = 0; i < len; i += 2) {
		int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);

		if (high < 0 || low < 0)
			return "expected hexadecimal digits";
		data[i / 2] = (uint8_t)(high << 4 | low);
	}
	*len_bytes = (uint32_t)(len / 2);
	return NULL;
}

/*
 * Reads at most TEXT_BYTES bytes of a file. The file can be a pipe, such as a shell's <(command).
 * Returns the number of bytes read, or -1 with errno set.
 */
static ssize_t read_file(const char *path, char text[TEXT_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), error;
	size_t have = 0;
	ssize_t n = 1;

	if (fd < 0)
		return -1;
	while (n > 0 && have < TEXT_BYTES) {
		n = read(fd, text + have, TEXT_BYTES - have);
		if (n > 0)
			have += (size_t)n;
		else if (n < 0 && errno == EINTR)
			n = 1;
	}
	error = errno;
	close(fd);
	errno = error;
	return n < 0 ? -1 : (ssize_t)have;
}

const char *handle_text_read(const char *value, uint8_t data[HANDLE_TEXT_BYTES_MAX],
			     uint32_t *len_bytes)
{
	char text[TEXT_BYTES];
	const char *digits;
	ssize_t len;

	if (!value) {
		digits = getenv(HANDLE_TEXT_VARIABLE);
		return digits ? parse(digits, strlen(digits), data, len_bytes) : "it is not set";
	}
	if (value[0] != '@')
		return "a handle is a secret, and others can read this command line: expected "
		       "@FILE, or the environment variable " HANDLE_TEXT_VARIABLE;
	len = read_file(value + 1, text);
	return len < 0 ? strerror(errno) : parse(text, (size_t)len, data, len_bytes);
}
