/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_HISTOGRAM_H
#define WEIR_HISTOGRAM_H

#include <weir/common.h>

WEIR_BEGIN_DECLS

struct weir_histogram;

struct weir_histogram_bucket {
	size_t struct_bytes;
	uint64_t low;
	uint64_t high;
	uint64_t count;
};

WEIR_API struct weir_histogram *weir_histogram_create(void);

WEIR_API void weir_histogram_destroy(struct weir_histogram *histogram);

WEIR_API void weir_histogram_add(struct weir_histogram *histogram, uint64_t value);

WEIR_API void weir_histogram_merge(struct weir_histogram *into, const struct weir_histogram *from);

WEIR_API uint64_t weir_histogram_count(const struct weir_histogram *histogram);

WEIR_API uint64_t weir_histogram_sum(const struct weir_histogram *histogram);

WEIR_API uint64_t weir_histogram_min(const struct weir_histogram *histogram);

WEIR_API uint64_t weir_histogram_max(const struct weir_histogram *histogram);

WEIR_API uint64_t weir_histogram_quantile(const struct weir_histogram *histogram, double fraction);

WEIR_API uint32_t weir_histogram_buckets(void);

WEIR_API uint32_t weir_histogram_next(const struct weir_histogram *histogram, uint32_t index);

WEIR_API int weir_histogram_bucket(const struct weir_histogram *histogram, uint32_t index,
				   struct weir_histogram_bucket *bucket);

WEIR_END_DECLS

#endif
