/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_ENGINE_H
#define WEIR_ENGINE_H

#include <weir/common.h>
#include <weir/memory.h>
#include <weir/profile.h>

WEIR_BEGIN_DECLS

struct weir_engine;

WEIR_API int weir_engine_create(const struct weir_profile *profile, struct weir_engine **engine);

WEIR_API void weir_engine_destroy(struct weir_engine *engine);

WEIR_API uint32_t weir_engine_poll(struct weir_engine *engine, uint32_t budget, uint64_t now_ns);

WEIR_API void weir_engine_disown(struct weir_engine *engine);

WEIR_API uint64_t weir_engine_now(const struct weir_engine *engine);

WEIR_API int weir_engine_post(struct weir_engine *engine, void (*fn)(struct weir_engine *, void *),
			      void *arg);

WEIR_API int weir_engine_fd(struct weir_engine *engine);

WEIR_API int weir_engine_arm(struct weir_engine *engine, uint64_t now_ns, uint64_t *timeout_ns);

WEIR_API void weir_engine_disarm(struct weir_engine *engine);

WEIR_API void weir_engine_idle(struct weir_engine *engine, uint32_t work, uint64_t now_ns);

WEIR_API int weir_engine_add_region(struct weir_engine *engine, struct weir_region *region);

WEIR_API void weir_engine_remove_region(struct weir_engine *engine, struct weir_region *region);

WEIR_API enum weir_exposure weir_engine_exposure(const struct weir_engine *engine);

WEIR_END_DECLS

#endif
