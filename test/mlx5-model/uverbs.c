/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens and closes the device, and finds the function of each method of its ioctl. Of other
 * methods, the libraries learn that the kernel does not have them.
 */
#include "uverbs.h"

#include <errno.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "attr.h"
#include "device.h"
#include "libc.h"
#include "model.h"
#include "qp.h"
#include "query.h"
#include "uar.h"

static int create_async(const struct call *call)
{
	const struct file *file = file_open_events(FILE_ASYNC);

	if (!file)
		return EMFILE;
	attr_put_handle(call, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, (uint32_t)file->fd);
	return 0;
}

static int create_channel(const struct call *call)
{
	const struct file *file = file_open_events(FILE_COMPLETIONS);
	struct ib_uverbs_create_comp_channel_resp resp;

	if (!file)
		return EMFILE;
	resp = (struct ib_uverbs_create_comp_channel_resp){.fd = (uint32_t)file->fd};
	attr_put(call, UVERBS_ATTR_CORE_OUT, &resp, sizeof(resp));
	return 0;
}

/* Handles a command that older kernels got by write(). */
static int invoke_write(const struct call *call)
{
	switch (attr_number(call, UVERBS_ATTR_WRITE_CMD)) {
	case IB_USER_VERBS_CMD_QUERY_DEVICE:
		return query_device(call);
	case IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_QUERY_DEVICE:
		return query_device_ex(call);
	case IB_USER_VERBS_CMD_ALLOC_PD:
		return pd_create(call);
	case IB_USER_VERBS_CMD_REG_MR:
		return memory_register(call);
	case IB_USER_VERBS_CMD_ALLOC_MW:
		return memory_create_window(call);
	case IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL:
		return create_channel(call);
	case IB_USER_VERBS_CMD_MODIFY_QP:
	case IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_MODIFY_QP:
		return qp_modify(call);
	default:
		return EOPNOTSUPP;
	}
}

/* Destroys an object. 'call' is NULL when the device file is closed. */
static int destroy(struct object *object, const struct call *call)
{
	if (object->users > 0)
		return EBUSY;
	switch (object->kind) {
	case OBJECT_QP:
		return qp_destroy(object, call);
	case OBJECT_SRQ:
		return srq_destroy(object, call);
	case OBJECT_CQ:
		return cq_destroy(object, call);
	case OBJECT_MW:
	case OBJECT_MR:
		return memory_destroy(object);
	case OBJECT_PD:
		return pd_destroy(object);
	case OBJECT_UAR:
		return uar_destroy(object);
	default:
		return EINVAL;
	}
}

static const struct {
	uint16_t object, method, handle; /* the attribute that has the handle */
	enum object_kind kind;
} destroys[] = {
	{UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, UVERBS_ATTR_DESTROY_PD_HANDLE, OBJECT_PD},
	{UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, UVERBS_ATTR_DESTROY_MR_HANDLE, OBJECT_MR},
	{UVERBS_OBJECT_MW, UVERBS_METHOD_MW_DESTROY, UVERBS_ATTR_DESTROY_MW_HANDLE, OBJECT_MW},
	{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, UVERBS_ATTR_DESTROY_CQ_HANDLE, OBJECT_CQ},
	{UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, UVERBS_ATTR_DESTROY_SRQ_HANDLE, OBJECT_SRQ},
	{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, UVERBS_ATTR_DESTROY_QP_HANDLE, OBJECT_QP},
	{MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE,
	 OBJECT_UAR},
};

static const struct {
	uint16_t object, method;
	int (*run)(const struct call *call);
} methods[] = {
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, invoke_write},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, query_context},
	{UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT, query_port},
	{UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC, create_async},
	{UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, cq_create},
	{UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE, srq_create},
	{UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, qp_create},
	{MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC, uar_create},
};

static int run_method(const struct call *call)
{
	uint16_t id = call->header->object_id, method = call->header->method_id;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (methods[i].object == id && methods[i].method == method)
			return methods[i].run(call);
	for (size_t i = 0; i < sizeof(destroys) / sizeof(destroys[0]); i++) {
		struct object *object;

		if (destroys[i].object != id || destroys[i].method != method)
			continue;
		object = object_find(attr_handle(call, destroys[i].handle), destroys[i].kind);
		return object ? destroy(object, call) : EINVAL;
	}
	return EPROTONOSUPPORT;
}

int uverbs_ioctl(struct file *file, struct ib_uverbs_ioctl_hdr *header)
{
	const struct call call = {.file = file, .header = header};
	int rc;

	model_lock();
	device_catch_up();
	rc = run_method(&call);
	model_unlock();
	return -rc;
}

int uverbs_open(void)
{
	int rc = device_start(), fd;

	if (rc != 0) {
		errno = -rc;
		return -1;
	}
	fd = uar_open_file();
	if (fd >= 0 && !file_add(fd, FILE_DEVICE)) {
		libc()->close(fd);
		errno = EMFILE;
		return -1;
	}
	return fd;
}

void uverbs_close(struct file *file)
{
	struct object *object;

	model_lock();
	for (int kind = 0; kind < OBJECT_KINDS; kind++)
		while ((object = object_of_file(file, (enum object_kind)kind)) &&
		       destroy(object, NULL) == 0)
			;
	model_unlock();
	file_remove(file);
}
