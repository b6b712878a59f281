/* SPDX-License-Identifier: BSD-3-Clause */
/* Encodes the transport header of version 2 (draft-cel-nfsv4-rpcrdma-version-two-03 section 6.2).
 */
#include "rdma2.h"

#include "wire.h"

static void put_fixed(uint8_t *at, uint32_t xid, uint32_t vers, uint32_t credit, uint32_t proc)
{
	wire_put_u32(at, xid);
	wire_put_u32(at + 4, vers);
	wire_put_u32(at + 8, credit);
	wire_put_u32(at + 12, proc);
}

void rdma2_write_over(uint8_t *buf, enum rdma1_direction direction, uint32_t inv_handle)
{
	const uint8_t *from = buf + RDMA2_EXTRA;

	put_fixed(buf, wire_get_u32(from), RDMA2_VERSION, wire_get_u32(from + 8),
		  wire_get_u32(from + 12));
	wire_put_u32(buf + 16, (uint32_t)direction);
	wire_put_u32(buf + 20, inv_handle);
}

uint8_t *rdma2_inv_handle(uint8_t *header)
{
	return header + 20;
}

uint32_t rdma2_encode_error(uint8_t *buf, uint32_t xid, uint32_t vers, uint32_t credit,
			    enum rdma2_err err, uint32_t first, uint32_t second)
{
	put_fixed(buf, xid, vers, credit, RDMA2_ERROR);
	wire_put_u32(buf + 16, (uint32_t)err);
	if (err != RDMA2_ERR_VERS && err != RDMA2_ERR_REPLY_RESOURCE)
		return RDMA2_ERROR_SIZE;
	wire_put_u32(buf + 20, first);
	wire_put_u32(buf + 24, second);
	return RDMA2_ERROR_SIZE_MAX;
}
