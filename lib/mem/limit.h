/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_H
#define LIMIT_H

/*
 * Logs which limit of this process may have caused 'rc', and how to raise it. 'rc' is a negative
 * errno or 0. Each limit is logged once per process, so that a peer whose connections fail at the
 * limit cannot fill the log.
 */
void mem_explain_limit(int rc);

#endif
