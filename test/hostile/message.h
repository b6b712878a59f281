/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MESSAGE_H
#define MESSAGE_H

/*
 * Messages as lists of fields that know their kind. A case is therefore a line of text, and a
 * mutation knows what it changes. The text consists of these tokens, with blanks between them:
 *
 *   xid xid:N    transport XID (plus N)
 *   v:N c:N      version, credits
 *   p:N          rdma_proc, or p:msg nomsg msgp done error
 *   err:N        a word of RDMA_ERROR
 *   b:N n:N      'present' word, count of a list
 *   none         b:0 b:0 b:0: three empty lists
 *   pos:N        position: N
 *   item item:N  position: that of the DDP-eligible argument (plus N)
 *   h h:N        handle of the exposed memory (plus N)
 *   l:N o:N a:N  length, offset in that memory, absolute offset
 *   seg:N        h l:N o:(the next N bytes)
 *   segs:KxN     K of them
 *   reads:KxN    K entries of a Read list at 'item'
 *   chunks:KxN   K Write chunks of one segment
 *   long         h l:(of the fields after |) o:(their offset)
 *   ch           handle of the first Write chunk's segment in the call that is answered
 *   cl cl:N      its length
 *   co co:N      its offset
 *   wx wx:N w:N  word of the RPC message: XID (plus N), N
 *   prog vers cred fh root arg  those of the program
 *   wl:N         a word of the RPC message: the length of the call's Write chunk plus N
 *   null read:N write:N create  an RPC call of the program; write ends after the count, N, of its
 *                data
 *   void results good  an RPC reply: without results; with as many bytes as were asked for; the
 *                whole message of that reply
 *   data:N       N bytes of XDR opaque data with padding
 *   fill:N       N bytes of zeros
 *   cut:N        the message ends after N bytes
 *   |            the following fields are in exposed memory
 *
 * and for version 2:
 *
 *   dir:N inv:N  rdma_direction, rdma_inv_handle
 *   opt opt:N    length of the content of RDMA2_OPTIONAL (plus N): up to 'psl', or to the end
 *   psl psl:N    length of the payload, which begins after this field (plus N)
 *   end end:N    the same, in a range
 *   plen:N       the same, but the length is N
 *   tl:N tn:N    length of the other side's first target, plus N; number of its targets, plus N
 *   writet:N     write, of as many bytes as tl:N says
 *   to:K         zeros up to the start of the other side's target K, where -1 is the last one. The
 *                following fields do not belong to the payload
 *   junk:N       bytes that are not zero and do not belong to the payload
 *   ans:FROMxN   N bytes of the result that the call asked for
 *   /            the following fields form another message with the same XID
 */

#include "rtr_buffer.h"

#define FIELDS_MAX    4096u
#define MESSAGE_MAX   65536u
#define EXPOSED_BYTES (256u << 10)
#define EXPOSED_LONG  (192u << 10) /* offset in the exposed memory of the fields after '|' */
#define HANDLE_MAX    64u	   /* bytes of a handle of NFS version 3 */
#define MESSAGE_UNCUT UINT32_MAX

enum field_kind {
	FIELD_XID,
	FIELD_VERS,
	FIELD_CREDIT,
	FIELD_PROC,
	FIELD_ERR,
	FIELD_PRESENT,
	FIELD_COUNT,
	FIELD_POSITION,
	FIELD_HANDLE,
	FIELD_LENGTH,
	FIELD_OFFSET, /* a field of 8 bytes */
	FIELD_RPC,
	FIELD_BYTES, /* 'value' bytes of data */
	FIELD_KINDS,
};

/* The base to which the value of a field is added when the message is encoded. */
enum field_base {
	BASE_ZERO,
	BASE_XID,
	BASE_KEY,
	BASE_ADDRESS,
	BASE_ITEM,
	BASE_LONG_BYTES,
	BASE_CALL_KEY,
	BASE_CALL_LENGTH,
	BASE_CALL_ADDRESS,
	BASE_OPTINFO,
	BASE_PAYLOAD, /* the length of the content after the field that ends the header */
	/* begins at the same field as BASE_PAYLOAD, but the value itself is the length */
	BASE_PAYLOAD_IS,
	BASE_STREAM,
	BASE_TARGET_BYTES,
	BASE_TARGETS,
	BASE_TARGET, /* for FIELD_BYTES: as many bytes as there are before the target */
	BASE_JUNK,   /* for FIELD_BYTES: bytes that are not zero */
	/*
	 * for FIELD_BYTES: a part of 'answer'. The value has its number of bytes, and in the high
	 * half its start.
	 */
	BASE_ANSWER,
};

struct field {
	uint8_t kind;
	uint8_t base;
	uint64_t value;
};

struct message {
	uint32_t nfields;
	/* Number of fields of the message itself. The fields after these are in exposed memory. */
	uint32_t nsent;
	uint32_t item_bytes; /* bytes of the RPC message before the DDP-eligible argument */
	uint32_t cut_bytes;  /* length at which the message is cut, or MESSAGE_UNCUT */
	uint32_t exposed;    /* offset in the exposed memory for the next 'seg' */
	struct field fields[FIELDS_MAX];
};

/* An RPC program, and the text of its calls. */
struct program {
	const char *name;
	uint32_t prog;
	uint32_t vers;
	const char *cred;
	const char *read;
	const char *write;
	const char *create; /* the call that creates a file, or NULL if none has to be created */
};

extern const struct program programs[];
const struct program *program_find(const char *name);

/* A handle of NFS, as it is in a message. */
struct handle {
	uint32_t len_bytes;
	uint8_t data[HANDLE_MAX];
};

struct parse {
	const struct program *program;
	struct handle root; /* handle of the root of the export */
	struct handle file; /* handle of the file that calls read and write */
};

/*
 * Parses the text of a message. Returns 0, or -EINVAL and sets *error to the token that is not
 * understood.
 */
int message_parse(struct message *message, const char *text, const struct parse *parse,
		  const char **error);

/*
 * The values of one message: the memory that this side exposes, and the memory that the call offers
 * to which the message is an answer.
 */
struct values {
	uint32_t xid;
	uint32_t key;
	uint64_t address;
	uint32_t call_key;
	uint32_t call_length;
	uint64_t call_address;
	/* structure of the other side's receives; NULL if it is not known */
	const struct rtr_buffer *targets;
	/* The result that the call asked for, of 'call_length' bytes, or NULL. */
	const uint8_t *answer;
};

/*
 * Encodes the message to 'out', of MESSAGE_MAX bytes, and the fields in exposed memory to
 * 'exposed', of EXPOSED_BYTES. Returns the length of the message.
 */
uint32_t message_encode(const struct message *message, const struct values *values, uint8_t *out,
			uint8_t *exposed);
uint64_t field_value(const struct message *message, const struct field *field,
		     const struct values *values);
uint32_t field_bytes(const struct field *field);

struct rng {
	uint64_t state;
};
uint32_t rng_below(struct rng *rng, uint32_t n);

/* mutate.c: changes the message in one to four places. */
void message_mutate(struct message *message, struct rng *rng);

#endif
