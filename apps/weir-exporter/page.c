/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the processes, and writes the page. */
#include "page.h"

#include <stdlib.h>
#include <string.h>

#include "metrics.h"

#define PROCESSES_MAX 32u   /* processes on a page */
#define PROCESS_MS    5000u /* the time for one of them */
#define WAIT_ALL_MS   8000u /* the time for all of them; Prometheus waits for 10 s by default */

/* Finds the sockets that the options name. */
static void find(const struct page_options *options, struct watch_places *places)
{
	if (options->socket)
		watch_one(options->socket, places);
	else
		(void)watch_find(options->folder, options->prefix, places);
}

/* Returns the time that is left up to 'until_ms', from 1 to 'most' ms. */
static uint32_t left_ms(uint64_t until_ms, uint32_t most)
{
	uint64_t now_ms = watch_clock_ms();

	if (now_ms >= until_ms)
		return 1;
	return until_ms - now_ms < most ? (uint32_t)(until_ms - now_ms) : most;
}

/* Reads a process, up to the time 'until_ms'. Returns false if it does not use weir. */
static bool read_process(const struct watch_place *place, const struct page_options *options,
			 uint64_t until_ms, struct process *process)
{
	uint32_t limit_ms = left_ms(until_ms, PROCESS_MS);
	uint64_t end_ms = watch_clock_ms() + limit_ms;
	struct watch_scope scope = {.conns = options->conns, .stages = true};
	struct watch_socket sock;
	enum watch_result result;

	scope.wait_ms = limit_ms < options->wait_ms ? limit_ms : options->wait_ms;
	result = watch_open(&sock, place->path, scope.wait_ms);
	scope.limit_ms = left_ms(end_ms, PROCESS_MS);

	if (result == WATCH_OK)
		result = watch_read(&sock, &scope, &process->state);
	snprintf(process->name, sizeof(process->name), "%s", place->name);
	snprintf(process->version, sizeof(process->version), "%s", sock.version);
	process->pid = sock.pid;
	process->is_up = result == WATCH_OK;
	watch_close(&sock);
	return result != WATCH_UNKNOWN;
}

/* Reads all processes. Returns their number. */
static uint32_t read_all(const struct watch_places *places, const struct page_options *options,
			 struct process **processes)
{
	uint64_t until_ms = watch_clock_ms() + WAIT_ALL_MS;
	uint32_t n = 0;

	for (uint32_t i = 0; i < places->n && n < PROCESSES_MAX; i++) {
		if (!processes[n])
			processes[n] = calloc(1, sizeof(*processes[n]));
		if (processes[n] &&
		    read_process(&places->places[i], options, until_ms, processes[n]))
			n++;
	}
	return n;
}

char *page_make(const struct page_options *options, enum page_format format, size_t *bytes)
{
	struct process *processes[PROCESSES_MAX] = {NULL};
	struct watch_places *places = calloc(1, sizeof(*places));
	struct family_out out = {.format = format};
	char *text = NULL;
	bool is_whole;

	*bytes = 0;
	out.file = places ? open_memstream(&text, bytes) : NULL;
	if (!out.file) {
		free(places);
		return NULL;
	}
	find(options, places);
	metrics_print(&out, processes, read_all(places, options, processes));
	family_end(&out);
	is_whole = ferror(out.file) == 0;
	is_whole &= fclose(out.file) == 0;
	for (uint32_t i = 0; i < PROCESSES_MAX; i++)
		free(processes[i]);
	free(places);
	if (is_whole)
		return text;
	free(text);
	return NULL;
}
