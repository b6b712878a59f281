/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes and checks file handles. handle.h describes their format. */
#include "handle.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

#include "fs.h"

#define HEAD_BYTES 16u /* bytes before the back end's part, see handle.h */
#define MAC_BYTES  8u

_Static_assert(crypto_shorthash_KEYBYTES == SECRET_BYTES, "SipHash-2-4's key");
_Static_assert(crypto_shorthash_BYTES == MAC_BYTES, "SipHash-2-4's output");
_Static_assert(HEAD_BYTES + HANDLE_ID_MAX + MAC_BYTES == NFS3_FH_MAX,
	       "the longest id fills a handle");

static void put_u32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void put_u64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

static uint32_t get_u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

uint64_t handle_bind(const struct handle_key *key, const void *identity, uint32_t len_bytes)
{
	uint8_t hash[crypto_shorthash_BYTES];

	crypto_shorthash(hash, identity, len_bytes, key->secret);
	return get_u64(hash);
}

static uint64_t bound_to(const struct handle_key *key, const struct export *export)
{
	return export->ops->is_volatile ? key->epoch : export->bound;
}

void handle_make(const struct handle_key *key, const struct export *export,
		 const struct handle_id *id, struct nfs3_fh *fh)
{
	uint32_t signed_bytes = HEAD_BYTES + id->len_bytes;

	fh->data[0] = HANDLE_FORMAT;
	fh->data[1] = (uint8_t)id->len_bytes;
	fh->data[2] = export->ops->is_volatile;
	fh->data[3] = 0;
	put_u32(fh->data + 4, export->id);
	put_u64(fh->data + 8, bound_to(key, export));
	memcpy(fh->data + HEAD_BYTES, id->data, id->len_bytes);
	crypto_shorthash(fh->data + signed_bytes, fh->data, signed_bytes, key->secret);
	fh->len_bytes = signed_bytes + MAC_BYTES;
}

enum nfs3_status handle_check(const struct handle_key *key, struct exports *exports,
			      const struct nfs3_fh *fh, struct export **export,
			      struct handle_id *id)
{
	uint32_t signed_bytes = fh->len_bytes - MAC_BYTES;
	uint8_t mac[MAC_BYTES];
	bool is_volatile;
	uint64_t bound;

	if (fh->len_bytes < HEAD_BYTES + MAC_BYTES || fh->len_bytes > NFS3_FH_MAX ||
	    fh->data[0] != HANDLE_FORMAT || fh->data[1] != signed_bytes - HEAD_BYTES ||
	    fh->data[2] > 1 || fh->data[3] != 0)
		return NFS3ERR_BADHANDLE;
	is_volatile = fh->data[2] == 1;
	bound = get_u64(fh->data + 8);
	if (is_volatile && bound != key->epoch)
		return NFS3ERR_STALE;
	crypto_shorthash(mac, fh->data, signed_bytes, key->secret);
	if (sodium_memcmp(mac, fh->data + signed_bytes, MAC_BYTES) != 0)
		return NFS3ERR_BADHANDLE;
	*export = export_by_id(exports, get_u32(fh->data + 4));
	/*
	 * In this case the export was removed, or its name stands for another directory or another
	 * kind of back end than before.
	 */
	if (!*export || (*export)->ops->is_volatile != is_volatile ||
	    bound_to(key, *export) != bound)
		return NFS3ERR_STALE;
	id->len_bytes = fh->data[1];
	memcpy(id->data, fh->data + HEAD_BYTES, id->len_bytes);
	return NFS3_OK;
}
