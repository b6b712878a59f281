/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_H
#define LIMIT_H

/*
 * Logs which limit of this process might have caused the error 'rc', and how to raise the limit.
 * 'rc' is a negative errno or 0. Nothing is logged for 0, and for an error that no known limit
 * causes. Each limit is logged once per process, so that a peer whose connections fail at the limit
 * cannot fill the log.
 */
void mem_explain_limit(int rc);

#endif
