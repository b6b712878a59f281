/* SPDX-License-Identifier: BSD-3-Clause */
/* CRC-32, of 8 bytes at a time: table[k][b] is the effect of the byte b when k bytes follow it. */
#include "crc32.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0xedb88320u /* with the lowest bit first */

static uint32_t table[8][256];

static void fill_table(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (uint32_t bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		table[0][byte] = crc;
	}
	for (uint32_t byte = 0; byte < 256; byte++)
		for (uint32_t k = 1; k < 8; k++)
			table[k][byte] =
				table[k - 1][byte] >> 8 ^ table[0][table[k - 1][byte] & 0xff];
}

uint32_t crc32_of(const uint8_t *data, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint32_t crc = UINT32_MAX;

	pthread_once(&once, fill_table);
	for (; len >= 8; data += 8, len -= 8) {
		uint64_t word;

		memcpy(&word, data, sizeof(word));
		word = le64toh(word) ^ crc;
		crc = 0;
		for (uint32_t k = 0; k < 8; k++)
			crc ^= table[7 - k][word >> 8 * k & 0xff];
	}
	for (; len > 0; data++, len--)
		crc = crc >> 8 ^ table[0][(crc ^ *data) & 0xff];
	return ~crc;
}
