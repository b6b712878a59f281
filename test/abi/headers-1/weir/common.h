/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_COMMON_H
#define WEIR_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define WEIR_BEGIN_DECLS extern "C" {
#define WEIR_END_DECLS	 }
#else
#define WEIR_BEGIN_DECLS
#define WEIR_END_DECLS
#endif

enum weir_side {
	WEIR_REQUESTER = 0,
	WEIR_RESPONDER = 1,
};

#ifndef __cplusplus
#define WEIR_FLAG_ENUM(type)
#else
#define WEIR_FLAG_ENUM(type)                                                                       \
	extern "C++" {                                                                             \
	WEIR_FLAG_OPERATOR(type, |)                                                                \
	WEIR_FLAG_OPERATOR(type, &)                                                                \
	WEIR_FLAG_OPERATOR(type, ^)                                                                \
	}

#define WEIR_FLAG_OPERATOR(type, op)                                                               \
	constexpr type operator op(type a, type b)                                                 \
	{                                                                                          \
		return static_cast<type>(static_cast<unsigned>(a) op static_cast<unsigned>(b));    \
	}                                                                                          \
	inline type &operator op##=(type &a, type b)                                               \
	{                                                                                          \
		return a = a op b;                                                                 \
	}
#endif

#endif
