/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command bench measures READs and WRITEs of one file on the server, in a closed loop. Each
 * slot has one op in flight. When this op ends, the slot starts the next op. At first the file is
 * written with a known sequence of bytes, so that each byte can be checked. The measured WRITEs
 * write the same bytes to the same offsets, so that the check does not depend on the order of READs
 * and WRITEs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "commands.h"
#include "counters.h"
#include "output.h"
#include "pattern.h"
#include "transfer.h"

#define BLOCK_DEFAULT 4096u

struct bench_slot {
	struct bench *bench;
	struct op op;
	uint8_t *data;
	uint64_t offset;     /* offset of the block in the file */
	uint32_t done_bytes; /* bytes of the block that are transferred; the rest is requested */
	uint64_t start_ns;
};

struct bench {
	struct session *session;
	const struct nfs_options *options;
	const struct bench_load *load;
	struct nfs3_fh fh;
	uint32_t block_bytes;
	/* maximum bytes of one READ and of one WRITE; at most block_bytes */
	uint32_t read_max, write_max;
	uint64_t nblocks;
	struct bench_slot *slots;
	uint64_t random;
	uint64_t next_block; /* index of the next block for the first writing of the file and for
				--sequential */
	uint32_t in_flight;
	bool is_filling;
	bool is_measuring;
	bool is_stopping;

	/* The members below are the results. */
	double seconds;
	uint64_t reads, writes;
	uint64_t errors;
	int first_error;
	uint64_t verify_failures;
	struct weir_histogram rtt;
	struct bench_counts at_warm, stats;
};

static uint64_t next_random(struct bench *bench)
{
	bench->random ^= bench->random << 13;
	bench->random ^= bench->random >> 7;
	bench->random ^= bench->random << 17;
	return bench->random;
}

static void bench_on_done(struct op *op);

/*
 * Submits the part of the slot's block that is not transferred yet, up to the server's maximum for
 * one call.
 */
static void submit_rest(struct bench_slot *slot)
{
	struct bench *bench = slot->bench;
	uint64_t offset = slot->offset + slot->done_bytes;
	uint32_t count = bench->block_bytes - slot->done_bytes;
	struct op *op = &slot->op;
	uint32_t max = op->proc == NFS3_READ ? bench->read_max : bench->write_max;

	if (count > max)
		count = max;
	op->item = slot->data + slot->done_bytes;
	op->item_bytes = count;
	if (op->proc == NFS3_READ)
		op->args.read =
			(struct nfs3_read_args){.fh = bench->fh, .offset = offset, .count = count};
	else
		op->args.write = (struct nfs3_write_args){
			.fh = bench->fh,
			.offset = offset,
			.count = count,
			.stable =
				bench->options->flags & FLAG_SYNC ? NFS3_FILE_SYNC : NFS3_UNSTABLE,
		};
	session_submit(bench->session, op);
}

static void submit(struct bench_slot *slot, bool is_read, uint64_t offset)
{
	struct bench *bench = slot->bench;

	slot->op.proc = is_read ? NFS3_READ : NFS3_WRITE;
	slot->op.done = bench_on_done;
	slot->op.arg = slot;
	slot->offset = offset;
	slot->done_bytes = 0;
	slot->start_ns = bench_clock_ns(&bench->session->clock);
	bench->in_flight++;
	submit_rest(slot);
}

/* Starts the write of the next block during the first writing of the file. */
static void next_fill(struct bench_slot *slot)
{
	struct bench *bench = slot->bench;
	uint64_t offset = bench->next_block * bench->block_bytes;

	if (bench->next_block == bench->nblocks)
		return;
	bench->next_block++;
	bench_pattern_fill(slot->data, offset, bench->block_bytes);
	submit(slot, false, offset);
}

static void next_load(struct bench_slot *slot)
{
	struct bench *bench = slot->bench;
	bool is_read = next_random(bench) % 100 < bench->load->read_percent;
	uint64_t block = next_random(bench) % bench->nblocks;

	if (bench->load->is_sequential) {
		block = bench->next_block;
		bench->next_block = (block + 1) % bench->nblocks;
	}
	if (bench->load->verify && is_read)
		memset(slot->data, 0xa5, bench->block_bytes);
	else if (bench->load->verify || !is_read)
		bench_pattern_fill(slot->data, block * bench->block_bytes, bench->block_bytes);
	submit(slot, is_read, block * bench->block_bytes);
}

