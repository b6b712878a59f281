/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef HOSTILE_H
#define HOSTILE_H

/*
 * weir-hostile: cases of bad input as data, run against a live responder or requester over any
 * driver. The same cases, whatever the driver and whoever the other side is; see
 * doc/weir-hostile.rst.
 */

#include "message.h"
#include "peer.h"

struct weir_xdr_in;
struct rdma1_header;
struct rdma1_limits;

/* What became of a case; also as a set. */
enum outcome {
	GOT_REPLY = 1,	   /* the call was answered with results */
	GOT_RPC_ERROR = 2, /* with an error of RPC's, or was denied */
	GOT_ERR_VERS = 4,  /* RDMA_ERROR */
	GOT_ERR_CHUNK = 8,
	GOT_DROPPED = 16, /* no answer, and the connection goes on */
	GOT_CLOSED = 32,  /* the connection was closed, and a new one works */
	GOT_REFUSED = 64, /* no connection came about */
	GOT_ENDED = 128,  /* of a requester: the call was over, and the connection goes on */
	GOT_UNSOUND =
		256, /* an answer that no side may send, or memory touched that was not offered */
	GOT_DEAD = 512,	     /* nothing is answered any more, by this connection or a new one */
	GOT_UNTESTED = 1024, /* the other side did not do what the case needs */
	GOT_ERROR = 2048,  /* RDMA2_ERROR but RDMA2_ERR_VERS, which one is the detail; so is that of
			      the next */
	GOT_REPORT = 4096, /* Report Error of version 2's extension */
	GOT_AGAIN = 8192,  /* of a requester: the call came once more, by the base protocol */
};
#define GOT_OUTCOMES 14u
#define GOT_SURVIVED                                                                               \
	(GOT_REPLY | GOT_RPC_ERROR | GOT_ERR_VERS | GOT_ERR_CHUNK | GOT_DROPPED | GOT_CLOSED |     \
	 GOT_ENDED | GOT_ERROR | GOT_REPORT | GOT_AGAIN)
#define GOT_ANY_ERROR (GOT_RPC_ERROR | GOT_ERR_CHUNK)

/* How a message is brought. */
enum delivery {
	ONCE,
	OFTEN,	/* 200 times, one after the other, each answer awaited if there is to be one */
	BURST,	/* 60 times at once, whatever the credits are */
	VANISH, /* once, and the connection is closed at once; 8 connections in turn */
	REJECT, /* the connection is refused */
	WRITE,	/* RDMA Write to the place of the call's Write chunk, plus 'h' and 'o' of the text;
		   then a good answer */
};

struct hostile_case {
	const char *name;
	const char *clause;  /* of RFC 8166, unless it names another */
	const char *what;    /* a sentence */
	const char *message; /* see message.h */
	uint32_t allowed;    /* set of outcomes that the clause allows */
	enum delivery delivery;
	const char *private_data; /* RFC 8797, in hex; NULL: valid, 4096 bytes both ways */
	/* which error or report it has to be, of RPC or of version 2; NULL: any */
	const char *detail;
	/* To a requester of version 2: */
	const char *call;	/* what it is to call: read, echo or write; NULL: read */
	const char *properties; /* the answer to its RDMA2_CONNPROP; NULL: PROPERTIES_V2 */
	bool is_first;		/* 'message' is that answer, rather than one to a call */
};

/* A case whose message is right is a base for mutations. */
static inline bool case_is_valid(const struct hostile_case *c)
{
	return c->allowed == GOT_REPLY && c->delivery == ONCE && !c->private_data && !c->is_first;
}

extern const struct hostile_case
	responder_cases[]; /* to be sent to a responder; ends with a NULL name */
extern const struct hostile_case
	responder_cases_v2[];			    /* the same, of version 2 and its extension */
extern const struct hostile_case requester_cases[]; /* answers to a requester */
extern const struct hostile_case requester_cases_v2[];

struct result {
	const struct hostile_case *c;
	enum outcome got;
	char detail[48]; /* which error, for instance */
};

#define CASE_MESSAGES_MAX 4u
#define CASE_TEXT_MAX	  512u

/* The XIDs of what was sent on a connection: an answer has one of them. */
#define SENT_MAX 1024u

struct sent {
	uint32_t count;
	uint32_t xids[SENT_MAX]; /* the latest */
};

