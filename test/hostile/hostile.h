/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOSTILE_H
#define HOSTILE_H

/*
 * weir-hostile: cases of bad input, written as data, which are run against a live responder or
 * requester over any driver. The cases are the same for each driver and for each implementation of
 * the other side. doc/weir-hostile.rst describes the program.
 */

#include "message.h"
#include "peer.h"

struct weir_xdr_in;
struct rdma1_header;
struct rdma1_limits;

/* The outcome of a case. The values are bits, so that a set of outcomes is a sum of them. */
enum outcome {
	GOT_REPLY = 1,	   /* the call was answered with results */
	GOT_RPC_ERROR = 2, /* the call was answered with an RPC error, or denied */
	GOT_ERR_VERS = 4,  /* RDMA_ERROR with ERR_VERS */
	GOT_ERR_CHUNK = 8,
	GOT_DROPPED = 16, /* there was no answer, and the connection stayed open */
	GOT_CLOSED = 32,  /* the connection was closed, and a new connection works */
	GOT_REFUSED = 64, /* no connection was established */
	GOT_ENDED = 128,  /* for a requester: the call ended, and the connection stayed open */
	/* an answer that no side is allowed to send, or an access to memory that was not offered */
	GOT_UNSOUND = 256,
	/* no further answer arrives, neither on this connection nor on a new one */
	GOT_DEAD = 512,
	GOT_UNTESTED = 1024, /* the other side did not do what the case needs */
	/*
	 * RDMA2_ERROR other than RDMA2_ERR_VERS. For this outcome and for GOT_REPORT, the detail
	 * names the error.
	 */
	GOT_ERROR = 2048,
	GOT_REPORT = 4096, /* the operation Report Error of version 2's extension */
	GOT_AGAIN = 8192,  /* for a requester: the call was retransmitted by the base protocol */
};
#define GOT_OUTCOMES 14u
#define GOT_SURVIVED                                                                               \
	(GOT_REPLY | GOT_RPC_ERROR | GOT_ERR_VERS | GOT_ERR_CHUNK | GOT_DROPPED | GOT_CLOSED |     \
	 GOT_ENDED | GOT_ERROR | GOT_REPORT | GOT_AGAIN)
#define GOT_ANY_ERROR (GOT_RPC_ERROR | GOT_ERR_CHUNK)

/* The way in which the message of a case is sent. */
enum delivery {
	ONCE,
	OFTEN,	/* 200 times, one after the other; waits for each answer that is allowed */
	BURST,	/* 48 times without waiting, whatever number of credits was granted */
	VANISH, /* once, and then the connection is closed at once; this is done 8 times */
	REJECT, /* the connection request is rejected */
	WRITE,	/* RDMA Write to the place of the call's Write chunk, plus 'h' and 'o' of the text;
		   then a good answer */
};

struct hostile_case {
	const char *name;
	const char *clause;  /* a section of RFC 8166, unless another document is named */
	const char *what;    /* a sentence that describes the case */
	const char *message; /* text of the message (message.h) */
	uint32_t allowed;    /* the set of outcomes that the clause allows */
	enum delivery delivery;
	/* private data (RFC 8797) in hex; NULL: valid data with 4096 bytes both ways */
	const char *private_data;
	/* The error or report that the outcome must name, of RPC or of version 2. NULL: any. */
	const char *detail;
	/* For a requester of version 2, these members are used as well: */
	/* the call that the requester must make: read, echo or write; NULL: read */
	const char *call;
	/* the answer to the requester's RDMA2_CONNPROP; NULL: PROPERTIES_V2 */
	const char *properties;
	/* 'message' is the answer to RDMA2_CONNPROP, and not an answer to a call */
	bool is_first;
};

/* Returns true if the message of a case is a good one, so that mutations can be made from it. */
static inline bool case_is_valid(const struct hostile_case *c)
{
	return c->allowed == GOT_REPLY && c->delivery == ONCE && !c->private_data && !c->is_first;
}

extern const struct hostile_case responder_cases[];    /* for a responder; ends with a NULL name */
extern const struct hostile_case responder_cases_v2[]; /* for version 2 and its extension */
extern const struct hostile_case requester_cases[];    /* answers to a requester */
extern const struct hostile_case requester_cases_v2[];

struct result {
	const struct hostile_case *c;
	enum outcome got;
	char detail[48]; /* more about the outcome, for example the name of the error */
};

#define CASE_MESSAGES_MAX 4u
#define CASE_TEXT_MAX	  512u

/*
 * The XIDs of the latest SENT_MAX messages that were sent on a connection. An answer must have one
 * of these XIDs.
 */
#define SENT_MAX 1024u

struct sent {
	uint32_t count;
	uint32_t xids[SENT_MAX]; /* the latest XIDs, as a ring */
};

/*
 * The properties that this side sends in RDMA2_CONNPROP. Receives have 8192 bytes, which contain
 * three targets of 2048 bytes. Reverse calls are not supported. All of the extension is supported,
 * with 8 transmissions each way.
 */
#define PROPERTIES_V2                                                                              \
	"xid v:2 c:8 p:6 n:6 w:1 w:4 w:8192 w:2 w:4 w:0 w:3 w:4 w:7 "                              \
	"w:4 w:40 w:8192 n:2 w:1 w:2048 w:1 w:0 w:3 w:2048 w:4 w:1 w:5 w:4 w:8 w:6 w:4 w:8 n:1 "   \
	"w:63"
extern const struct rtr_buffer own_structure;

