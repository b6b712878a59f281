/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of findings. */
#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct finding *findings_add(struct findings *findings, enum severity severity, const char *check)
{
	struct finding *list =
		realloc(findings->list, (findings->n + 1) * sizeof(findings->list[0]));

	if (!list) {
		findings->has_lost = true;
		return NULL;
	}
	findings->list = list;
	list[findings->n] = (struct finding){.severity = severity, .check = check};
	return &list[findings->n++];
}

/* Returns a new text, or NULL if there is no memory. */
printf_like(1, 0) static char *new_text(const char *format, va_list args)
{
	char *text;

	return vasprintf(&text, format, args) < 0 ? NULL : text;
}

void finding_cause(struct finding *finding, const char *format, ...)
{
	va_list args;

	if (!finding)
		return;
	va_start(args, format);
	free(finding->cause);
	finding->cause = new_text(format, args);
	va_end(args);
}

void finding_effect(struct finding *finding, const char *format, ...)
{
	va_list args;

	if (!finding)
		return;
	va_start(args, format);
	free(finding->effect);
	finding->effect = new_text(format, args);
	va_end(args);
}

void finding_remedy(struct finding *finding, const char *format, ...)
{
	char *line, *joined;
	va_list args;

	if (!finding)
		return;
	va_start(args, format);
	line = new_text(format, args);
	va_end(args);
	if (!finding->remedy) {
		finding->remedy = line;
		finding->is_incomplete |= !line;
		return;
	}
	if (!line || asprintf(&joined, "%s\n%s", finding->remedy, line) < 0) {
		finding->is_incomplete = true;
		free(line);
		return;
	}
	free(finding->remedy);
	free(line);
	finding->remedy = joined;
}

/* Adds an empty step and returns it, or NULL if the finding gets none or there is no memory. */
static struct fix *add_fix(struct finding *finding)
{
	struct fix *fixes;

	if (!finding || finding->severity == SEVERITY_NOTE)
		return NULL;
	fixes = realloc(finding->fixes, (finding->nfixes + 1) * sizeof(finding->fixes[0]));
	if (!fixes) {
		finding->is_incomplete = true;
		return NULL;
	}
	finding->fixes = fixes;
	fixes[finding->nfixes] = (struct fix){.path = NULL};
	return &fixes[finding->nfixes++];
}

static void free_fix(struct fix *fix)
{
	free(fix->path);
	free(fix->text);
	for (uint32_t i = 0; i < FIX_ARGS_MAX; i++)
		free(fix->argv[i]);
}

/* Removes the latest step, for which there was no memory. */
static void drop_fix(struct finding *finding)
{
	free_fix(&finding->fixes[--finding->nfixes]);
	finding->is_incomplete = true;
}

static void add_write(struct finding *finding, const char *path, const char *text, bool creates)
{
	struct fix *fix = add_fix(finding);

	if (!fix)
		return;
	fix->creates = creates;
	fix->path = strdup(path);
	fix->text = strdup(text);
	if (!fix->path || !fix->text)
		drop_fix(finding);
}

void finding_write(struct finding *finding, const char *path, const char *text)
{
	add_write(finding, path, text, false);
}

void finding_create(struct finding *finding, const char *path, const char *text)
{
	add_write(finding, path, text, true);
}

void finding_run(struct finding *finding, const char *const *argv)
{
	struct fix *fix = add_fix(finding);
	bool is_complete = true;

	if (!fix)
		return;
	for (uint32_t i = 0; i < FIX_ARGS_MAX && argv[i]; i++) {
		fix->argv[i] = strdup(argv[i]);
		is_complete &= fix->argv[i] != NULL;
	}
	if (!is_complete)
		drop_fix(finding);
}

void findings_complete(struct findings *findings)
{
	for (uint32_t i = 0; i < findings->n; i++) {
		const struct finding *finding = &findings->list[i];

		if (!finding->cause || !finding->effect || !finding->remedy ||
		    finding->is_incomplete)
			findings->has_lost = true;
	}
}

uint32_t findings_count(const struct findings *findings, enum severity severity)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < findings->n; i++)
		count += findings->list[i].severity == severity;
	return count;
}

uint32_t findings_fixes(const struct findings *findings)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < findings->n; i++)
		count += findings->list[i].nfixes;
	return count;
}

const char *severity_name(enum severity severity)
{
	static const char *const names[] = {"note", "warning", "error"};

	return names[severity];
}

void findings_free(struct findings *findings)
{
	for (uint32_t i = 0; i < findings->n; i++) {
		struct finding *finding = &findings->list[i];

		for (uint32_t k = 0; k < finding->nfixes; k++)
			free_fix(&finding->fixes[k]);
		free(finding->fixes);
		free(finding->cause);
		free(finding->effect);
		free(finding->remedy);
	}
	free(findings->list);
	*findings = (struct findings){.n = 0};
}
