/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOSTILE_H
#define HOSTILE_H

/*
 * weir-hostile: cases of bad input as data, run against a live responder or requester over any
 * driver. The cases are the same for each driver and for each implementation of the other side. See
 * doc/weir-hostile.rst.
 */

#include "message.h"
#include "peer.h"

struct weir_xdr_in;
struct rdma1_header;
struct rdma1_limits;

/* The outcome of a case; also a set of outcomes. */
enum outcome {
	GOT_REPLY = 1,	   /* the call was answered with results */
	GOT_RPC_ERROR = 2, /* with an RPC error, or it was denied */
	GOT_ERR_VERS = 4,  /* RDMA_ERROR with ERR_VERS */
	GOT_ERR_CHUNK = 8,
	GOT_DROPPED = 16,    /* no answer, and the connection continues */
	GOT_CLOSED = 32,     /* the connection was closed, and a new one works */
	GOT_REFUSED = 64,    /* no connection was established */
	GOT_ENDED = 128,     /* for a requester: the call ended, and the connection continues */
	GOT_UNSOUND = 256,   /* an answer that no side may send, or access to memory not offered */
	GOT_DEAD = 512,	     /* no further answer arrives, on this connection or a new one */
	GOT_UNTESTED = 1024, /* the other side did not do what the case needs */
	/* RDMA2_ERROR other than RDMA2_ERR_VERS; the detail names the error, also for GOT_REPORT */
	GOT_ERROR = 2048,
	GOT_REPORT = 4096, /* Report Error of version 2's extension */
	GOT_AGAIN = 8192,  /* for a requester: the call was retransmitted by the base protocol */
};
#define GOT_OUTCOMES 14u
#define GOT_SURVIVED                                                                               \
	(GOT_REPLY | GOT_RPC_ERROR | GOT_ERR_VERS | GOT_ERR_CHUNK | GOT_DROPPED | GOT_CLOSED |     \
	 GOT_ENDED | GOT_ERROR | GOT_REPORT | GOT_AGAIN)
#define GOT_ANY_ERROR (GOT_RPC_ERROR | GOT_ERR_CHUNK)

/* The way in which a message is sent. */
enum delivery {
	ONCE,
	OFTEN,	/* 200 times, one after the other; each allowed answer is waited for */
	BURST,	/* 48 times at once, whatever was granted */
	VANISH, /* once, and the connection is closed at once; 8 connections in turn */
	REJECT, /* the connection is refused */
	WRITE,	/* RDMA Write to the place of the call's Write chunk, plus 'h' and 'o' of the text;
		   then a good answer */
};

struct hostile_case {
	const char *name;
	const char *clause;  /* a section of RFC 8166, unless it names another document */
	const char *what;    /* a sentence about the case */
	const char *message; /* see message.h */
	uint32_t allowed;    /* set of outcomes that the clause allows */
	enum delivery delivery;
	const char *private_data; /* RFC 8797, in hex; NULL: valid, 4096 bytes both ways */
	/* The error or report that it must be, of RPC or of version 2; NULL: any. */
	const char *detail;
	/* For a requester of version 2: */
	const char *call;	/* the call that it must make: read, echo or write; NULL: read */
	const char *properties; /* the answer to its RDMA2_CONNPROP; NULL: PROPERTIES_V2 */
	bool is_first;		/* 'message' is that answer, and not one to a call */
};

/* Returns whether the message of a case is good, so that mutations can be made from it. */
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
	char detail[48]; /* for example the name of the error */
};

#define CASE_MESSAGES_MAX 4u
#define CASE_TEXT_MAX	  512u

/* The XIDs of the messages that were sent on a connection. An answer must have one of them. */
#define SENT_MAX 1024u

struct sent {
	uint32_t count;
	uint32_t xids[SENT_MAX]; /* the latest */
};

/* The properties that this side sends in RDMA2_CONNPROP: receives of 8192 bytes, which contain
 * three targets of 2048; no reverse calls; all of the extension, with 8 transmissions each way. */
#define PROPERTIES_V2                                                                              \
	"xid v:2 c:8 p:6 n:6 w:1 w:4 w:8192 w:2 w:4 w:0 w:3 w:4 w:7 "                              \
	"w:4 w:40 w:8192 n:2 w:1 w:2048 w:1 w:0 w:3 w:2048 w:4 w:1 w:5 w:4 w:8 w:6 w:4 w:8 n:1 "   \
	"w:63"
extern const struct rtr_buffer own_structure;

