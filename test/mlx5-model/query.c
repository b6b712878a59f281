/* SPDX-License-Identifier: BSD-3-Clause */
/* Attributes of the device, as a ConnectX-5 reports them, and of its port. */
#include "query.h"

#include <endian.h>
#include <errno.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5-abi.h>

#define VENDOR	    0x2c9u
#define PART	    4119u
#define LINK_UP	    5u /* physical state of a port */
#define WIDTH_4X    2u /* encodings of a port of 100 Gbit/s */
#define SPEED_EDR   32u
#define PORT_CAPS   0x04010000u
#define MESSAGE_MAX (1u << 30)

int query_context(const struct call *call)
{
	const uint64_t support = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	const uint32_t vectors = 4;
	struct mlx5_ib_alloc_ucontext_req_v2 request;
	struct mlx5_ib_alloc_ucontext_resp resp;

	attr_get(call, UVERBS_ATTR_UHW_IN, &request, sizeof(request));
	resp = (struct mlx5_ib_alloc_ucontext_resp){
		.qp_tab_size = 1u << 16,
		.bf_reg_size = 512, /* two BlueFlame buffers of 256 bytes */
		.tot_bfregs = 0,    /* libmlx5 asks for pages of registers one by one */
		.cache_line_size = 64,
		.max_sq_desc_sz = 1024,
		.max_rq_desc_sz = 512,
		.max_send_wqebb = 32768,
		.max_recv_wr = 32768,
		.max_srq_recv_wr = 32767,
		.num_ports = 1,
		.response_length = sizeof(resp),
		.cqe_version = request.max_cqe_version ? 1 : 0,
		.cmds_supp_uhw =
			MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE | MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.log_uar_size = 12,
		.num_uars_per_page = 1,
	};
	attr_put(call, UVERBS_ATTR_UHW_OUT, &resp, sizeof(resp));
	attr_put(call, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	attr_put(call, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, &support, sizeof(support));
	return 0;
}

static struct ib_uverbs_query_device_resp device_attributes(void)
{
	return (struct ib_uverbs_query_device_resp){
		.fw_ver = 16ull << 32 | 35u << 16 | 1012u,
		.node_guid = htobe64(QUERY_GUID),
		.sys_image_guid = htobe64(QUERY_GUID),
		.max_mr_size = UINT64_MAX,
		.page_size_cap = 0xfffff000,
		.vendor_id = VENDOR,
		.vendor_part_id = PART,
		.max_qp = 16384,
		.max_qp_wr = 32768,
		.device_cap_flags = IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
				    IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_MGT_EXTENSIONS |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		.max_sge = 30,
		.max_sge_rd = 30,
		.max_cq = 16384,
		.max_cqe = 4194303,
		.max_mr = 32768,
		.max_pd = 16384,
		.max_qp_rd_atom = 16,
		.max_res_rd_atom = 65536,
		.max_qp_init_rd_atom = 16,
		.max_mw = 32768,
		.max_srq = 1024,
		.max_srq_wr = 32767,
		.max_srq_sge = 31,
		.max_pkeys = 128,
		.local_ca_ack_delay = 16,
		.phys_port_cnt = 1,
	};
}

int query_device(const struct call *call)
{
	const struct ib_uverbs_query_device_resp resp = device_attributes();

	/* With this call, libibverbs finds out whether the kernel has this method. */
	if (!attr_is_present(call, UVERBS_ATTR_CORE_OUT))
		return ENOSPC;
	attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return 0;
}

int query_device_ex(const struct call *call)
{
	const struct ib_uverbs_ex_query_device_resp resp = {.base = device_attributes(),
							    .response_length = sizeof(resp)};
	const struct mlx5_ib_query_device_resp driver = {.response_length = sizeof(driver)};

	attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	attr_put(call, UVERBS_ATTR_UHW_OUT, &driver, sizeof(driver));
	return 0;
}

int query_port(const struct call *call)
{
	const struct ib_uverbs_query_port_resp_ex resp = {
		.legacy_resp =
			{
				.port_cap_flags = PORT_CAPS,
				.max_msg_sz = MESSAGE_MAX,
				.gid_tbl_len = 1,
				.pkey_tbl_len = 1,
				.state = IBV_PORT_ACTIVE,
				.max_mtu = IBV_MTU_4096,
				.active_mtu = IBV_MTU_4096,
				.max_vl_num = 1,
				.active_width = WIDTH_4X,
				.active_speed = SPEED_EDR,
				.phys_state = LINK_UP,
				.link_layer = IBV_LINK_LAYER_ETHERNET,
			},
	};

	attr_put(call, UVERBS_ATTR_QUERY_PORT_RESP, &resp, sizeof(resp));
	return 0;
}
