/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks to a directory that MOUNT names, on this thread or on the thread of the export's owner. */
#include "walk.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FULL_PAUSE_US 1000u

/* A walk that was posted to the thread of the export's owner. */
struct posted {
	const struct walk *walk;
	struct handle_id *id;
	enum nfs3_status status;
	sem_t done;
};

/*
 * Returns the export whose name equals 'path' or is a prefix of 'path' that ends before a slash. If
 * there are several such exports, returns the one with the longest name. Returns NULL if there is
 * none. An export that was withdrawn does not count. *rest is the part of the path below the
 * export. The slash at the start of 'path' can be missing, as in the definition of an export.
 */
static struct export *export_above(struct exports *exports, const char *path, const char **rest)
{
	struct export *best = NULL;
	size_t longest = 0;

	for (uint32_t i = 0; i < exports->n; i++) {
		const char *name = exports->all[i].name + (path[0] != '/');
		size_t len = strlen(name);

		if (len > longest && !exports->all[i].is_withdrawn &&
		    strncmp(path, name, len) == 0 && (path[len] == '\0' || path[len] == '/')) {
			best = &exports->all[i];
			longest = len;
		}
	}
	*rest = path + longest;
	return best;
}

bool walk_may_mount(struct server *server, const struct client *client, const char *path)
{
	const char *rest;
	struct export *export = export_above(&server->exports, path, &rest);

	return export && client_rules(client, &server->exports, export);
}

enum nfs3_status walk_begin(struct walk *walk, struct server *server, const struct client *client,
			    const struct weir_rpc_auth *auth, const char *path)
{
	const struct export_rules *rules;
	const char *rest;

	walk->export = export_above(&server->exports, path, &rest);
	if (!walk->export)
		return NFS3ERR_NOENT;
	rules = client_rules(client, &server->exports, walk->export);
	if (!rules || cred_of(auth, client, rules, &walk->cred) != WEIR_RPC_AUTH_OK)
		return NFS3ERR_ACCES;
	snprintf(walk->path, sizeof(walk->path), "%s", path);
	walk->below = (uint32_t)(rest - path);
	return NFS3_OK;
}

bool walk_is_to_root(const struct walk *walk)
{
	const char *below = walk->path + walk->below;

	return below[strspn(below, "/")] == '\0';
}

static enum nfs3_status walk_here(const struct walk *walk, struct handle_id *id)
{
	return walk->export->ops->walk(walk->export->fs, &walk->cred, walk->path + walk->below, id);
}

static void on_posted(struct weir_engine *engine, void *arg)
{
	struct posted *posted = arg;

	(void)engine;
	posted->status = walk_here(posted->walk, posted->id);
	sem_post(&posted->done);
}

static enum nfs3_status walk_at_owner(const struct walk *walk, struct handle_id *id)
{
	struct posted posted = {.walk = walk, .id = id};

	sem_init(&posted.done, 0, 0);
	/* A full mailbox has space again soon, unless its poller hangs. */
	while (weir_engine_post(walk->export->owner->engine, on_posted, &posted) != 0)
		usleep(FULL_PAUSE_US);
	while (sem_wait(&posted.done) != 0)
		; /* the wait is repeated if a signal interrupted it */
	sem_destroy(&posted.done);
	return posted.status;
}

enum nfs3_status walk_run(const struct walk *walk, struct server *server, struct nfs3_fh *fh)
{
	struct handle_id id;
	enum nfs3_status status =
		walk->export->ops->walk_waits ? walk_here(walk, &id) : walk_at_owner(walk, &id);

	if (status == NFS3_OK)
		handle_make(&server->key, walk->export, &id, fh);
	return status;
}
