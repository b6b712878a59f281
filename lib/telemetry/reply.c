/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of commands, and the entries of their replies. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_version.h>

#include "telemetry.h"

int telemetry_error(struct rte_tel_data *reply, const char *format, ...)
{
	char text[RTE_TEL_MAX_STRING_LEN];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	rte_tel_data_start_dict(reply);
	telemetry_add_text(reply, "error", text);
	return 0;
}

bool telemetry_id(const char *params, uint64_t *id)
{
	char *end;

	if (!params || !isdigit((unsigned char)*params))
		return false;
	errno = 0;
	*id = strtoull(params, &end, 10);
	return errno == 0 && *end == '\0' && *id != 0;
}

bool telemetry_conn_id(const char *params, uint64_t *id, struct rte_tel_data *reply)
{
	if (telemetry_id(params, id))
		return true;
	(void)telemetry_error(reply, "'%.40s' is not the ID of a connection", params ? params : "");
	return false;
}

const char *telemetry_side_name(enum weir_side side)
{
	return side == WEIR_REQUESTER ? "requester" : "responder";
}

void telemetry_add_text(struct rte_tel_data *dict, const char *name, const char *text)
{
	(void)rte_tel_data_add_dict_string(dict, name, text);
}

void telemetry_add_number(struct rte_tel_data *dict, const char *name, uint64_t number)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 3, 0, 0)
	(void)rte_tel_data_add_dict_uint(dict, name, number);
#else
	(void)rte_tel_data_add_dict_u64(dict, name, number);
#endif
}

struct rte_tel_data *telemetry_dict(void)
{
	struct rte_tel_data *dict = rte_tel_data_alloc();

	if (dict)
		rte_tel_data_start_dict(dict);
	return dict;
}

struct rte_tel_data *telemetry_add_dict(struct rte_tel_data *dict, const char *name,
					struct rte_tel_data *inner)
{
	if (!inner || rte_tel_data_add_dict_container(dict, name, inner, 0) >= 0)
		return inner;
	rte_tel_data_free(inner);
	return NULL;
}
