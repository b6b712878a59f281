/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes pcapng files. All numbers are in the byte order of the CPU, which the file says. */
#include "pcapng.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "frame.h"

#define SECTION_BLOCK	 0x0a0d0d0au
#define INTERFACE_BLOCK	 1u
#define STATISTICS_BLOCK 5u
#define FRAME_BLOCK	 6u
#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define ETHERNET	 1u
#define TIME_OF_NS	 9u /* times are in 10^-9 s */
/* bytes of a block of a frame in addition to the frame and its comment */
#define FRAME_BLOCK_BYTES 44u
/* bytes of the block of statistics, with a comment */
#define END_BYTES (96u + PCAPNG_COMMENT_MAX)

enum option {
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	INTERFACE_NAME = 2,
	SECTION_PROGRAM = 4,
	STATISTICS_RECEIVED = 4,
	STATISTICS_DROPPED = 5,
	INTERFACE_TIME = 9,
};

int pcapng_flush(struct pcapng *file)
{
	uint32_t done = 0;

	while (file->error == 0 && done < file->used) {
		ssize_t n = write(file->fd, file->buffer + done, file->used - done);

		if (n >= 0) {
			done += (uint32_t)n;
			file->written += (uint64_t)n;
		} else if (errno != EINTR) {
			file->error = -errno;
		}
	}
	file->used = 0;
	return file->error;
}

static void put(struct pcapng *file, const void *data, uint32_t len)
{
	if (len == 0)
		return;
	if (file->used + len > sizeof(file->buffer))
		(void)pcapng_flush(file);
	memcpy(file->buffer + file->used, data, len);
	file->used += len;
	file->bytes += len;
}

static void put_u32(struct pcapng *file, uint32_t value)
{
	put(file, &value, sizeof(value));
}

static uint32_t padding(uint32_t len)
{
	return (0u - len) & 3u;
}

static void put_u16_pair(struct pcapng *file, uint32_t first, uint32_t second)
{
	uint16_t pair[] = {(uint16_t)first, (uint16_t)second};

	put(file, pair, sizeof(pair));
}

/* Appends bytes, and zeros up to a multiple of 4. */
static void put_padded(struct pcapng *file, const void *data, uint32_t len)
{
	put(file, data, len);
	put(file, "\0\0\0", padding(len));
}

static void put_option(struct pcapng *file, enum option code, const void *data, uint32_t len)
{
	put_u16_pair(file, code, len);
	put_padded(file, data, len);
}

static uint32_t option_bytes(uint32_t len)
{
	return 4 + len + padding(len);
}

static uint32_t comment_len(const char *comment)
{
	return comment ? (uint32_t)strnlen(comment, PCAPNG_COMMENT_MAX - 1) : 0;
}

static void put_section(struct pcapng *file, const char *program)
{
	uint32_t len = comment_len(program), bytes = 28 + option_bytes(len) + 4;
	uint64_t unknown = UINT64_MAX; /* the length of the section */

	put_u32(file, SECTION_BLOCK);
	put_u32(file, bytes);
	put_u32(file, BYTE_ORDER_MAGIC);
	put_u16_pair(file, 1, 0); /* the version of the format */
	put(file, &unknown, sizeof(unknown));
	put_option(file, SECTION_PROGRAM, program, len);
	put_option(file, OPTION_END, NULL, 0);
	put_u32(file, bytes);
}

static void put_interface(struct pcapng *file, const char *interface)
{
	uint32_t len = comment_len(interface), bytes = 20 + option_bytes(len) + option_bytes(1) + 4;
	uint8_t unit = TIME_OF_NS;

	put_u32(file, INTERFACE_BLOCK);
	put_u32(file, bytes);
	put_u16_pair(file, ETHERNET, 0);
	put_u32(file, FRAME_BYTES_MAX);
	put_option(file, INTERFACE_NAME, interface, len);
	put_option(file, INTERFACE_TIME, &unit, 1);
	put_option(file, OPTION_END, NULL, 0);
	put_u32(file, bytes);
}

int pcapng_begin(struct pcapng *file, int fd, uint64_t bytes_max, const char *program,
		 const char *interface)
{
	file->fd = fd;
	file->bytes = 0;
	file->written = 0;
	file->bytes_max = bytes_max;
	file->used = 0;
	file->error = 0;
	put_section(file, program);
	put_interface(file, interface);
	return pcapng_flush(file);
}

bool pcapng_has_room(const struct pcapng *file, uint64_t nframes, uint64_t bytes)
{
	uint64_t need = nframes * (FRAME_BLOCK_BYTES + 3) + bytes + PCAPNG_COMMENT_MAX + END_BYTES;

	return file->bytes + need <= file->bytes_max;
}

void pcapng_frame(struct pcapng *file, uint64_t time_ns, const uint8_t *frame, uint32_t kept,
		  uint32_t len, const char *comment)
{
	uint32_t comment_bytes = comment_len(comment);
	uint32_t options = comment_bytes > 0 ? option_bytes(comment_bytes) + 4 : 0;
	uint32_t bytes = 32 + kept + padding(kept) + options;

	put_u32(file, FRAME_BLOCK);
	put_u32(file, bytes);
	put_u32(file, 0); /* the interface */
	put_u32(file, (uint32_t)(time_ns >> 32));
	put_u32(file, (uint32_t)time_ns);
	put_u32(file, kept);
	put_u32(file, len);
	put_padded(file, frame, kept);
	if (options > 0) {
		put_option(file, OPTION_COMMENT, comment, comment_bytes);
		put_option(file, OPTION_END, NULL, 0);
	}
	put_u32(file, bytes);
}

int pcapng_end(struct pcapng *file, uint64_t time_ns, uint64_t nframes, uint64_t ndropped,
	       const char *comment)
{
	uint32_t len = comment_len(comment);
	uint32_t bytes = 24 + option_bytes(len) + 2 * option_bytes(8) + 4;

	put_u32(file, STATISTICS_BLOCK);
	put_u32(file, bytes);
	put_u32(file, 0); /* the interface */
	put_u32(file, (uint32_t)(time_ns >> 32));
	put_u32(file, (uint32_t)time_ns);
	put_option(file, OPTION_COMMENT, comment, len);
	put_option(file, STATISTICS_RECEIVED, &nframes, sizeof(nframes));
	put_option(file, STATISTICS_DROPPED, &ndropped, sizeof(ndropped));
	put_option(file, OPTION_END, NULL, 0);
	put_u32(file, bytes);
	return pcapng_flush(file);
}