/*
 * Adds the count of the op's result to the slot's done_bytes. Returns true if the server did less
 * than requested so that the caller must request the rest (RFC 1813 sections 3.3.6 and 3.3.7).
 */
static bool is_short(struct bench_slot *slot)
{
	const struct op *op = &slot->op;
	uint32_t count = op->proc == NFS3_READ ? op->res.read.count : op->res.write.count;

	slot->done_bytes += count;
	return slot->done_bytes < slot->bench->block_bytes && count > 0 &&
	       !(op->proc == NFS3_READ && op->res.read.eof);
}

/*
 * Returns true if the whole block was transferred and, for a READ with --verify, its data are
 * correct.
 */
static bool check(const struct bench_slot *slot)
{
	const struct bench *bench = slot->bench;

	if (slot->done_bytes != bench->block_bytes)
		return false;
	return slot->op.proc == NFS3_WRITE || !bench->load->verify ||
	       bench_pattern_matches(slot->data, slot->offset, bench->block_bytes);
}

static void bench_on_done(struct op *op)
{
	struct bench_slot *slot = op->arg;
	struct bench *bench = slot->bench;

	if (op_result(op) == 0 && is_short(slot)) {
		submit_rest(slot);
		return;
	}
	bench->in_flight--;
	if (op_result(op) != 0) {
		bench->errors++;
		if (bench->first_error == 0)
			bench->first_error = op_result(op);
		bench->is_stopping = true;
		return;
	}
	if (!check(slot))
		bench->verify_failures++;
	if (bench->is_measuring) {
		histogram_add(&bench->rtt, bench_clock_ns(&bench->session->clock) - slot->start_ns);
		bench->reads += op->proc == NFS3_READ;
		bench->writes += op->proc == NFS3_WRITE;
	}
	if (bench->is_stopping)
		return;
	if (bench->is_filling)
		next_fill(slot);
	else
		next_load(slot);
}

static void poll_until_idle(struct bench *bench)
{
	while (bench->in_flight > 0)
		session_poll(bench->session);
}

static int bench_commit(struct bench *bench)
{
	struct op op = {.proc = NFS3_COMMIT, .args.commit.fh = bench->fh};

	return session_call(bench->session, &op);
}

/*
 * Asks the server for the maximum size of one READ and of one WRITE (RFC 1813 section 3.3.19).
 * Returns 0, or an error like session_call().
 */
static int ask_sizes(struct bench *bench)
{
	struct op op = {.proc = NFS3_FSINFO, .args.fh = bench->session->root};
	const struct nfs3_fsinfo_res *res = &op.res.fsinfo;
	int rc = session_call(bench->session, &op);

	if (rc != 0)
		return rc;
	bench->read_max =
		res->rtmax > 0 && res->rtmax < bench->block_bytes ? res->rtmax : bench->block_bytes;
	bench->write_max =
		res->wtmax > 0 && res->wtmax < bench->block_bytes ? res->wtmax : bench->block_bytes;
	return 0;
}

/*
 * Creates the file and writes the known sequence to it. Returns 0, or an error like session_call().
 */
static int make_file(struct bench *bench, const struct nfs3_fh *dir, const char *name)
{
	const struct nfs3_sattr attr = {.set_mode = true, .mode = 0644, .set_size = true};
	struct node node;
	int rc = tree_create(bench->session, dir, name, &attr, &node);

	if (rc != 0)
		return rc;
	bench->fh = node.fh;
	bench->is_filling = true;
	bench->next_block = 0;
	for (uint32_t i = 0; i < bench->options->depth; i++)
		next_fill(&bench->slots[i]);
	poll_until_idle(bench);
	bench->is_filling = false;
	bench->next_block = 0;
	if (bench->first_error != 0)
		return bench->first_error;
	return bench_commit(bench);
}

