/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_METRICS_H
#define WEIR_METRICS_H

/*
 * Counters. Each engine counts what it does. The counters form a table, which is the same for all
 * engines of a process. A program that walks through the table reports all counters of the library
 * that it runs with, including those that a later version adds.
 *
 * The name and the meaning of a counter do not change in later versions. Its index can change: a
 * program that wants one counter finds the index by the name at its start.
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

struct weir_engine;

/** Kinds of values. */
enum weir_counter_kind {
	WEIR_COUNTER = 0, /**< begins with 0 when the engine is created, and never decreases */
	WEIR_GAUGE = 1,	  /**< the state at present, which can grow and shrink */
};

/** Groups of counters. A later version can add groups. */
enum weir_counter_group {
	WEIR_GROUP_POLLS = 0,	     /**< polls */
	WEIR_GROUP_MESSAGES = 1,     /**< calls, requests and replies */
	WEIR_GROUP_LIMITS = 2,	     /**< buffers, quotas and limits */
	WEIR_GROUP_EXPOSURE = 3,     /**< exposure policy 'window' */
	WEIR_GROUP_CONNECTIONS = 4,  /**< connections */
	WEIR_GROUP_EXTENSION = 5,    /**< the extension of version 2 */
	WEIR_GROUP_RECONNECTION = 6, /**< reconnection */
	WEIR_GROUP_WORK = 7,	     /**< the work of weir and of its driver */
	WEIR_GROUP_STATE = 8,	     /**< the state at present */
};

/** The description of a counter. The strings are constants. */
struct weir_counter_info {
	size_t struct_bytes;	       /**< set by the application; see weir/common.h */
	const char *name;	       /**< lower-case letters, digits and underscores */
	const char *unit;	       /**< what is counted, such as "calls" */
	const char *help;	       /**< one paragraph without quotation marks and backslashes */
	enum weir_counter_kind kind;   /**< whether the value can shrink */
	enum weir_counter_group group; /**< the group */
};

/**
 * Returns the number of counters. Thread: any.
 *
 * @return the number, which does not change while the process runs
 */
WEIR_API uint32_t weir_counters(void);

/**
 * Describes a counter. Thread: any.
 *
 * @param index from 0 to weir_counters() - 1
 * @param[out] info set its struct_bytes first; see weir/common.h
 * @retval 0 success
 * @retval -ENOENT there is no such counter; info is not changed
 */
WEIR_API int weir_counter_info(uint32_t index, struct weir_counter_info *info);

/**
 * Finds a counter by its name. Thread: any.
 *
 * @param name the name
 * @return the index, or -ENOENT if there is no counter with this name
 */
WEIR_API int weir_counter_find(const char *name);

/**
 * Returns the name of a group, for reports. Thread: any.
 *
 * @param group the group
 * @return a constant such as "messages"; "unknown" for other values
 */
WEIR_API const char *weir_counter_group_name(enum weir_counter_group group);

/**
 * Returns the value of one counter. Use weir_engine_counters() to read several of them. Thread: the
 * owner.
 *
 * @param engine the engine
 * @param index from 0 to weir_counters() - 1
 * @return the value; 0 if there is no such counter
 */
WEIR_API uint64_t weir_engine_counter(const struct weir_engine *engine, uint32_t index);

/**
 * Copies the values of all counters, in the order of their indexes. Thread: the owner. Another
 * thread can have them copied by a function that it passes to weir_engine_post().
 *
 * @param engine the engine
 * @param[out] values receives the values. Values after those of the last counter become 0
 * @param n the length of 'values', in values; normally weir_counters()
 * @return the number of counters that were copied, at most n
 */
WEIR_API uint32_t weir_engine_counters(const struct weir_engine *engine, uint64_t *values,
				       uint32_t n);

WEIR_END_DECLS

#endif
