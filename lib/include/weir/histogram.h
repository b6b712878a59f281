/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_HISTOGRAM_H
#define WEIR_HISTOGRAM_H

/*
 * Histograms of 64-bit values, such as the times of weir/latency.h.
 *
 * A histogram counts how many values belong to each of its buckets. The smallest buckets contain
 * one value each. All other buckets are at most 1/64 (1.6 %) as wide as the smallest value in them,
 * and no value is too large. Number, sum, minimum and maximum are exact. A quantile differs from
 * the exact one by at most 1/128 (0.8 %).
 *
 * All histograms have the same buckets, and therefore the same size, about 30 KiB. Any two of them
 * can be merged, and the result is that of adding all values to one histogram.
 *
 * The histograms of an engine change while the engine is polled. Only the thread that owns the
 * engine may read them. A histogram that weir_histogram_create() made belongs to the application,
 * which uses it in one thread at a time.
 */

#include <weir/common.h>

WEIR_BEGIN_DECLS

struct weir_histogram;

/** A bucket of a histogram. */
struct weir_histogram_bucket {
	size_t struct_bytes; /**< set by the application; see weir/common.h */
	uint64_t low;	     /**< the smallest value that belongs to the bucket */
	uint64_t high;	     /**< the largest value that belongs to the bucket */
	uint64_t count;	     /**< number of values in the bucket */
};

/**
 * Creates a histogram without values. Thread: any.
 *
 * @return the histogram, which weir_histogram_destroy() frees; NULL if there is no memory
 */
WEIR_API struct weir_histogram *weir_histogram_create(void);

/**
 * Frees a histogram that weir_histogram_create() made. Thread: that of the histogram.
 *
 * @param histogram the histogram, or NULL
 */
WEIR_API void weir_histogram_destroy(struct weir_histogram *histogram);

/**
 * Adds a value to a histogram that weir_histogram_create() made. Thread: that of the histogram.
 *
 * @param histogram the histogram
 * @param value the value, in the unit of the histogram
 */
WEIR_API void weir_histogram_add(struct weir_histogram *histogram, uint64_t value);

/**
 * Adds the values of one histogram to another one, for example to a sum over several engines.
 * Thread: that of both histograms.
 *
 * @param into a histogram that weir_histogram_create() made
 * @param from any histogram, which does not change
 */
WEIR_API void weir_histogram_merge(struct weir_histogram *into, const struct weir_histogram *from);

/**
 * Returns the number of values. Thread: that of the histogram.
 *
 * @param histogram the histogram
 * @return the number
 */
WEIR_API uint64_t weir_histogram_count(const struct weir_histogram *histogram);

/**
 * Returns the sum of all values. Thread: that of the histogram.
 *
 * @param histogram the histogram
 * @return the sum, modulo 2^64
 */
WEIR_API uint64_t weir_histogram_sum(const struct weir_histogram *histogram);

/**
 * Returns the smallest value. Thread: that of the histogram.
 *
 * @param histogram the histogram
 * @return the value; 0 if there are no values
 */
WEIR_API uint64_t weir_histogram_min(const struct weir_histogram *histogram);

/**
 * Returns the largest value. Thread: that of the histogram.
 *
 * @param histogram the histogram
 * @return the value; 0 if there are no values
 */
WEIR_API uint64_t weir_histogram_max(const struct weir_histogram *histogram);

/**
 * Returns the value that a part of the values do not exceed, such as the median for 0.5 and the
 * 99th percentile for 0.99. It is the middle of a bucket, limited to the minimum and the maximum.
 * Thread: that of the histogram.
 *
 * @param histogram the histogram
 * @param fraction the part, from 0 to 1; other numbers count as the nearer one of these
 * @return the value; 0 if there are no values
 */
WEIR_API uint64_t weir_histogram_quantile(const struct weir_histogram *histogram, double fraction);

/**
 * Returns the number of buckets, which is the same for all histograms. Thread: any.
 *
 * @return the number, which does not change while the process runs
 */
WEIR_API uint32_t weir_histogram_buckets(void);

/**
 * Finds the next bucket that has values. A loop that begins with 0, and goes on with the index
 * after the result, visits all buckets that have values, from small values to large ones. Thread:
 * that of the histogram.
 *
 * @param histogram the histogram
 * @param index the index at which the search begins
 * @return the index of the bucket; weir_histogram_buckets() if there is none
 */
WEIR_API uint32_t weir_histogram_next(const struct weir_histogram *histogram, uint32_t index);

/**
 * Describes a bucket. Thread: that of the histogram.
 *
 * @param histogram the histogram
 * @param index from 0 to weir_histogram_buckets() - 1
 * @param[out] bucket set its struct_bytes first; see weir/common.h
 * @retval 0 success
 * @retval -ENOENT there is no such bucket; the structure is not changed
 */
WEIR_API int weir_histogram_bucket(const struct weir_histogram *histogram, uint32_t index,
				   struct weir_histogram_bucket *bucket);

WEIR_END_DECLS

#endif
