/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPORT_H
#define REPORT_H

/* Prints the needs of a profile and the findings on standard output. */

#include "facts.h"
#include "findings.h"
#include "load.h"

struct report {
	const char *path; /* of the profile */
	const struct facts *facts;
	const struct load *load;
	const struct findings *findings;
	bool has_notes; /* also print notes; JSON always has them */
};

void report_text(const struct report *report);

/* Returns 0, or -1 if there is no memory. */
int report_json(const struct report *report);

/* Returns "error", "warning" or "ok": the highest severity of the findings. */
const char *report_status(const struct findings *findings);

#endif
