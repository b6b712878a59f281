/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests frames, and the CRC with which their ICRC is computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "crc32.h"
#include "frame.h"

/* A frame of another implementation: an RDMA Read request that Linux' soft RoCE has sent. */
static const uint8_t foreign[] = {
	0x52, 0x54, 0x00, 0x00, 0x00, 0x02, 0x52, 0x54, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x45,
	0x00, 0x00, 0x3c, 0xe0, 0x0c, 0x40, 0x00, 0x40, 0x11, 0x44, 0x08, 0x0a, 0x4d, 0x01, 0x01,
	0x0a, 0x4d, 0x01, 0x02, 0xf8, 0x1a, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00, 0x0c, 0x00, 0xff,
	0xff, 0x00, 0x00, 0x00, 0x11, 0x80, 0xb0, 0x06, 0x19, 0x6d, 0x7d, 0x60, 0x4c, 0x04, 0x59,
	0x50, 0x00, 0x00, 0x00, 0x0c, 0x2c, 0x00, 0x01, 0x00, 0x00, 0x52, 0x62, 0x93, 0xe1,
};

static const struct frame_path path = {
	.from_ip = 0x0a4d0101,
	.to_ip = 0x0a4d0102,
	.from_port = 0xf81a,
	.to_qpn = 0x11,
};

static void crc32__of_the_check_value(void **state)
{
	(void)state;
	assert_int_equal(crc32_of((const uint8_t *)"123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_of((const uint8_t *)"12345678", 8), 0x9ae0daaf);
	assert_int_equal(crc32_of(NULL, 0), 0);
}

static void icrc__is_that_of_another_implementation(void **state)
{
	uint8_t copy[sizeof(foreign)];
	uint32_t icrc, expected = 0;

	(void)state;
	memcpy(copy, foreign, sizeof(copy));
	icrc = frame_icrc(copy, sizeof(copy) - 4);
	for (uint32_t i = 0; i < 4; i++)
		expected |= (uint32_t)foreign[sizeof(foreign) - 4 + i] << 8 * i;
	assert_int_equal(icrc, expected);
	assert_memory_equal(copy, foreign, sizeof(copy));
}

static void read_request__has_the_headers_of_another_implementation(void **state)
{
	const struct frame frame = {
		.opcode = FRAME_READ_REQUEST,
		.psn = 0xb00619,
		.raddr = 0x6d7d604c04595000,
		.rkey = 0x00000c2c,
		.operation_bytes = 0x10000,
	};
	uint8_t out[FRAME_BYTES_MAX];
	uint32_t wire_bytes;

	(void)state;
	assert_int_equal(frame_write(out, &path, &frame, &wire_bytes), sizeof(foreign));
	assert_int_equal(wire_bytes, sizeof(foreign));
	assert_memory_equal(out + 14, foreign + 14, 4);	 /* IP: version, length */
	assert_memory_equal(out + 20, foreign + 20, 4);	 /* flags, time to live, protocol */
	assert_memory_equal(out + 26, foreign + 26, 24); /* addresses, UDP, BTH up to the PSN */
	/* Only soft RoCE asks for an acknowledgement, by the first bit of the next byte. */
	assert_memory_equal(out + 51, foreign + 51, sizeof(foreign) - 4 - 51);
}

/* Returns the sum of the IP header, which is 0xffff if the checksum is right. */
static uint32_t ip_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	return (sum & 0xffff) + (sum >> 16);
}

static void frame__of_each_length(void **state)
{
	uint8_t out[FRAME_BYTES_MAX], payload[FRAME_MTU];
	uint32_t wire_bytes;

	(void)state;
	for (uint32_t i = 0; i < FRAME_MTU; i++)
		payload[i] = (uint8_t)(i * 7 + 1);
	for (uint32_t len = 0; len <= FRAME_MTU; len++) {
		const struct frame frame = {
			.opcode = FRAME_SEND_ONLY,
			.payload = payload,
			.len = len,
			.kept = len,
		};
		uint32_t pad = (4 - len % 4) % 4,
			 bytes = frame_write(out, &path, &frame, &wire_bytes);

		assert_int_equal(bytes, FRAME_BASE_BYTES + len + pad);
		assert_int_equal(wire_bytes, bytes);
		assert_int_equal(out[16] << 8 | out[17], bytes - 14);
		assert_int_equal(out[38] << 8 | out[39], bytes - 34);
		assert_int_equal(ip_sum(out + 14), 0xffff);
		assert_int_equal(out[43] >> 4 & 3, pad);
		assert_memory_equal(out + 54, payload, len);
	}
}

static void frame__that_is_cut_off(void **state)
{
	const uint8_t payload[64] = {1, 2, 3};
	const struct frame frame = {
		.opcode = FRAME_WRITE_ONLY,
		.raddr = 1,
		.rkey = 2,
		.operation_bytes = 1001,
		.payload = payload,
		.len = 1001,
		.kept = 64,
	};
	uint8_t out[FRAME_BYTES_MAX];
	uint32_t wire_bytes;

	(void)state;
	assert_int_equal(frame_write(out, &path, &frame, &wire_bytes), FRAME_HEADERS_MAX - 4 + 64);
	assert_int_equal(wire_bytes, FRAME_BASE_BYTES + 16 + 1004);
	assert_memory_equal(out + 70, payload, 64);
}

static void opcodes__of_operations_in_several_frames(void **state)
{
	(void)state;
	assert_int_equal(frame_count(0), 1);
	assert_int_equal(frame_count(FRAME_MTU), 1);
	assert_int_equal(frame_count(FRAME_MTU + 1), 2);
	assert_int_equal(frame_count(UINT32_MAX), 1u << 20);
	assert_int_equal(frame_opcode_of(FRAME_KIND_SEND, 0, 1), FRAME_SEND_ONLY);
	assert_int_equal(frame_opcode_of(FRAME_KIND_SEND_INV, 0, 3), FRAME_SEND_FIRST);
	assert_int_equal(frame_opcode_of(FRAME_KIND_SEND_INV, 1, 3), FRAME_SEND_MIDDLE);
	assert_int_equal(frame_opcode_of(FRAME_KIND_SEND_INV, 2, 3), FRAME_SEND_LAST_INV);
	assert_int_equal(frame_opcode_of(FRAME_KIND_WRITE, 1, 2), FRAME_WRITE_LAST);
	assert_int_equal(frame_opcode_of(FRAME_KIND_READ_RESPONSE, 0, 2),
			 FRAME_READ_RESPONSE_FIRST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32__of_the_check_value),
		cmocka_unit_test(icrc__is_that_of_another_implementation),
		cmocka_unit_test(read_request__has_the_headers_of_another_implementation),
		cmocka_unit_test(frame__of_each_length),
		cmocka_unit_test(frame__that_is_cut_off),
		cmocka_unit_test(opcodes__of_operations_in_several_frames),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
