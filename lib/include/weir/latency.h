/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_LATENCY_H
#define WEIR_LATENCY_H

/*
 * The times that calls and requests take, as histograms (weir/histogram.h) of ns. The profile's
 * 'latency' says what an engine measures:
 *
 * - off: nothing.
 * - calls: one histogram per procedure. At the requester, it has the times from the submission of a
 *   call to 'done', for calls that ended with status 0 and were not cancelled. At the responder, it
 *   has the times from the arrival of a request until its reply was posted.
 * - stages: in addition, the time that each of these calls and requests spent in each of its stages
 *   (enum weir_stage). Calls and requests then take a general code path, which is slower.
 *
 * An engine that measures reads a clock when a time begins and when it ends: at the submission of a
 * call and before 'done', when the engine finds the message of a request, and when its reply was
 * posted. If it measures stages, it also reads the clock at each change of the stage. Therefore the
 * time of a request includes that of its handler, also if the handler replies at once. An engine
 * finds a message only when it is polled, so that times do not include the wait of a message for
 * the poll. weir_engine_set_clock() sets another clock. An engine that measures nothing reads no
 * clock.
 *
 * The memory of all histograms is reserved when the engine is created. A side of an engine has at
 * most WEIR_LATENCY_PROCEDURES histograms. A responder gets them for the procedures of its
 * listener's programs, in the order of their first connections, and never for part of a program. A
 * requester gets them for the procedures that the application calls, in the order of the first
 * calls. Further procedures are not measured, and the log says so once. No peer can add a
 * histogram.
 *
 * All functions of this header that get an engine: the thread that owns it. Another thread can have
 * them called by a function that it passes to weir_engine_post(). The histograms belong to the
 * engine, and are valid until it is destroyed.
 */

#include <weir/common.h>
#include <weir/histogram.h>

WEIR_BEGIN_DECLS

struct weir_engine;

/** The maximum number of procedures that an engine measures on each side. */
#define WEIR_LATENCY_PROCEDURES 128u

/**
 * The stages of a call or request. Each measured call or request adds a time to the histogram of
 * each stage of its side. The time is short if the stage did not apply. The times in QUEUED, CREDIT
 * and SENT together are that of the call. The times in PULLED, HANDLED and PUSHED together are that
 * of the request. A later version can add stages.
 */
enum weir_stage {
	/** Requester: submitted, and waits for a buffer, the send queue or the connection. */
	WEIR_STAGE_QUEUED = 0,
	WEIR_STAGE_SENT = 1, /**< requester: sent, until 'done' */
	/** Responder: arrived; its further transmissions and its chunks are being read. */
	WEIR_STAGE_PULLED = 2,
	WEIR_STAGE_HANDLED = 3, /**< responder: the program has it, until it replies */
	/** Responder: the reply waits for a buffer or for room in the send queue. */
	WEIR_STAGE_PUSHED = 4,
	/** Responder: the Writes and the Send of the reply are posted, until they are complete. */
	WEIR_STAGE_REPLIED = 5,
	/**
	 * Requester: submitted, and the connection has too few credits (RFC 8166 section 3.3) for
	 * the first call of its queue. Between QUEUED and SENT.
	 */
	WEIR_STAGE_CREDIT = 6,
};

/** The times of a procedure. */
struct weir_procedure_latency {
	size_t struct_bytes; /**< set by the application; see weir_engine_procedures() */
	enum weir_side side; /**< requester: calls of this engine; responder: requests */
	uint32_t prog;	     /**< the number of the program */
	uint32_t vers_low;   /**< the version; at a responder, the lowest one of the program */
	uint32_t vers_high;  /**< the version; at a responder, the highest one of the program */
	uint32_t proc;	     /**< the number of the procedure */
	const struct weir_histogram *histogram; /**< the times, in ns */
};

/**
 * Lists the procedures that an engine measures: those of the requester, and then those of the
 * responder, each side in the order in which they got their histograms. A procedure keeps its
 * histogram. The array has elements of one size: the application sets struct_bytes of the first
 * element (weir/common.h), and weir sets that of the others.
 *
 * @param engine the engine
 * @param[in,out] infos the array; NULL if n is 0
 * @param n number of elements of the array
 * @return the number of procedures, which can be more than n; 0, with errno ECHILD, in a child of
 * fork(2)
 */
WEIR_API uint32_t weir_engine_procedures(const struct weir_engine *engine,
					 struct weir_procedure_latency *infos, uint32_t n);

/**
 * Returns the times that calls or requests of a procedure spent in a stage.
 *
 * @param engine the engine
 * @param procedure an element that weir_engine_procedures() filled in for this engine
 * @param stage a stage of the side of the procedure
 * @return the histogram, in ns; NULL if the profile's 'latency' is not 'stages', the procedure has
 * no such stage, or in a child of fork(2), with errno ECHILD
 */
WEIR_API const struct weir_histogram *
weir_engine_stage(const struct weir_engine *engine, const struct weir_procedure_latency *procedure,
		  enum weir_stage stage);

/**
 * Sets the clock with which an engine measures the times of this header.
 *
 * The default clock is the time stamp counter of the processor. If the counter has no constant
 * rate, the default is CLOCK_MONOTONIC. An application that passes other times to
 * weir_engine_poll(), for example those of a simulation, can set their clock, so that the results
 * do not depend on real time.
 *
 * The function is called by the thread that owns the engine, inside functions of weir. It must not
 * call functions on the engine.
 *
 * @param engine the engine
 * @param clock returns the time in ns, which never goes back; NULL: each event has the now_ns of
 * the latest weir_engine_poll()
 * @param arg passed to clock
 * @retval 0 success; if the profile's 'latency' is 'off', the clock is never called
 * @retval -EBUSY the engine was polled before
 * @retval -ECHILD the process is a child of fork(2)
 */
WEIR_API int weir_engine_set_clock(struct weir_engine *engine, uint64_t (*clock)(void *arg),
				   void *arg);

/**
 * Returns the name of a stage. Thread: any.
 *
 * @param stage the stage
 * @return a constant such as "queued"; "unknown" for other values
 */
WEIR_API const char *weir_stage_name(enum weir_stage stage);

WEIR_END_DECLS

#endif