static void show(const struct bench *bench, uint64_t begin_ns, uint64_t until_ns)
{
	fprintf(stderr, "\r%5.1f / %.1f s  %s  %12llu calls  errors %llu  ",
		(double)(bench->session->now_ns - begin_ns) / 1e9,
		(double)(until_ns - begin_ns) / 1e9,
		bench->is_measuring ? "measuring" : "warming up",
		(unsigned long long)(bench->reads + bench->writes),
		(unsigned long long)bench->errors);
	fflush(stderr);
}

static void run_for(struct bench *bench, double seconds)
{
	struct session *session = bench->session;
	uint64_t begin = bench_clock_ns(&session->clock), shown = begin;
	uint64_t until = begin + (uint64_t)(seconds * 1e9);
	bool shows = !bench->options->quiet && isatty(STDERR_FILENO);

	do {
		session_poll(session);
		if (shows && session->now_ns - shown > 500000000u) {
			show(bench, begin, until);
			shown = session->now_ns;
		}
	} while (session->now_ns < until && !bench->is_stopping);
	if (shows)
		fprintf(stderr, "\r%70s\r", "");
}

static void run_load(struct bench *bench)
{
	struct weir_engine *engine = bench->session->engine;
	struct bench_counts end;
	uint64_t begin;

	for (uint32_t i = 0; i < bench->options->depth && !bench->is_stopping; i++)
		next_load(&bench->slots[i]);
	run_for(bench, bench->load->warmup_seconds);
	bench->is_measuring = true;
	bench_counts_read(engine, &bench->at_warm);
	begin = bench_clock_ns(&bench->session->clock);
	run_for(bench, bench->load->seconds);
	bench->seconds = (double)(bench_clock_ns(&bench->session->clock) - begin) / 1e9;
	bench_counts_read(engine, &end);
	bench_counts_add_difference(&bench->stats, &end, &bench->at_warm);
	bench->is_measuring = false;
	bench->is_stopping = true;
	poll_until_idle(bench);
}

static double rate(const struct bench *bench, uint64_t count)
{
	return bench->seconds > 0 ? (double)count / bench->seconds : 0;
}

static void report_text(const struct bench *bench)
{
	const struct bench_counts *stats = &bench->stats;
	uint64_t calls = bench->reads + bench->writes;

	printf("nfs3: driver %s, %u bytes, %s, %u %% reads, depth %u, %.2f s\n",
	       bench->options->profile.driver, bench->block_bytes,
	       bench->load->is_sequential ? "sequential" : "random", bench->load->read_percent,
	       bench->options->depth, bench->seconds);
	printf("  reads        %12.0f /s   writes %12.0f /s   %9.3f GB/s\n",
	       rate(bench, bench->reads), rate(bench, bench->writes),
	       rate(bench, calls) * bench->block_bytes / 1e9);
	bench_rtt_print(&bench->rtt);
	printf("  errors %llu, verify failures %llu%s, reconnections %u\n",
	       (unsigned long long)bench->errors, (unsigned long long)bench->verify_failures,
	       bench->load->verify ? "" : " (lengths only: --verify checks each byte)",
	       bench->session->reconnects);
	printf("  idle polls %.1f %%; since warm-up: %llu copies of bulk data, %llu allocations, "
	       "%llu registrations\n",
	       100 * bench_idle_ratio(stats), (unsigned long long)bench_count(stats, "bulk_copies"),
	       (unsigned long long)bench_count(stats, "allocations"),
	       (unsigned long long)bench_count(stats, "registrations"));
}

