/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands of rdma_ucm. librdmacm writes a header and the structure of the command. The response
 * goes to an address in that structure.
 */
#include "cm.h"

#include <errno.h>
#include <string.h>

#include "cm_id.h"
#include "device.h"
#include "model.h"

#define BODY_MAX 512u /* bytes of the longest structure, and more */

/* A written command, with the identifier that it names. */
struct command {
	struct file *file;
	struct cm_id *id;
	const void *body;    /* its structure, padded with zeros */
	size_t response_len; /* the most bytes that the program accepts */
};

_Static_assert(sizeof(struct rdma_ucm_accept) <= BODY_MAX &&
		       sizeof(struct rdma_ucm_connect) <= BODY_MAX &&
		       sizeof(struct rdma_ucm_reject) <= BODY_MAX,
	       "the longest structures fit");

/* Copies a response to the address that the program has given. */
static int respond(const struct command *command, uint64_t to, const void *response, size_t len)
{
	memcpy((void *)(uintptr_t)to, response,
	       len < command->response_len ? len : command->response_len);
	return 0;
}

static int create_id(const struct command *command)
{
	const struct rdma_ucm_create_id *body = command->body;
	const struct cm_id *id;
	struct rdma_ucm_create_id_resp resp;

	if (body->ps != RDMA_PS_TCP)
		return EPROTONOSUPPORT;
	id = cm_id_create(command->file, body->uid);
	if (!id)
		return ENOMEM;
	resp = (struct rdma_ucm_create_id_resp){.id = id->handle};
	return respond(command, body->response, &resp, sizeof(resp));
}

static int destroy_id(const struct command *command)
{
	const struct rdma_ucm_destroy_id *body = command->body;
	const struct rdma_ucm_destroy_id_resp resp = {.events_reported =
							      cm_id_destroy(command->id)};

	return respond(command, body->response, &resp, sizeof(resp));
}

static int bind_id(const struct command *command)
{
	const struct rdma_ucm_bind_ip *body = command->body;

	return cm_id_bind(command->id, (const void *)&body->addr);
}

static int resolve_address(const struct command *command)
{
	const struct rdma_ucm_resolve_ip *body = command->body;

	return cm_id_resolve_address(command->id, (const void *)&body->dst_addr);
}

static int resolve_route(const struct command *command)
{
	return cm_id_resolve_route(command->id);
}

static int query_route(const struct command *command)
{
	const struct rdma_ucm_query *body = command->body;
	struct rdma_ucm_query_route_resp resp;

	cm_id_route(command->id, &resp);
	return respond(command, body->response, &resp, sizeof(resp));
}

static int connect_id(const struct command *command)
{
	const struct rdma_ucm_connect *body = command->body;

	return cm_id_connect(command->id, &body->conn_param);
}

static int listen_id(const struct command *command)
{
	const struct rdma_ucm_listen *body = command->body;

	return cm_id_listen(command->id, body->backlog);
}

static int accept_id(const struct command *command)
{
	const struct rdma_ucm_accept *body = command->body;

	return body->conn_param.valid ? cm_id_accept(command->id, body->uid, &body->conn_param)
				      : cm_id_establish(command->id);
}

static int reject_id(const struct command *command)
{
	const struct rdma_ucm_reject *body = command->body;

	return cm_id_reject(command->id, body->private_data, body->private_data_len);
}

static int disconnect_id(const struct command *command)
{
	return cm_id_disconnect(command->id);
}

static int init_qp_attr(const struct command *command)
{
	const struct rdma_ucm_init_qp_attr *body = command->body;
	struct ib_uverbs_qp_attr attr;
	int rc = cm_id_qp_attr(command->id, body->qp_state, &attr);

	return rc ? rc : respond(command, body->response, &attr, sizeof(attr));
}

/* Options and notifications have no effect on a connection within one process. */
static int accept_silently(const struct command *command)
{
	(void)command;
	return 0;
}

#define NO_ID SIZE_MAX

