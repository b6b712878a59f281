/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes calls of the MOUNT protocol, each on its own TCP connection. */
#include "mount.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nfs3_names.h"
#include "oncrpc_void.h"
#include "rpcbind_query.h"

int mount_find_port(const struct mount_options *options, uint16_t *port,
		    char why[ONCRPC_CLIENT_TEXT])
{
	*port = options->port;
	if (*port != 0)
		return 0;
	return rpcbind_getaddr(options->host, options->rpcbind_port, MOUNT3_PROGRAM, MOUNT3_VERSION,
			       options->timeout_ms, port, why);
}

/*
 * Makes one call of MOUNT on its own connection. Returns 0 with 'res' set, or -errno with an error
 * message in 'why'.
 */
static int call(const struct mount_options *options, uint32_t proc, xdrproc_t put, void *args,
		xdrproc_t get, void *res, char why[ONCRPC_CLIENT_TEXT])
{
	char name[] = "weir-nfs";
	gid_t gids[WEIR_RPC_GIDS_MAX];
	struct oncrpc_client rpc;
	AUTH *auth;
	int rc = oncrpc_client_open(&rpc, options->host, options->port, MOUNT3_PROGRAM,
				    MOUNT3_VERSION, options->timeout_ms, true, why);

	if (rc != 0)
		return rc;
	memcpy(gids, options->gids, sizeof(gids));
	auth = authunix_create(name, options->uid, options->gid, (int)options->ngids, gids);
	if (auth) {
		if (rpc.client->cl_auth)
			auth_destroy(rpc.client->cl_auth);
		rpc.client->cl_auth = auth;
	}
	rc = oncrpc_client_call(&rpc, proc, put, args, get, res, why);
	oncrpc_client_close(&rpc);
	return rc;
}

int mount_mnt(const struct mount_options *options, const char *path, struct mount3_mnt_res *res,
	      char why[ONCRPC_CLIENT_TEXT])
{
	struct mount3_path arg;
	int rc;

	memset(res, 0, sizeof(*res));
	snprintf(arg.path, sizeof(arg.path), "%s", path);
	rc = call(options, MOUNT3_MNT, (xdrproc_t)mount3_xdr_path, &arg,
		  (xdrproc_t)mount3_xdr_mnt_res, res, why);
	if (rc != 0)
		return rc;
	if (!nfs3_status_is_known(res->status) ||
	    (res->status == MOUNT3_OK && res->fh.len_bytes == 0)) {
		snprintf(why, ONCRPC_CLIENT_TEXT, "the answer has an invalid status or handle");
		return -EPROTO;
	}
	return 0;
}

void mount_umnt(const struct mount_options *options, const char *path)
{
	char why[ONCRPC_CLIENT_TEXT];
	struct mount3_path arg;

	snprintf(arg.path, sizeof(arg.path), "%s", path);
	(void)call(options, MOUNT3_UMNT, (xdrproc_t)mount3_xdr_path, &arg, (xdrproc_t)oncrpc_void,
		   NULL, why);
}

int mount_exports(const struct mount_options *options, struct mount3_export_res *res,
		  char why[ONCRPC_CLIENT_TEXT])
{
	memset(res, 0, sizeof(*res));
	return call(options, MOUNT3_EXPORT, (xdrproc_t)oncrpc_void, NULL,
		    (xdrproc_t)mount3_xdr_export_res, res, why);
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
