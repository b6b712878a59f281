/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes calls of procedures that their program declares not to be idempotent. Each such call is
 * looked up in the duplicate request cache before the program gets it, because a requester that has
 * lost its connection sends its calls again (RFC 8166 section 4.5.3).
 *
 * - A new call is carried out. Its reply is kept when it is complete, even if the connection has
 *   ended and the reply cannot be sent.
 * - A call that was carried out is answered from the cache. The reply is laid out in a buffer of
 *   the new request, whose own chunks determine how the reply is sent.
 * - A duplicate of a call that is being carried out waits (state DUPLICATE), and is answered
 *   together with that call.
 */
#include "request.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "seeded_bugs.h"

/* Hashes all arguments as one stream, whether they arrived inline or in chunks. An item and its
 * padding are hashed as if they had been inline. */
static void hash_args(crypto_generichash_state *state, const struct weir_xdr_in *args)
{
	static const uint8_t zeros[4];

	if (!args->is_item)
		crypto_generichash_update(state, args->p, (size_t)(args->end - args->p));
	for (uint32_t i = 0; i < args->nparts; i++) {
		const struct weir_xdr_part *part = &args->next[i];

		crypto_generichash_update(state, part->base, part->len_bytes);
		if (part->is_item)
			crypto_generichash_update(state, zeros, weir_xdr_pad(part->len_bytes));
	}
}

/* Hashes the identity of the caller on this connection, as the transport reports it. Over shm,
 * programs trust the user and the groups that the kernel reports more than the credential, and base
 * their decisions on them. The address does not distinguish users, because processes of different
 * PID namespaces can have the same address, and each PID is reused. */
static void hash_caller(const struct responder *responder, uint8_t *hash)
{
	const struct weir_peer *who = &responder->conn->identity;
	const char *peer = responder->conn->peer;
	const uint32_t words[] = {
		engine_peer_host_bytes(peer),
		who->has_credentials,
		who->has_credentials ? who->uid : 0,
		who->has_credentials ? who->gid : 0,
		who->has_credentials ? who->has_more_groups : 0,
		who->has_credentials ? who->ngroups : 0,
	};
	crypto_generichash_state state;

	crypto_generichash_init(&state, drc_secret(responder->drc), DRC_SECRET_BYTES,
				DRC_HASH_BYTES);
	crypto_generichash_update(&state, (const uint8_t *)words, sizeof(words));
	crypto_generichash_update(&state, (const uint8_t *)peer, words[0]);
	crypto_generichash_update(&state, (const uint8_t *)who->groups,
				  words[5] * sizeof(who->groups[0]));
	crypto_generichash_final(&state, hash, DRC_HASH_BYTES);
}

/* Returns the hashes of the caller on a connection. They are computed only once for each
 * connection. */
static const struct request_caller *caller_of(struct responder *responder)
{
	struct request_caller *caller = &responder->caller;
	const struct engine_peer_key *key = &responder->account->key;

	if (!caller->is_known) {
		hash_caller(responder, caller->identity);
		crypto_generichash(caller->peer, DRC_HASH_BYTES, (const uint8_t *)key, sizeof(*key),
				   drc_secret(responder->drc), DRC_SECRET_BYTES);
		caller->is_known = true;
	}
	return caller;
}

/* Computes the key of a call: its XID, and a hash of the caller, the procedure, the credential and
 * the arguments. */
static void make_key(const struct weir_request *req, struct drc_key *key)
{
	struct responder *responder = req->responder;
	const struct weir_rpc_auth *cred = &req->rpc.cred;
	/* The credential of GSS is different in each message (RFC 2203 section 5.3.1). */
	bool is_constant = cred->flavor == WEIR_RPC_AUTH_NONE || cred->flavor == WEIR_RPC_AUTH_SYS;
	/* The XID is part of the hash, so that calls that differ only in the XID are in different
	 * buckets. */
	const uint32_t words[] = {
		req->rpc.xid,  req->rpc.prog, req->rpc.vers,
		req->rpc.proc, cred->flavor,  is_constant ? cred->len_bytes : 0,
	};
	crypto_generichash_state state;

	key->xid = req->rpc.xid;
	crypto_generichash_init(&state, drc_secret(responder->drc), DRC_SECRET_BYTES,
				DRC_HASH_BYTES);
	crypto_generichash_update(&state, caller_of(responder)->identity, DRC_HASH_BYTES);
	crypto_generichash_update(&state, (const uint8_t *)words, sizeof(words));
	if (words[5] > 0)
		crypto_generichash_update(&state, cred->body, words[5]);
	hash_args(&state, &req->args);
	crypto_generichash_final(&state, key->hash, DRC_HASH_BYTES);
}