/* The commands, each with the offset of the identifier in its structure. Of other commands, the
 * libraries learn that they do not exist, and librdmacm then uses these. */
static const struct {
	uint32_t number;
	size_t id_offset;
	int (*run)(const struct command *command);
} commands[] = {
#define COMMAND(number, type, run)                                                                 \
	{                                                                                          \
		number, offsetof(struct type, id), run                                             \
	}
	{RDMA_USER_CM_CMD_CREATE_ID, NO_ID, create_id},
	COMMAND(RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id, destroy_id),
	COMMAND(RDMA_USER_CM_CMD_BIND_IP, rdma_ucm_bind_ip, bind_id),
	COMMAND(RDMA_USER_CM_CMD_RESOLVE_IP, rdma_ucm_resolve_ip, resolve_address),
	COMMAND(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route, resolve_route),
	COMMAND(RDMA_USER_CM_CMD_QUERY_ROUTE, rdma_ucm_query, query_route),
	COMMAND(RDMA_USER_CM_CMD_CONNECT, rdma_ucm_connect, connect_id),
	COMMAND(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen, listen_id),
	COMMAND(RDMA_USER_CM_CMD_ACCEPT, rdma_ucm_accept, accept_id),
	COMMAND(RDMA_USER_CM_CMD_REJECT, rdma_ucm_reject, reject_id),
	COMMAND(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect, disconnect_id),
	COMMAND(RDMA_USER_CM_CMD_INIT_QP_ATTR, rdma_ucm_init_qp_attr, init_qp_attr),
	COMMAND(RDMA_USER_CM_CMD_NOTIFY, rdma_ucm_notify, accept_silently),
	COMMAND(RDMA_USER_CM_CMD_SET_OPTION, rdma_ucm_set_option, accept_silently),
#undef COMMAND
};

/* Executes a command, of whose structure the program has written 'len' bytes. Returns 0 or a
 * positive errno. */
static int run_command(struct file *file, const struct rdma_ucm_cmd_hdr *header, size_t len)
{
	_Alignas(16) uint8_t body[BODY_MAX] = {0};
	struct command command = {.file = file, .body = body, .response_len = header->out};

	memcpy(body, header + 1, len < sizeof(body) ? len : sizeof(body));
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		uint32_t handle;

		if (commands[i].number != header->cmd)
			continue;
		if (commands[i].id_offset != NO_ID) {
			memcpy(&handle, body + commands[i].id_offset, sizeof(handle));
			command.id = cm_id_find(handle);
			if (!command.id)
				return ENOENT;
		}
		return commands[i].run(&command);
	}
	return ENOSYS;
}

/* Takes the oldest event, for which it waits if the file is not non-blocking. */
static ssize_t get_event(struct file *file, const struct rdma_ucm_cmd_hdr *header)
{
	const struct rdma_ucm_get_event *body = (const void *)(header + 1);

	return file_take(file, (void *)(uintptr_t)body->response, header->out);
}

ssize_t cm_write(struct file *file, const void *buf, size_t len)
{
	const struct rdma_ucm_cmd_hdr *header = buf;
	ssize_t rc;

	if (len < sizeof(*header))
		return -EINVAL;
	if (header->cmd == RDMA_USER_CM_CMD_GET_EVENT) {
		rc = get_event(file, header);
	} else {
		model_lock();
		device_catch_up();
		rc = -run_command(file, header, len - sizeof(*header));
		model_unlock();
	}
	return rc < 0 ? rc : (ssize_t)len;
}

int cm_open(void)
{
	int rc = device_start(); /* a link can bring messages before a device is opened */
	const struct file *file = rc == 0 ? file_open_events(FILE_CM) : NULL;

	if (file)
		return file->fd;
	errno = rc == 0 ? EMFILE : -rc;
	return -1;
}

void cm_close(struct file *file)
{
	struct cm_id *id;

	model_lock();
	while ((id = cm_id_of_file(file)))
		cm_id_destroy(id);
	model_unlock();
	file_remove(file);
}
