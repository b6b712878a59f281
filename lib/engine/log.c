/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

int weir_logtype;

RTE_INIT(weir_log_init)
{
	weir_logtype = rte_log_register_type_and_pick_level("weir", RTE_LOG_NOTICE);
	if (weir_logtype < 0)
		weir_logtype = RTE_LOGTYPE_USER1;
}