struct hostile {
	struct peer peer;
	struct sent sent;
	struct peer_config config;
	bool is_v2; /* connections begin with RDMA2_CONNPROP */
	/* the structure of the other side's receives, from its RDMA2_CONNPROP */
	struct rtr_buffer theirs;
	const char *addr;
	struct parse parse;
	uint32_t xid;
	int status; /* exit status of the latest process of the requester */
	/* the command that starts a requester; NULL: requesters connect without a command */
	const char *command;
	struct message message;
	/* number of bytes in 'bytes', which holds the latest messages of one case */
	uint32_t len;
	uint32_t first_len; /* length of the first message in 'bytes' */
	uint8_t bytes[CASE_MESSAGES_MAX * MESSAGE_MAX];
	uint8_t canary[EXPOSED_BYTES];
};

const char *outcome_name(enum outcome outcome); /* for example ERR_CHUNK */
void outcome_names(uint32_t set, char *text, size_t size);

extern const struct rdma1_limits judge_no_limits;

/*
 * judge.c: returns the outcome that an answer to a requester's message means. 'detail' gets more
 * about it.
 */
enum outcome judge_answer(const struct peer *peer, const struct peer_message *answer,
			  const struct sent *sent, char detail[48]);
/* Does for answers of version 2 what judge_answer() does for version 1. */
enum outcome judge_answer_v2(const struct hostile *h, const struct peer_message *answer,
			     char detail[48]);
/*
 * Copies the structure of the sender's receives from an RDMA2_CONNPROP. If the message contains
 * none, or is another message, the structure has no groups.
 */
void judge_structure(const struct peer_message *message, struct rtr_buffer *structure);
/*
 * These functions return the outcome that an RPC reply means. The reply is in a message, or in the
 * memory of 'peer'. judge_was_sent() returns true if the XID is one of 'sent'.
 */
enum outcome judge_rpc(struct weir_xdr_in *in, uint32_t xid, char detail[48]);
enum outcome judge_long(const struct peer *peer, const struct rdma1_header *hdr, char detail[48]);
enum outcome judge_unsound(char detail[48], const char *why);
bool judge_was_sent(const struct sent *sent, uint32_t xid);

/*
 * to_responder.c: prepares the run. If the program has files, creates a file at the responder.
 * Returns 0, or -1 after an error message on standard error.
 */
int to_responder_prepare(struct hostile *h);
void to_responder_run(struct hostile *h, const struct hostile_case *c, struct result *result);
const struct hostile_case *responder_cases_of(const struct hostile *h);
/* Runs the mutation with number 'seed'. The number selects a valid case and its changes. */
void to_responder_mutated(struct hostile *h, uint64_t seed, struct result *result);

/*
 * process.c: starts the process of a requester by a shell, which is replaced by that process. The
 * environment variable WEIR_HOSTILE_CALL contains the call that it must make. Returns the PID, or
 * -1 if there is no command.
 */
int requester_start(const struct hostile *h, const struct hostile_case *c);
/*
 * Returns the exit status of the process, 128 plus the signal that ended it, or REQUESTER_RUNS if
 * it still runs.
 */
#define REQUESTER_RUNS -1
int requester_poll(int *pid);
void requester_kill(int pid);
/* Sets the outcome of a case from the exit status of the requester's process. */
void requester_judge(const struct hostile *h, struct result *result, int status, bool has_command);

/* to_requester.c */
/*
 * Waits for a connection and answers it as the case says. Returns false if no requester connected
 * in time.
 */
bool requester_connect(struct hostile *h, const struct hostile_case *c);
void to_requester_run(struct hostile *h, const struct hostile_case *c, struct result *result);
/*
 * Runs up to 'count' mutations, beginning with number 'seed', until the connection ends. Returns
 * the number of mutations.
 */
uint32_t to_requester_mutated(struct hostile *h, uint64_t seed, uint32_t count,
			      struct result *result);
/* to_requester_v2.c: these functions do for version 2 what the functions above do for version 1. */
void to_requester_v2_run(struct hostile *h, const struct hostile_case *c, struct result *result);
uint32_t to_requester_v2_mutated(struct hostile *h, uint64_t seed, uint32_t count,
				 struct result *result);

/*
 * Before a case, expose() fills the exposed memory with the content of h->canary. After the case,
 * exposure_is_kept() returns true if the memory still has that content, except where the case
 * offered it.
 */
void expose(struct hostile *h);
bool exposure_is_kept(const struct hostile *h);
/*
 * Write h->message to h->bytes and to exposed memory. append_message() writes it after the bytes
 * that h->bytes already holds, for further messages of one case.
 */
uint32_t make_message(struct hostile *h, const struct values *values);
uint32_t append_message(struct hostile *h, const struct values *values);
struct values own_values(const struct hostile *h);
/*
 * Parses one message of the text of a case. An error in the text is a bug of weir-hostile, so that
 * the program then ends. Returns the text after '/', or NULL if there is no further message.
 */
const char *parse_case(struct hostile *h, const char *text);
/* Copies the private data of a case to 'data'. Returns their length in bytes. */
uint32_t private_data(const struct hostile_case *c, uint8_t data[FABRIC_PRIVATE_DATA_MAX]);

/* report.c */
#include <jansson.h>
bool result_is_met(const struct result *result); /* the case allows the outcome */
void report_result(const struct result *result, bool is_quiet);
json_t *report_json(const struct result *result);
/*
 * Prints a table of the results in 'files' on standard output. Returns 0, or -1 after an error
 * message.
 */
int report_table(char *const *files, int nfiles);

#endif