/* What this side tells of itself by RDMA2_CONNPROP: receives of 8192 bytes, of which three targets
 * of 2048; no reverse calls; all of the extension, with 8 transmissions each way. */
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
	struct rtr_buffer theirs; /* what the other side told there of its receives */
	const char *addr;
	struct parse parse;
	uint32_t xid;
	int status;	     /* of the requester's latest process */
	const char *command; /* that is a requester; or NULL: they come by themselves */
	struct message message;
	uint32_t len;	    /* of 'bytes': the latest messages that were made for one case */
	uint32_t first_len; /* of the first of them */
	uint8_t bytes[CASE_MESSAGES_MAX * MESSAGE_MAX];
	uint8_t canary[EXPOSED_BYTES];
};

const char *outcome_name(enum outcome outcome); /* ERR_CHUNK, for instance */
void outcome_names(uint32_t set, char *text, size_t size);

extern const struct rdma1_limits judge_no_limits;

/* judge.c: what a message means that came to a requester. */
enum outcome judge_answer(const struct peer *peer, const struct peer_message *answer,
			  const struct sent *sent, char detail[48]);
/* The same of version 2. */
enum outcome judge_answer_v2(const struct hostile *h, const struct peer_message *answer,
			     char detail[48]);
/* The structure that a RDMA2_CONNPROP tells of; no groups: none, or it is no such message. */
void judge_structure(const struct peer_message *message, struct rtr_buffer *structure);
/* An RPC reply, and where 'peer' has it in memory; was_sent: that the XID is one of them. */
enum outcome judge_rpc(struct weir_xdr_in *in, uint32_t xid, char detail[48]);
enum outcome judge_long(const struct peer *peer, const struct rdma1_header *hdr, char detail[48]);
enum outcome judge_unsound(char detail[48], const char *why);
bool judge_was_sent(const struct sent *sent, uint32_t xid);

/* to_responder.c. A file is made where the program has files: 0, or -1 with a line on standard
 * error. */
int to_responder_prepare(struct hostile *h);
void to_responder_run(struct hostile *h, const struct hostile_case *c, struct result *result);
const struct hostile_case *responder_cases_of(const struct hostile *h);
/* Mutation number 'seed' of any valid case: its name in *base. */
void to_responder_mutated(struct hostile *h, uint64_t seed, struct result *result);

/* process.c: the requester's process, in a shell that becomes it, with what to call in
 * WEIR_HOSTILE_CALL. -1: there is none to start. */
int requester_start(const struct hostile *h, const struct hostile_case *c);
/* Its exit status, 128 plus a signal, or REQUESTER_RUNS. */
#define REQUESTER_RUNS -1
int requester_poll(int *pid);
void requester_kill(int pid);
/* What its end says about the case. */
void requester_judge(const struct hostile *h, struct result *result, int status, bool has_command);

/* to_requester.c */
/* A connection, made as the case says. False: none came. */
bool requester_connect(struct hostile *h, const struct hostile_case *c);
void to_requester_run(struct hostile *h, const struct hostile_case *c, struct result *result);
/* Mutations number 'seed' on, up to 'count', for as long as one connection takes: how many there
 * were. */
uint32_t to_requester_mutated(struct hostile *h, uint64_t seed, uint32_t count,
			      struct result *result);
/* to_requester_v2.c: the same by version 2. */
void to_requester_v2_run(struct hostile *h, const struct hostile_case *c, struct result *result);
uint32_t to_requester_v2_mutated(struct hostile *h, uint64_t seed, uint32_t count,
				 struct result *result);

/* Before a case: what is exposed holds what is in h->canary. After it: nothing else does, but for
 * what was offered. */
void expose(struct hostile *h);
bool exposure_is_kept(const struct hostile *h);
/* h->message to h->bytes and to exposed memory; or behind what is in h->bytes, for the messages of
 * one case. */
uint32_t make_message(struct hostile *h, const struct values *values);
uint32_t append_message(struct hostile *h, const struct values *values);
struct values own_values(const struct hostile *h);
/* Parse a message of a case's text, which is a mistake of ours when it fails: the program ends.
 * What follows '/'; or NULL. */
const char *parse_case(struct hostile *h, const char *text);
/* A case's private data: how many bytes. */
uint32_t private_data(const struct hostile_case *c, uint8_t data[FABRIC_PRIVATE_DATA_MAX]);

/* report.c */
#include <jansson.h>
bool result_is_met(const struct result *result); /* it is what the case allows */
void report_result(const struct result *result, bool is_quiet);
json_t *report_json(const struct result *result);
/* Of files with results, on standard output. 0, or -1 that was said. */
int report_table(char *const *files, int nfiles);

#endif
