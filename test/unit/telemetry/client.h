/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_H
#define CLIENT_H

/* A client of rte_telemetry in a thread of its own, so that the thread of the test can poll. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <jansson.h>

#include "pair.h"

#define CLIENT_ANSWER_BYTES 16384u /* of rte_telemetry */
#define CLIENT_PATH_BYTES   100u

struct client {
	int fd;
	pthread_t thread;
	char request[1024];
	char answer[CLIENT_ANSWER_BYTES + 1];
	ssize_t bytes;
	atomic_bool has_ended;
};

/* The folder of the sockets, in which EAL creates dpdk/rte. */
static char client_folder[] = "/tmp/weir-telemetry-XXXXXX";

/* Has EAL create its sockets in a new folder. Called before EAL starts. */
static inline int client_folder_make(void)
{
	return mkdtemp(client_folder) && setenv("RUNTIME_DIRECTORY", client_folder, 1) == 0 ? 0
											    : -1;
}

/* Removes the folder, when the process ends: EAL removes its sockets later. */
static inline void client_folder_remove(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", client_folder);
	if (system(command) != 0)
		fputs("the folder of the socket was not removed\n", stderr);
}

static inline void client_open(struct client *client)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char hello[1024];

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/dpdk/rte/dpdk_telemetry.v2",
		 client_folder);
	client->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_true(recv(client->fd, hello, sizeof(hello), 0) > 0);
}

static void *client_run(void *arg)
{
	struct client *client = arg;

	client->bytes = send(client->fd, client->request, strlen(client->request), MSG_NOSIGNAL);
	if (client->bytes > 0)
		client->bytes = recv(client->fd, client->answer, CLIENT_ANSWER_BYTES, 0);
	atomic_store(&client->has_ended, true);
	return NULL;
}

static inline void client_begin(struct client *client, const char *request)
{
	snprintf(client->request, sizeof(client->request), "%s", request);
	atomic_store(&client->has_ended, false);
	assert_int_equal(pthread_create(&client->thread, NULL, client_run, client), 0);
}

/* Returns what the answer has for the command, and fails the test if it is not JSON. */
static inline json_t *client_end(struct client *client)
{
	json_t *all, *value;
	size_t command = strcspn(client->request, ",");
	json_error_t error;

	pthread_join(client->thread, NULL);
	assert_true(client->bytes > 0);
	client->answer[client->bytes] = '\0';
	all = json_loads(client->answer, 0, &error);
	if (!all)
		fail_msg("%s: %s: %s", client->request, error.text, client->answer);
	client->request[command] = '\0';
	value = json_object_get(all, client->request);
	assert_non_null(value);
	json_incref(value);
	json_decref(all);
	return value;
}

/* Sends a request, and polls the pair until the answer is there. */
static inline json_t *client_ask(struct client *client, struct pair *pair, const char *request)
{
	client_begin(client, request);
	while (!atomic_load(&client->has_ended))
		pair_poll(pair);
	return client_end(client);
}

#endif
