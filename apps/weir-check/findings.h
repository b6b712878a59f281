/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FINDINGS_H
#define FINDINGS_H

/* A list of findings. Each has its cause, its effect and its remedy as texts, and the steps that
 * carry out the remedy, if a program can. */

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

#define FIX_ARGS_MAX 8u

enum severity {
	SEVERITY_NOTE,	  /* nothing has to be done, or the fact is not known */
	SEVERITY_WARNING, /* programs start, and are slower or less predictable */
	SEVERITY_ERROR,	  /* programs do not start, or end later */
};

/* A step of a remedy: writes 'text' to a file or, if 'path' is NULL, runs a program. */
struct fix {
	char *path;
	char *text;
	bool creates; /* the file can be new */
	char *argv[FIX_ARGS_MAX + 1];
};

struct finding {
	enum severity severity;
	const char *check; /* what was examined, such as "hugepages" */
	/* Texts. A remedy can have several lines. NULL: there was no memory. */
	char *cause, *effect, *remedy;
	bool is_incomplete; /* there was no memory for a line or a step of the remedy */
	uint32_t nfixes;
	struct fix *fixes;
};

struct findings {
	uint32_t n;
	struct finding *list;
	bool has_lost; /* there was no memory for a finding or a part of it */
};

/* Adds a finding and returns it. Returns NULL if there is no memory. The functions below accept
 * NULL. */
struct finding *findings_add(struct findings *findings, enum severity severity, const char *check);

/* Set the texts. finding_remedy() adds a line if there is a text already. */
printf_like(2, 3) void finding_cause(struct finding *finding, const char *format, ...);
printf_like(2, 3) void finding_effect(struct finding *finding, const char *format, ...);
printf_like(2, 3) void finding_remedy(struct finding *finding, const char *format, ...);

/* Add a step, unless the finding is a note. finding_write() writes to a file that exists, and
 * finding_create() to one that can be new. */
void finding_write(struct finding *finding, const char *path, const char *text);
void finding_create(struct finding *finding, const char *path, const char *text);
void finding_run(struct finding *finding, const char *const *argv);

/* Checks for texts and steps that are missing because there was no memory, and sets has_lost. */
void findings_complete(struct findings *findings);

/* Returns the number of findings of a severity. */
uint32_t findings_count(const struct findings *findings, enum severity severity);

/* Returns the number of steps of all findings. */
uint32_t findings_fixes(const struct findings *findings);

const char *severity_name(enum severity severity);

/* Frees the findings, and makes the list empty. */
void findings_free(struct findings *findings);

#endif
