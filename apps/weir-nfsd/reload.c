/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the exports again while the server runs. */
#include "reload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_rules.h"
#include "fs.h"

static int refuse(const struct export *export, const char *what)
{
	fprintf(stderr, "weir-nfsd: export %s %s: restart the server for that\n", export->name,
		what);
	return -1;
}

/* Checks that the served exports can become the fresh ones. Returns 0 or -1. */
static int check_changes(struct exports *served, const struct exports *fresh)
{
	for (uint32_t i = 0; i < fresh->n; i++) {
		const struct export *new = &fresh->all[i];
		const struct export *old = export_by_id(served, new->id);

		if (!old)
			return refuse(new, "is new");
		if (old->ops != new->ops || strcmp(old->path, new->path) != 0)
			return refuse(new, "has another backend");
		if (old->size_bytes != new->size_bytes)
			return refuse(new, "has another size");
	}
	return 0;
}

int reload_exports(const struct options *options, struct exports *served)
{
	struct exports *fresh = calloc(1, sizeof(*fresh));
	int rc = fresh ? options_load_exports(options, fresh) : -1;

	if (rc == 0 && exports_complete(fresh) != 0)
		rc = -1;
	if (rc == 0)
		rc = check_changes(served, fresh);
	if (rc == 0)
		client_rules_replace(served, fresh);
	if (fresh)
		exports_free(fresh);
	free(fresh);
	return rc;
}

static void *run_reload(void *arg)
{
	struct reload *reload = arg;
	int rc;

	(void)pthread_setname_np(pthread_self(), "nfsd-reload");
	rc = reload_exports(reload->options, reload->served);
	atomic_store(&reload->state, rc == 0 ? RELOAD_DONE : RELOAD_FAILED);
	reload->on_end(reload->arg);
	return NULL;
}

void reload_start(struct reload *reload)
{
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	atomic_store(&reload->state, RELOAD_RUNS);
	pthread_attr_init(&attr);
	/* Nobody waits for the thread, because a name server can keep it for long. */
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&thread, &attr, run_reload, reload);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		return;
	fprintf(stderr, "weir-nfsd: can't create a thread to read the exports: %s\n", strerror(rc));
	atomic_store(&reload->state, RELOAD_FAILED);
	reload->on_end(reload->arg);
}