struct hostile {
	struct peer peer;
	struct sent sent;
	struct peer_config config;
	bool is_v2;		  /* connections begin with RDMA2_CONNPROP */
	struct rtr_buffer theirs; /* the receives of the other side, from its RDMA2_CONNPROP */
	const char *addr;
	struct parse parse;
	uint32_t xid;
	int status;	     /* of the latest process of the requester */
	const char *command; /* that starts a requester; NULL: requesters connect by themselves */
	struct message message;
	uint32_t len;	    /* of 'bytes', which holds the latest messages of one case */
	uint32_t first_len; /* of the first of them */
	uint8_t bytes[CASE_MESSAGES_MAX * MESSAGE_MAX];
	uint8_t canary[EXPOSED_BYTES];
};

const char *outcome_name(enum outcome outcome); /* for example ERR_CHUNK */
void outcome_names(uint32_t set, char *text, size_t size);

extern const struct rdma1_limits judge_no_limits;

/* judge.c: decides what a message to a requester means. */
enum outcome judge_answer(const struct peer *peer, const struct peer_message *answer,
			  const struct sent *sent, char detail[48]);
/* The same for version 2. */
enum outcome judge_answer_v2(const struct hostile *h, const struct peer_message *answer,
			     char detail[48]);
/* Reads the receive buffer structure of an RDMA2_CONNPROP. Without groups: there is none, or the
 * message is another one. */
void judge_structure(const struct peer_message *message, struct rtr_buffer *structure);
/* Judge an RPC reply, in a message or in the memory of 'peer'. judge_was_sent() returns whether the
 * XID is one of 'sent'. */
enum outcome judge_rpc(struct weir_xdr_in *in, uint32_t xid, char detail[48]);
enum outcome judge_long(const struct peer *peer, const struct rdma1_header *hdr, char detail[48]);
enum outcome judge_unsound(char detail[48], const char *why);
bool judge_was_sent(const struct sent *sent, uint32_t xid);

/* to_responder.c: prepares the case. If the program has files, a file is created. Returns 0, or -1
 * after a line on standard error. */
int to_responder_prepare(struct hostile *h);
void to_responder_run(struct hostile *h, const struct hostile_case *c, struct result *result);
const struct hostile_case *responder_cases_of(const struct hostile *h);
/* Runs mutation number 'seed' of any valid case. The name of that case is in *base. */
void to_responder_mutated(struct hostile *h, uint64_t seed, struct result *result);

/* process.c: starts the requester's process, in a shell that becomes it, with the call to make in
 * WEIR_HOSTILE_CALL. Returns its PID, or -1 if there is no command. */
int requester_start(const struct hostile *h, const struct hostile_case *c);
/* Returns the exit status, 128 plus a signal, or REQUESTER_RUNS. */
#define REQUESTER_RUNS -1
int requester_poll(int *pid);
void requester_kill(int pid);
/* Judges a case by the end of the requester's process. */
void requester_judge(const struct hostile *h, struct result *result, int status, bool has_command);

/* to_requester.c */
/* Waits for a connection and answers it as the case says. Returns false if there was none. */
bool requester_connect(struct hostile *h, const struct hostile_case *c);
void to_requester_run(struct hostile *h, const struct hostile_case *c, struct result *result);
/* Runs up to 'count' mutations from number 'seed' on, as long as one connection lasts. Returns
 * their number. */
uint32_t to_requester_mutated(struct hostile *h, uint64_t seed, uint32_t count,
			      struct result *result);
/* to_requester_v2.c: the same for version 2. */
void to_requester_v2_run(struct hostile *h, const struct hostile_case *c, struct result *result);
uint32_t to_requester_v2_mutated(struct hostile *h, uint64_t seed, uint32_t count,
				 struct result *result);

/* Before a case, fills the exposed memory with the content of h->canary. After it, checks that the
 * memory still has that content, except where it was offered. */
void expose(struct hostile *h);
bool exposure_is_kept(const struct hostile *h);
/* Writes h->message to h->bytes and to exposed memory. append_message() writes it after the present
 * content of h->bytes, for further messages of one case. */
uint32_t make_message(struct hostile *h, const struct values *values);
uint32_t append_message(struct hostile *h, const struct values *values);
struct values own_values(const struct hostile *h);
/* Parses one message of a case's text. An error is a bug of this program, which then ends. Returns
 * the text after '/', or NULL. */
const char *parse_case(struct hostile *h, const char *text);
/* Copies the private data of a case. Returns their length. */
uint32_t private_data(const struct hostile_case *c, uint8_t data[FABRIC_PRIVATE_DATA_MAX]);

/* report.c */
#include <jansson.h>
bool result_is_met(const struct result *result); /* it is allowed by the case */
void report_result(const struct result *result, bool is_quiet);
json_t *report_json(const struct result *result);
/* Prints the table of files with results on standard output. Returns 0, or -1 after an error
 * message. */
int report_table(char *const *files, int nfiles);

#endif