static int report_json(const struct bench *bench)
{
	json_t *root = json_object();
	uint64_t calls = bench->reads + bench->writes;

	json_object_set_new(root, "schema", json_integer(1));
	json_object_set_new(root, "driver", json_string(bench->options->profile.driver));
	json_object_set_new(root, "workload", json_string("nfs3"));
	json_object_set_new(root, "pattern",
			    json_string(bench->load->is_sequential ? "sequential" : "random"));
	json_object_set_new(root, "ratio", json_integer(bench->load->read_percent));
	json_object_set_new(root, "sync", json_boolean(bench->options->flags & FLAG_SYNC));
	json_object_set_new(root, "size", json_integer(bench->block_bytes));
	json_object_set_new(root, "file_bytes",
			    json_integer((json_int_t)(bench->nblocks * bench->block_bytes)));
	json_object_set_new(root, "depth", json_integer(bench->options->depth));
	json_object_set_new(root, "seconds", json_real(bench->seconds));
	json_object_set_new(root, "calls", json_integer((json_int_t)calls));
	json_object_set_new(root, "rpc_per_s", json_real(rate(bench, calls)));
	json_object_set_new(root, "reads_per_s", json_real(rate(bench, bench->reads)));
	json_object_set_new(root, "writes_per_s", json_real(rate(bench, bench->writes)));
	json_object_set_new(root, "bytes_per_s",
			    json_real(rate(bench, calls) * bench->block_bytes));
	json_object_set_new(root, "rtt_ns", bench_rtt_json(&bench->rtt));
	json_object_set_new(root, "errors", json_integer((json_int_t)bench->errors));
	json_object_set_new(root, "verify", json_boolean(bench->load->verify));
	json_object_set_new(root, "verify_failures",
			    json_integer((json_int_t)bench->verify_failures));
	json_object_set_new(root, "reconnections", json_integer(bench->session->reconnects));
	json_object_set_new(root, "idle_poll_ratio", json_real(bench_idle_ratio(&bench->stats)));
	json_object_set_new(root, "counters", bench_counts_json(&bench->stats, NULL));
	return bench_output_write_json(root, bench->load->json);
}

static int report(const struct bench *bench)
{
	if (!bench->load->json || strcmp(bench->load->json, "-") != 0)
		report_text(bench);
	if (bench->load->json && report_json(bench) != 0)
		return EXIT_LOCAL;
	if (bench->first_error != 0)
		return tree_report_error("bench", bench->load->file, bench->first_error);
	if (bench->verify_failures == 0)
		return EXIT_OK;
	fprintf(stderr, "weir-nfs: bench: %llu results were wrong\n",
		(unsigned long long)bench->verify_failures);
	return EXIT_NFS;
}

static int run(struct bench *bench)
{
	const char *file = bench->load->file;
	struct path path;
	struct node dir;
	int status = cmd_walk_parent(bench->session, "bench", file, &path, &dir), rc;

	if (status != EXIT_OK)
		return status;
	rc = ask_sizes(bench);
	if (rc != 0)
		return tree_report_error("bench", file, rc);
	rc = make_file(bench, &dir.fh, cmd_last_name(&path));
	if (rc == 0) {
		run_load(bench);
		status = report(bench);
	} else {
		status = tree_report_error("bench", file, rc);
	}
	if (!bench->load->keep && bench->session->error == 0) {
		rc = tree_remove(bench->session, &dir.fh, cmd_last_name(&path), false);
		if (rc != 0 && status == EXIT_OK)
			status = tree_report_error("rm", file, rc);
	}
	return status;
}

static int init(struct bench *bench, const struct nfs_options *options, struct session *session)
{
	bench->options = options;
	bench->session = session;
	bench->load = &options->bench;
	bench->block_bytes = options->block_bytes ? options->block_bytes : BLOCK_DEFAULT;
	bench->nblocks = bench->load->size_bytes / bench->block_bytes;
	bench->random = 0x9e3779b97f4a7c15u;
	histogram_init(&bench->rtt);
	bench->slots = calloc(options->depth, sizeof(bench->slots[0]));
	if (!bench->slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < options->depth; i++) {
		bench->slots[i].bench = bench;
		bench->slots[i].data = session->slots + (size_t)i * session->slot_bytes;
	}
	return 0;
}

int cmd_bench(const struct nfs_options *options)
{
	static struct bench bench;
	uint32_t block_bytes = options->block_bytes ? options->block_bytes : BLOCK_DEFAULT;
	struct session *session;
	int status;

	if (options->bench.size_bytes < block_bytes) {
		fprintf(stderr, "weir-nfs: --size is less than one block. See --help\n");
		return EXIT_USAGE;
	}
	status = cmd_open_transfer(options, block_bytes, &session);
	if (status != EXIT_OK)
		return status;
	status = init(&bench, options, session) == 0 ? run(&bench) : EXIT_LOCAL;
	free(bench.slots);
	return cmd_close(session, status);
}
