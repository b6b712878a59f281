/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes calls of the MOUNT protocol, each on its own TCP connection. */
#include "mount.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mount3_text.h"
#include "nfs3_names.h"
#include "rpcbind_query.h"

void mount_find_groups(struct mount_options *options)
{
	gid_t gids[NGROUPS_MAX];
	int n = options->uid == geteuid() ? getgroups(NGROUPS_MAX, gids) : 0;

	options->ngids = 0;
	while (options->ngids < WEIR_RPC_GIDS_MAX && (int)options->ngids < n) {
		options->gids[options->ngids] = gids[options->ngids];
		options->ngids++;
	}
}

int mount_find_port(const struct mount_options *options, uint16_t *port,
		    char why[ONCRPC_CLIENT_TEXT])
{
	*port = options->port;
	if (*port != 0)
		return 0;
	return rpcbind_getaddr(options->host, options->rpcbind_port, MOUNT3_PROGRAM, MOUNT3_V3,
			       options->timeout_ms, port, why);
}

/* Encodes the argument of MNT or UMNT. Returns 0 or -EINVAL. */
static int encode_path(const char *path, uint8_t message[MOUNT3_MNT_3_ARGS_MAX_BYTES],
		       uint32_t *len_bytes)
{
	const mount3_path text = mount3_string(path);
	struct weir_xdr_out out;

	weir_xdr_out_init(&out, message, MOUNT3_MNT_3_ARGS_MAX_BYTES);
	if (mount3_path_put(&out, &text) != 0)
		return -EINVAL;
	*len_bytes = (uint32_t)weir_xdr_out_len(&out);
	return 0;
}

static int malformed(const char *what, char why[ONCRPC_CLIENT_TEXT])
{
	snprintf(why, ONCRPC_CLIENT_TEXT, "the answer has %s", what);
	return -EPROTO;
}

/*
 * Makes one call of MOUNT on its own connection. 'path' is its argument, or NULL. Returns 0 with
 * *results set, or -errno with an error message in 'why'.
 */
static int call(const struct mount_options *options, uint32_t proc, const char *path,
		struct oncrpc_bytes *results, char why[ONCRPC_CLIENT_TEXT])
{
	char name[] = "weir-nfs";
	gid_t gids[WEIR_RPC_GIDS_MAX];
	uint8_t message[MOUNT3_MNT_3_ARGS_MAX_BYTES];
	struct oncrpc_bytes args = {.data = message};
	struct oncrpc_client rpc;
	AUTH *auth;
	int rc;

	if (path && encode_path(path, message, &args.len_bytes) != 0) {
		snprintf(why, ONCRPC_CLIENT_TEXT, "the path has more than %u bytes",
			 MOUNT3_PATH_MAX);
		return -ENAMETOOLONG;
	}
	rc = oncrpc_client_open(&rpc, options->host, options->port, MOUNT3_PROGRAM, MOUNT3_V3,
				options->timeout_ms, true, why);
	if (rc != 0)
		return rc;
	memcpy(gids, options->gids, sizeof(gids));
	auth = authunix_create(name, options->uid, options->gid, (int)options->ngids, gids);
	if (auth) {
		if (rpc.client->cl_auth)
			auth_destroy(rpc.client->cl_auth);
		rpc.client->cl_auth = auth;
	}
	rc = oncrpc_client_call(&rpc, proc, (xdrproc_t)oncrpc_bytes, &args, (xdrproc_t)oncrpc_bytes,
				results, why);
	oncrpc_client_close(&rpc);
	return rc;
}

int mount_mnt(const struct mount_options *options, const char *path, struct mount3_mnt_res *res,
	      char why[ONCRPC_CLIENT_TEXT])
{
	uint8_t message[MOUNT3_MNT_3_RESULTS_MAX_BYTES];
	struct oncrpc_bytes results = {.data = message, .max_bytes = sizeof(message)};
	struct weir_xdr_in in;
	int rc = call(options, MOUNT3_MNT, path, &results, why);

	if (rc != 0)
		return rc;
	weir_xdr_in_init(&in, message, results.len_bytes);
	if (mount3_mnt_res_get(&in, res) != 0 ||
	    (res->status == MOUNT3_OK && res->fh.len_bytes == 0))
		return malformed("an invalid status or handle", why);
	return 0;
}

void mount_umnt(const struct mount_options *options, const char *path)
{
	struct oncrpc_bytes none = {0};
	char why[ONCRPC_CLIENT_TEXT];

	(void)call(options, MOUNT3_UMNT, path, &none, why);
}

int mount_exports(const struct mount_options *options, struct mount_exports *res,
		  char why[ONCRPC_CLIENT_TEXT])
{
	struct oncrpc_bytes results = {.data = res->message, .max_bytes = sizeof(res->message)};
	char path[MOUNT3_PATH_MAX + 1];
	struct weir_xdr_arena arena;
	struct weir_xdr_in in;
	int rc = call(options, MOUNT3_EXPORT, NULL, &results, why);

	if (rc != 0)
		return rc;
	weir_xdr_in_init(&in, res->message, results.len_bytes);
	weir_xdr_arena_init(&arena, res->arena, sizeof(res->arena));
	if (mount3_exports_get(&in, &arena, &res->first) != 0)
		return malformed("an invalid or too long list", why);
	for (const struct mount3_export *export = res->first; export; export = export->next)
		if (!mount3_text(&export->path, path, sizeof(path)))
			return malformed("a path with a NUL character", why);
	return 0;
}

const char *mount_status_text(uint32_t status)
{
	switch (status) {
	case MOUNT3ERR_NOENT:
		return "no such export";
	case MOUNT3ERR_ACCES:
		return "permission denied: check that the server's export permits this host and "
		       "user";
	default:
		/* The other values of mount3_status are equal to those of nfs3_status. */
		return nfs3_status_text(status);
	}
}
