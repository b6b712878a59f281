/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes and encodes property lists (draft-cel-nfsv4-rpcrdma-version-two-03 sections 5.1 and 5.3).
 */
#include "rdma2_prop.h"

#include "wire.h"

#define PROPVAL_SIZE_MIN 8u /* size of an encoded value without data */

/* Returns whether the data of a known property is exactly one value of the property's type. Returns
 * true for empty data and for unknown properties. */
static bool is_value(const struct rdma2_propval *value)
{
	struct rtr_buffer buffer;
	struct weir_xdr_in in;

	if (value->len_bytes == 0 || value->which == 0 || value->which > RDMA2_PROPID_KNOWN_MAX)
		return true;
	if (value->which == RDMA2_PROPID_RBSTRUCT) {
		weir_xdr_in_init(&in, value->data, value->len_bytes);
		return rtr_buffer_get(&in, &buffer) == 0 && weir_xdr_remaining(&in) == 0;
	}
	if (value->len_bytes != 4)
		return false;
	return value->which != RDMA2_PROPID_BRS || wire_get_u32(value->data) <= RDMA2_BKREQSUP_GENL;
}

enum rdma2_propset_result rdma2_propset_get(struct weir_xdr_in *in, struct rdma2_propset *set)
{
	struct rdma2_propval value;
	uint32_t seen = 0; /* bit n: known property n is in the set */
	const void *data;

	if (weir_xdr_get_u32(in, &set->count) != 0 ||
	    set->count > weir_xdr_remaining(in) / PROPVAL_SIZE_MIN)
		return RDMA2_PROPSET_TRUNCATED;
	set->p = in->p;
	for (uint32_t i = 0; i < set->count; i++) {
		if (weir_xdr_get_u32(in, &value.which) != 0 ||
		    weir_xdr_get_opaque_ref(in, &data, UINT32_MAX, &value.len_bytes) != 0)
			return RDMA2_PROPSET_TRUNCATED;
		value.data = data;
		if (!is_value(&value))
			return RDMA2_PROPSET_BAD_VALUE;
		if (value.which > RDMA2_PROPID_KNOWN_MAX)
			continue;
		if (value.which != 0 && (seen & 1u << value.which) != 0)
			return RDMA2_PROPSET_TWICE;
		seen |= 1u << value.which;
	}
	return RDMA2_PROPSET_OK;
}

int rdma2_propsubset_get(struct weir_xdr_in *in, struct rdma2_propsubset *subset)
{
	uint32_t nwords;

	if (weir_xdr_get_u32(in, &nwords) != 0 || nwords > weir_xdr_remaining(in) / 4)
		return -EBADMSG;
	subset->p = in->p;
	subset->nwords = nwords;
	return weir_xdr_get_bytes(in, NULL, nwords * 4);
}

bool rdma2_propsubset_has(const struct rdma2_propsubset *subset, uint32_t n)
{
	return n / 32 < subset->nwords &&
	       (wire_get_u32(subset->p + (size_t)(n / 32) * 4) >> (n % 32) & 1) != 0;
}

bool rdma2_propset_next(struct rdma2_propset *left, struct rdma2_propval *value)
{
	if (left->count == 0)
		return false;
	value->which = wire_get_u32(left->p);
	value->len_bytes = wire_get_u32(left->p + 4);
	value->data = left->p + PROPVAL_SIZE_MIN;
	left->p = value->data + value->len_bytes + weir_xdr_pad(value->len_bytes);
	left->count--;
	return true;
}

uint32_t rdma2_propval_u32(const struct rdma2_propval *value, uint32_t otherwise)
{
	return value->len_bytes == 0 ? otherwise : wire_get_u32(value->data);
}

/* Returns the property of entry 'n' of a set. If the set has no such entry, returns 0, which is no
 * property. */
static uint32_t entry_which(struct rdma2_propset set, uint32_t n)
{
	struct rdma2_propval value = {0};

	for (uint32_t i = 0; i <= n; i++)
		if (!rdma2_propset_next(&set, &value))
			return 0;
	return value.which;
}

enum rdma2_disposition rdma2_disposition(const struct rdma2_propset *want, uint32_t n,
					 const struct rdma2_propsubset *done,
					 const struct rdma2_propsubset *rejected,
					 const struct rdma2_propset *other,
					 struct rdma2_propval *value)
{
	bool is_done = rdma2_propsubset_has(done, n);
	bool is_rejected = rdma2_propsubset_has(rejected, n);
	uint32_t which = entry_which(*want, n);
	struct rdma2_propset left = *other;
	bool is_other = false;

	while (!is_other && rdma2_propset_next(&left, value))
		is_other = value->which == which;
	if (is_done + is_rejected + is_other != 1)
		return RDMA2_REJECTED;
	if (is_other)
		return RDMA2_OTHER;
	return is_done ? RDMA2_DONE : RDMA2_REJECTED;
}

void rdma2_put_fixed(struct weir_xdr_out *out, uint32_t xid, uint32_t credit, uint32_t proc)
{
	(void)weir_xdr_put_u32(out, xid);
	(void)weir_xdr_put_u32(out, 2); /* rdma_vers */
	(void)weir_xdr_put_u32(out, credit);
	(void)weir_xdr_put_u32(out, proc);
}

void rdma2_put_prop_u32(struct weir_xdr_out *out, uint32_t which, uint32_t value)
{
	(void)weir_xdr_put_u32(out, which);
	(void)weir_xdr_put_u32(out, 4);
	(void)weir_xdr_put_u32(out, value);
}

void rdma2_put_prop_buffer(struct weir_xdr_out *out, const struct rtr_buffer *buffer)
{
	(void)weir_xdr_put_u32(out, RDMA2_PROPID_RBSTRUCT);
	(void)weir_xdr_put_u32(out, rtr_buffer_wire_bytes(buffer));
	rtr_buffer_put(out, buffer);
}

void rdma2_put_prop_default(struct weir_xdr_out *out, uint32_t which)
{
	(void)weir_xdr_put_u32(out, which);
	(void)weir_xdr_put_u32(out, 0);
}

void rdma2_put_subset_first(struct weir_xdr_out *out, uint32_t n)
{
	(void)weir_xdr_put_u32(out, (n + 31) / 32);
	for (; n >= 32; n -= 32)
		(void)weir_xdr_put_u32(out, UINT32_MAX);
	if (n > 0)
		(void)weir_xdr_put_u32(out, (1u << n) - 1);
}
