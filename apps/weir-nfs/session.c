/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends the ops of a session, waits for their answers, and retransmits them. See session.h. */
#include "session.h"

#include <weir/binding_nfs.h>

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * Pauses before an op is sent again after the answer NFS3ERR_JUKEBOX. Each pause is twice as long
 * as the preceding one, up to PAUSE_LAST_NS. After DELAYS_MAX such answers, the next one is the
 * op's result. The sum of the pauses is about a minute.
 */
#define PAUSE_FIRST_NS 50000000ull
#define PAUSE_LAST_NS  5000000000ull
#define DELAYS_MAX     16u

#define POLLS_BEFORE_YIELD 64u
#define POLLS_BEFORE_SLEEP 20000u
#define SLEEP_US	   100u

volatile sig_atomic_t session_interrupted;

static void pump(struct session *session);

void session_message(const struct nfs_options *options, const char *format, ...)
{
	char line[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (options->message)
		options->message(options->message_arg, line);
	else
		fprintf(stderr, "weir-nfs: %s\n", line);
}

static uint64_t pause_ns(uint32_t attempt)
{
	uint64_t pause = PAUSE_FIRST_NS << (attempt < 16 ? attempt : 16);

	return pause < PAUSE_LAST_NS ? pause : PAUSE_LAST_NS;
}

static void session_finish(struct op *op, int error)
{
	op->error = error;
	op->done(op);
}

/* Inserts an op into the wait queue, which is in the order of submission. */
static void wait_again(struct op *op)
{
	struct op_queue *queue = &op->session->waiting;
	struct op *last = TAILQ_LAST(queue, op_queue);

	while (last && last->number > op->number)
		last = TAILQ_PREV(last, op_queue, waiting);
	if (last)
		TAILQ_INSERT_AFTER(queue, last, op, waiting);
	else
		TAILQ_INSERT_HEAD(queue, op, waiting);
}

void session_fail(struct session *session, int error)
{
	struct op *op;

	if (session->error == 0)
		session->error = error;
	while ((op = TAILQ_FIRST(&session->waiting))) {
		TAILQ_REMOVE(&session->waiting, op, waiting);
		session_finish(op, session->error);
	}
	if (session->conn)
		weir_conn_close(session->conn);
}

/*
 * Returns the error for an answer in which the server's RPC layer reports that it did not carry out
 * the call, or 0 if it did.
 */
static int rpc_error(const struct weir_rpc_reply_header *reply)
{
	if (reply->reply_stat != WEIR_RPC_MSG_ACCEPTED)
		return reply->reject_stat == WEIR_RPC_AUTH_ERROR ? -EACCES : -EPROTONOSUPPORT;
	switch (reply->accept_stat) {
	case WEIR_RPC_SUCCESS:
		return 0;
	case WEIR_RPC_PROC_UNAVAIL:
		return -EOPNOTSUPP;
	case WEIR_RPC_PROG_UNAVAIL:
	case WEIR_RPC_PROG_MISMATCH:
		return -EPROTONOSUPPORT;
	case WEIR_RPC_GARBAGE_ARGS:
		return -EINVAL;
	default:
		return -EREMOTEIO;
	}
}

static void on_answer(struct op *op, const struct weir_call *call, const struct weir_result *result)
{
	struct session *session = op->session;
	int error = rpc_error(result->reply);

	if (error == 0)
		error = op_get_results(op, call, result);
	if (error == 0 && op->res.status == NFS3ERR_JUKEBOX && op->delays < DELAYS_MAX &&
	    session->error == 0) {
		op->not_before_ns = session->now_ns + pause_ns(op->delays++);
		wait_again(op);
		return;
	}
	if (error == 0 && weir_call_retransmits(call) > 0 && op_is_own_echo(op)) {
		op->is_echo = true;
		op->res.status = NFS3_OK;
	}
	session_finish(op, error);
}

/*
 * Returns the error of a failed call. The answer ERR_VERS (RFC 8166 section 4.5.1) has its own
 * error code, -EPFNOSUPPORT, because the user can choose another version.
 */
static int transport_error(const struct weir_result *result)
{
	return result->status == -EREMOTEIO && result->rdma_err == 1 ? -EPFNOSUPPORT
								     : result->status;
}

static int why_lost(const struct session *session, int error)
{
	return session->is_impatient ? -ETIMEDOUT : error;
}

static void on_done(struct weir_call *call, const struct weir_result *result, void *arg)
{
	struct op *op = arg;
	struct session *session = op->session;

	session->in_flight--;
	TAILQ_REMOVE(&session->flying, op, waiting);
	if (result->status == 0)
		on_answer(op, call, result);
	else if (session->error != 0)
		session_finish(op, session->error);
	else
		session_finish(op, result->status == -ENOTRECOVERABLE
					   ? why_lost(session, session->lost)
					   : transport_error(result));
	if (!TAILQ_EMPTY(&session->waiting))
		pump(session);
}

/* Sends an op. Returns 0, -EAGAIN if the op must wait, or another error if it cannot be sent. */
static int start(struct op *op)
{
	struct session *session = op->session;
	const struct weir_call_params params = {
		.struct_bytes = sizeof(params),
		.prog = NFS3_PROGRAM,
		.vers = NFS3_V3,
		.proc = op->proc,
		.results_max_bytes =
			weir_ulb_nfs_results_max(NFS3_V3, op->proc, op_reply_count(op)),
		.timeout_ns = UINT64_MAX, /* check_patience() limits the time instead */
		.cred = &session->cred,
		.ulb = weir_ulb_nfs(NFS3_V3),
		.done = on_done,
		.arg = op,
	};
	struct weir_call *call = weir_call_begin(session->conn, &params);
	int rc;

	if (!call)
		return errno == EAGAIN || errno == ENOBUFS || errno == ENOTCONN ? -EAGAIN : -errno;
	rc = op_put_args(op, call, op->region ? op->region : session->region);
	if (rc == 0)
		rc = weir_call_submit(call);
	if (rc != 0) {
		weir_call_abandon(call);
		/*
		 * A buffer becomes free when another call ends. If no call is in flight, no buffer
		 * will become free, so waiting would never end.
		 */
		return rc == -ENOBUFS && session->in_flight > 0 ? -EAGAIN : rc;
	}
	op->sent_ns = session->now_ns;
	TAILQ_INSERT_TAIL(&session->flying, op, waiting);
	session->in_flight++;
	return 0;
}

/*
 * Sends the waiting ops in order of submission, except those whose pause has not ended, until an op
 * cannot be sent yet.
 */
static void pump(struct session *session)
{
	struct op *op, *next;

	for (op = TAILQ_FIRST(&session->waiting); op && session->is_up; op = next) {
		int rc;

		next = TAILQ_NEXT(op, waiting);
		if (op->not_before_ns > session->now_ns)
			continue;
		TAILQ_REMOVE(&session->waiting, op, waiting);
		rc = start(op);
		if (rc == -EAGAIN) {
			wait_again(op);
			break;
		}
		if (rc != 0) {
			session_finish(op, rc);
			next = TAILQ_FIRST(
				&session->waiting); /* 'done' might have changed the queue */
		}
	}
}

void session_submit(struct session *session, struct op *op)
{
	int rc = session->error;

	op->session = session;
	op->is_echo = false;
	op->delays = 0;
	op->not_before_ns = 0;
	op->number = session->nsubmitted++;
	if (rc == 0)
		rc = session->is_up && TAILQ_EMPTY(&session->waiting) ? start(op) : -EAGAIN;
	if (rc == -EAGAIN)
		wait_again(op);
	else if (rc != 0)
		session_finish(op, rc);
}

static void on_call_done(struct op *op)
{
	*(bool *)op->arg = true;
}

int session_call(struct session *session, struct op *op)
{
	bool is_done = false;

	op->done = on_call_done;
	op->arg = &is_done;
	session_submit(session, op);
	while (!is_done)
		session_poll(session);
	return op_result(op);
}

/* Restarts the time limits for the answers to the ops in flight, after a connect or reconnect. */
static void restart_patience(struct session *session)
{
	struct op *op;

	TAILQ_FOREACH(op, &session->flying, waiting) op->sent_ns = session->now_ns;
}

static void on_open(struct session *session)
{
	session->reconnects += session->lost != 0;
	session->is_up = true;
	restart_patience(session);
}

static void on_lost(struct session *session, int error)
{
	session->lost = why_lost(session, error);
	session->is_impatient = false;
	if (session->options->retries > 0 && !session->options->quiet)
		session_message(session->options, "the connection was lost (%s): reconnecting",
				strerror(-session->lost));
}

static void on_event(struct weir_conn *conn, enum weir_conn_event event, int error, void *arg)
{
	struct session *session = arg;

	(void)conn;
	if (event == WEIR_CONN_OPEN) {
		on_open(session);
	} else if (event == WEIR_CONN_LOST) {
		on_lost(session, error);
	} else {
		session->conn = NULL;
		session->is_up = false;
		if (!session->is_closing && session->error == 0)
			session->error = error ? error : -ECONNRESET;
	}
}

int session_connect(struct session *session)
{
	const struct weir_connect_options options = {
		.struct_bytes = sizeof(options),
		.on_event = on_event,
		.arg = session,
		.credits = session->options->profile.credits,
		.reconnect = WEIR_RECONNECT_ON,
	};
	uint32_t timeout_ms = session->options->profile.call_timeout_ms;

	session->patience_ns = timeout_ms ? timeout_ms * 1000000ull : UINT64_MAX;
	return weir_connect(session->engine, session->addr, &options, &session->conn);
}

/*
 * Resets the connection if a call has had no answer for too long. A call can be retransmitted only
 * on another connection, see session.h.
 */
static void check_patience(struct session *session)
{
	const struct op *first = TAILQ_FIRST(&session->flying);

	if (!first || session->now_ns - first->sent_ns < session->patience_ns ||
	    !weir_conn_is_open(session->conn))
		return;
	session->is_impatient = true;
	weir_conn_reset(session->conn);
}

static void idle(struct session *session, uint32_t work)
{
	enum weir_idle how = session->options->profile.idle;

	if (work > 0) {
		session->empty_polls = 0;
		return;
	}
	session->empty_polls++;
	if (how == WEIR_IDLE_SPIN || session->empty_polls % POLLS_BEFORE_YIELD != 0)
		return;
	if (how == WEIR_IDLE_ADAPTIVE || how == WEIR_IDLE_EVENT ||
	    (how == WEIR_IDLE_AUTO && session->empty_polls > POLLS_BEFORE_SLEEP))
		usleep(SLEEP_US);
	else
		sched_yield();
}

void session_poll(struct session *session)
{
	uint32_t work;

	session->now_ns = bench_clock_ns(&session->clock);
	work = weir_engine_poll(session->engine, 0, session->now_ns);
	if (session_interrupted && session->error == 0)
		session_fail(session, -EINTR);
	if (session->error != 0)
		session_fail(session, session->error);
	else if (session->is_up && !TAILQ_EMPTY(&session->waiting))
		pump(session);
	if (session->conn)
		check_patience(session);
	idle(session, work);
}
