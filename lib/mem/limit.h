/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LIMIT_H
#define LIMIT_H

/*
 * Name the limit of this process that may have caused 'rc', and how to raise it, in the log. 'rc'
 * is a negative errno or 0. Each limit is named once in the life of a process, so that a peer whose
 * connections fail for it cannot fill the log.
 */
void mem_explain_limit(int rc);

#endif