/* Copies a reply to a buffer of the request: first its encoded parts, then its items. Returns false
 * if no buffer is free. */
static bool copy_reply(struct weir_request *req, const struct piece *pieces, uint32_t npieces)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < npieces; i++)
		bytes += pieces[i].len;
	if (!request_take_buffer(req, bytes))
		return false;
	for (uint32_t i = 0; i < npieces; i++)
		if (pieces[i].kind == PIECE_XDR)
			weir_xdr_put_opaque_fixed(&req->out, pieces[i].base, pieces[i].len);
	req->piece_start = (uint32_t)weir_xdr_out_len(&req->out);
	req->npieces = npieces;
	for (uint32_t i = 0, xdr = 0, item = req->piece_start; i < npieces; i++) {
		bool is_xdr = pieces[i].kind == PIECE_XDR;
		uint32_t *at = is_xdr ? &xdr : &item;

		req->pieces[i] = (struct piece){
			.base = req->out.start + *at,
			.len = pieces[i].len,
			.kind = pieces[i].kind,
			.lkey = req->reply->lkey,
			.op = pieces[i].op,
		};
		if (!is_xdr && pieces[i].len > 0)
			memcpy(req->pieces[i].base, pieces[i].base, pieces[i].len);
		req->nitems += !is_xdr;
		*at += pieces[i].len;
	}
	return true;
}

enum request_next request_replay(struct weir_request *req, const struct piece *pieces,
				 uint32_t npieces)
{
	req->responder->engine->stats.replays++;
	/* If the call was carried out, but its reply was not kept, the call must not be carried out
	 * again. */
	if (npieces == 0)
		return REQUEST_SYSTEM_ERROR;
	if (copy_reply(req, pieces, npieces))
		return REQUEST_REPLY;
	/* The requester can send the call again on another connection, when buffers are free (RFC
	 * 8166 section 4.5.4). */
	conn_fail(req->responder->conn, -ENOBUFS);
	return REQUEST_END;
}

/* Adds an entry to the cache for a new call. Returns GO_ON, or SYSTEM_ERROR if the quota allows no
 * entry or all entries are BUSY. */
static enum request_next note_new(struct weir_request *req, const struct drc_key *key)
{
	struct responder *responder = req->responder;

	req->op = 0;
	if (request_may_take(responder, ENGINE_QUOTA_REPLAYS, drc_left(responder->drc), 1))
		req->replay = drc_add(responder->drc, key, responder->caller.peer);
	if (!req->replay) { /* without an entry, the call might be carried out twice */
		responder->engine->stats.replays_refused++;
		return REQUEST_SYSTEM_ERROR;
	}
	request_count(responder, ENGINE_QUOTA_REPLAYS, 1);
	return REQUEST_GO_ON;
}

enum request_next request_look_up(struct weir_request *req)
{
	struct drc *drc = req->responder->drc;
	struct piece pieces[REQUEST_PIECES_MAX];
	struct drc_entry *entry;
	struct drc_key key;

	if (!req->program->non_idempotent[req->rpc.proc])
		return REQUEST_GO_ON;
	make_key(req, &key);
	entry = drc_find(drc, &key);
	if (!entry)
		return note_new(req, &key);
	if (entry->state == DRC_BUSY && SEEDED_BUG(11))
		return REQUEST_GO_ON;
	if (entry->state == DRC_BUSY) {
		LIST_INSERT_HEAD(&entry->waiting, req, duplicate);
		return REQUEST_WAIT_REPLAY;
	}
	return request_replay(req, pieces, drc_reply(drc, entry, pieces, REQUEST_PIECES_MAX));
}

void request_keep_reply(struct weir_request *req, struct drc_entry *entry,
			const struct piece *pieces, uint32_t npieces)
{
	if (req->skips_replay_cache)
		drc_forget(req->responder->drc, entry);
	else if (!drc_done(req->responder->drc, entry, pieces, npieces))
		req->responder->engine->stats.replay_cache_overflows++;
	req->skips_replay_cache = false;
}
