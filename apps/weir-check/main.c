/* SPDX-License-Identifier: BSD-3-Clause */
/* weir-check: checks whether the machine has what programs with a profile need. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "facts.h"
#include "fix.h"
#include "judge.h"
#include "options.h"
#include "report.h"
#include "std_io.h"

enum {
	EXIT_NOT_DONE = 1, /* output that can't be written, a remedy that was not applied */
	EXIT_USAGE = 2,
	EXIT_WARNINGS = 3,
	EXIT_ERRORS = 4,
};

/* An examination of the machine. */
struct examination {
	struct facts *facts;
	struct load load;
	struct findings findings;
};

static void examination_end(struct examination *x)
{
	findings_free(&x->findings);
	free(x->facts);
	x->facts = NULL;
}

/* Examines the machine. Returns 0, or -1 if there is no memory. */
static int examine(const struct check_options *o, struct examination *x)
{
	*x = (struct examination){.facts = facts_read(o->sysroot, o->user)};
	if (x->facts) {
		load_compute(&o->profile, o->nengines, x->facts, &x->load);
		judge(x->facts, &x->load, &x->findings);
		if (!x->findings.has_lost)
			return 0;
	}
	fprintf(stderr, "weir-check: no memory for the findings\n");
	return -1;
}

static int examine_again(const struct check_options *o, struct examination *x)
{
	examination_end(x);
	return examine(o, x);
}

/* Prints the findings. Returns 0 or -1. */
static int print(const struct check_options *o, const struct examination *x)
{
	const struct report report = {
		.path = o->path,
		.facts = x->facts,
		.load = &x->load,
		.findings = &x->findings,
		.has_notes = o->is_verbose,
	};

	if (!o->is_json) {
		report_text(&report);
		return 0;
	}
	if (report_json(&report) == 0)
		return 0;
	fprintf(stderr, "weir-check: no memory for the report\n");
	return -1;
}

static int status_of(const struct findings *findings)
{
	if (findings_count(findings, SEVERITY_ERROR) > 0)
		return EXIT_ERRORS;
	return findings_count(findings, SEVERITY_WARNING) > 0 ? EXIT_WARNINGS : EXIT_SUCCESS;
}

/* Asks whether the steps will be applied. Returns 0 if they will. */
static int confirm(const struct check_options *o, const struct findings *findings, FILE *out)
{
	if (o->sysroot[0] == '\0' && geteuid() != 0) {
		fprintf(stderr,
			"weir-check: --fix changes settings of the machine: run it as root\n");
		return -1;
	}
	fprintf(out, "\nsteps of the remedies:\n");
	fix_print(findings, out);
	switch (o->is_confirmed ? FIX_CONFIRMED : fix_ask(out)) {
	case FIX_CONFIRMED:
		return 0;
	case FIX_NO_TERMINAL:
		fprintf(stderr, "weir-check: nothing was changed, because standard input is not a "
				"terminal: confirm the steps by --yes\n");
		return -1;
	default:
		fprintf(stderr, "weir-check: nothing was changed\n");
		return -1;
	}
}

/* Applies the remedies and examines the machine again. Returns the exit status. */
static int fix(const struct check_options *o, struct examination *x)
{
	/* With JSON, standard output has nothing else. */
	FILE *out = o->is_json ? stderr : stdout;
	struct findings confirmed;
	uint32_t nfailed;

	if (!o->is_json && print(o, x) != 0)
		return EXIT_NOT_DONE;
	if (findings_fixes(&x->findings) == 0) {
		if (status_of(&x->findings) != EXIT_SUCCESS)
			fprintf(out, "--fix can apply none of these remedies\n");
		return o->is_json && print(o, x) != 0 ? EXIT_NOT_DONE : status_of(&x->findings);
	}
	if (confirm(o, &x->findings, out) != 0)
		return EXIT_NOT_DONE;
	confirmed = x->findings;
	x->findings = (struct findings){.n = 0};
	/* The machine can have changed since the question. For example, if it got hugepages, the
	 * step would now lower their number. */
	if (examine_again(o, x) != 0) {
		findings_free(&confirmed);
		return EXIT_NOT_DONE;
	}
	nfailed = fix_apply(&x->findings, &confirmed, out);
	findings_free(&confirmed);
	if (examine_again(o, x) != 0)
		return EXIT_NOT_DONE;
	fprintf(out, "\nafter the remedies:\n\n");
	if (print(o, x) != 0)
		return EXIT_NOT_DONE;
	return nfailed > 0 ? EXIT_NOT_DONE : status_of(&x->findings);
}

static int check(const struct check_options *o)
{
	struct examination x;
	int status = EXIT_NOT_DONE;

	if (examine(o, &x) == 0) {
		if (o->fixes)
			status = fix(o, &x);
		else if (print(o, &x) == 0)
			status = status_of(&x.findings);
	}
	examination_end(&x);
	return status;
}

int main(int argc, char **argv)
{
	struct check_options options;
	int rc, status;

	std_io_start();
	rc = check_options_read(argc, argv, &options);
	if (rc < 0)
		return EXIT_USAGE;
	status = rc > 0 ? EXIT_SUCCESS : check(&options);
	check_options_free();
	return std_io_finish("weir-check") == 0 ? status : EXIT_NOT_DONE;
}
