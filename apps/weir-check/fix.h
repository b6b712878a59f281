/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FIX_H
#define FIX_H

/* Applies remedies: writes files, and runs programs without a shell. */

#include <stdio.h>

#include "findings.h"

enum fix_answer { FIX_CONFIRMED, FIX_DECLINED, FIX_NO_TERMINAL };

/* Prints the steps of all findings on 'out', each as the command of a shell. */
void fix_print(const struct findings *findings, FILE *out);

/* Asks on 'out' whether the steps will be applied, and reads the answer from standard input. Does
 * not ask if standard input is not a terminal. */
enum fix_answer fix_ask(FILE *out);

/* Applies the steps of all findings that are also in 'confirmed', and prints each on 'out' with its
 * result. Returns the number of steps that failed. A failed step does not keep the others from
 * being applied. */
uint32_t fix_apply(const struct findings *findings, const struct findings *confirmed, FILE *out);

#endif
