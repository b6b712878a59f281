/* SPDX-License-Identifier: BSD-3-Clause */
#include "mem_log.h"

RTE_LOG_REGISTER(mem_logtype, weir.mem, NOTICE)
