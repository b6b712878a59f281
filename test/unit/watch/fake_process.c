/* SPDX-License-Identifier: BSD-3-Clause */
/* A telemetry socket whose answers the test chooses. */
#include "fake_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HELLO "{\"version\":\"DPDK 22.11.0\",\"pid\":4711,\"max_output_len\":16384}"

static const struct fake_answer good[] = {
	{"/weir/engines",
	 "{\"/weir/engines\":{\"1\":{\"state\":\"polled\",\"driver\":\"shm\",\"connections\":1}}}"},
	{"/weir/engines,1",
	 "{\"/weir/engines\":{\"driver\":\"shm\",\"polls\":1000,\"idle_polls\":900,"
	 "\"calls_completed\":50,\"requests_received\":7,\"stuck_calls\":2,\"connections\":1,"
	 "\"message_bytes_sent\":100,\"message_bytes_received\":200,\"rdma_bytes_sent\":300,"
	 "\"rdma_bytes_received\":400}}"},
	{"/weir/calls",
	 "{\"/weir/calls\":{\"total\":3,\"looked_at\":3,\"stuck\":1,\"engines_not_polled\":0,"
	 "\"waiting\":{\"0\":{\"side\":\"requester\",\"state\":\"sent\",\"waits_for\":\"the "
	 "reply\",\"calls\":3,\"oldest_ns\":7000000000}},\"calls\":{\"0\":{\"xid\":\"0xeb195a80\","
	 "\"state\":\"sent\",\"waits_for\":\"the reply\",\"prog\":100003,\"vers\":3,\"proc\":7,"
	 "\"bytes\":72,\"age_ns\":7000000000,\"stage_ns\":0,\"side\":\"requester\",\"engine\":1,"
	 "\"conn\":5,\"stuck\":1}}}}"},
	{"/weir/conns", "{\"/weir/conns\":{\"total\":2,\"engines_not_polled\":0,\"conns\":{\"5\":"
			"\"engine 1, requester, open, peer\",\"6\":\"engine 1, requester, open, "
			"gone\"}}}"},
	{"/weir/conn,5",
	 "{\"/weir/conn\":{\"engine\":1,\"side\":\"requester\",\"state\":\"open\",\"peer\":"
	 "\"/run/a\\\"b\\\\c\",\"version\":1,\"send_inline_bytes\":4096,\"recv_inline_bytes\":4096,"
	 "\"credits_granted\":16,\"credits_used\":3,\"calls_active\":3,\"calls\":50,\"age_ns\":"
	 "60000000000,\"message_bytes_sent\":100,\"message_bytes_received\":200,"
	 "\"rdma_bytes_sent\":300,\"rdma_bytes_received\":400}}"},
	{"/weir/conn,6", "{\"/weir/conn\":{\"error\":\"there is no connection 6\"}}"},
	{"/weir/histogram", "{\"/weir/histogram\":[\"requester/100003/3/7\"]}"},
	{"/weir/buckets,requester/100003/3/7",
	 "{\"/weir/buckets\":{\"engines_not_polled\":0,\"sum_ns\":500000,\"max_ns\":62000,"
	 "\"buckets\":{\"8191\":40,\"16383\":9,\"65535\":1}}}"},
	{"/weir/histogram,requester/100003/3/7",
	 "{\"/weir/histogram\":{\"count\":50,\"sum_ns\":500000,\"queued\":{\"count\":50,\"sum_ns\":"
	 "100000},\"sent\":{\"count\":50,\"sum_ns\":400000}}}"},
};

size_t fake_good_answers(void)
{
	return sizeof(good) / sizeof(good[0]);
}

const struct fake_answer *fake_good_answer(size_t index)
{
	return &good[index];
}

void fake_good_state(struct fake_process *fake)
{
	for (size_t i = 0; i < fake_good_answers(); i++)
		fake_answer(fake, good[i].command, good[i].text, 0);
}

void fake_hello(struct fake_process *fake, const char *text, size_t bytes)
{
	pthread_mutex_lock(&fake->lock);
	fake->hello = (struct fake_answer){.text = text, .bytes = bytes};
	pthread_mutex_unlock(&fake->lock);
}

void fake_answer(struct fake_process *fake, const char *command, const char *text, size_t bytes)
{
	struct fake_answer *at = fake->answers;

	pthread_mutex_lock(&fake->lock);
	while (at->command && strcmp(at->command, command) != 0)
		at++;
	if (at == fake->answers + FAKE_ANSWERS - 1)
		abort();
	*at = (struct fake_answer){command, text, bytes};
	pthread_mutex_unlock(&fake->lock);
}

/* Returns whether the client remains connected. */
static bool send_answer(int client, const struct fake_answer *answer)
{
	if (!answer->text)
		return false;
	if (answer->text[0] == '\0' && answer->bytes == 0)
		return true;
	return send(client, answer->text, answer->bytes ? answer->bytes : strlen(answer->text),
		    MSG_NOSIGNAL) > 0;
}

/* Answers one request. Returns whether the client remains connected. */
static bool serve(struct fake_process *fake, int client)
{
	char request[1024], unknown[1100];
	struct fake_answer answer = {.text = unknown};
	ssize_t len = recv(client, request, sizeof(request) - 1, 0);
	bool stays;

	if (len <= 0)
		return false;
	request[len] = '\0';
	snprintf(unknown, sizeof(unknown), "{\"%.*s\":null}", (int)strcspn(request, ","), request);
	pthread_mutex_lock(&fake->lock);
	for (uint32_t i = 0; fake->answers[i].command; i++)
		if (strcmp(fake->answers[i].command, request) == 0)
			answer = fake->answers[i];
	/* The test frees the text after it has set another answer. */
	stays = send_answer(client, &answer);
	pthread_mutex_unlock(&fake->lock);
	return stays;
}

static void *run_fake(void *arg)
{
	struct fake_process *fake = arg;

	for (;;) {
		int client = accept(fake->fd, NULL, NULL);
		struct fake_answer hello;

		if (client < 0)
			return NULL;
		pthread_mutex_lock(&fake->lock);
		hello = fake->hello;
		pthread_mutex_unlock(&fake->lock);
		if (send_answer(client, &hello))
			while (serve(fake, client))
				;
		close(client);
	}
}

void fake_start(struct fake_process *fake)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char folder[] = "/tmp/weir-watch-XXXXXX";

	memset(fake, 0, sizeof(*fake));
	pthread_mutex_init(&fake->lock, NULL);
	fake->hello.text = HELLO;
	fake->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (!mkdtemp(folder))
		abort();
	snprintf(fake->path, sizeof(fake->path), "%s/dpdk_telemetry.v2", folder);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", fake->path);
	if (bind(fake->fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(fake->fd, 8) != 0 || pthread_create(&fake->thread, NULL, run_fake, fake) != 0)
		abort();
}

void fake_stop(struct fake_process *fake)
{
	shutdown(fake->fd, SHUT_RDWR); /* accept() returns */
	pthread_join(fake->thread, NULL);
	close(fake->fd);
	unlink(fake->path);
	fake->path[strlen(fake->path) - strlen("/dpdk_telemetry.v2")] = '\0';
	rmdir(fake->path);
	pthread_mutex_destroy(&fake->lock);
}
