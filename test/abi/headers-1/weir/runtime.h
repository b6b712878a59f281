/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_RUNTIME_H
#define WEIR_RUNTIME_H

#include <weir/engine.h>
#include <weir/request.h>

WEIR_BEGIN_DECLS

struct weir_runtime;

#define WEIR_RUNTIME_THREADS_MAX 64u

struct weir_runtime_options {
	size_t struct_bytes;
	const char *name;
	uint32_t nthreads;

	int (*init)(struct weir_runtime *runtime, uint32_t thread, void *arg);

	uint32_t (*poll)(struct weir_runtime *runtime, uint32_t thread, uint64_t now_ns, void *arg);

	void (*run)(struct weir_runtime *runtime, uint32_t thread, void *arg);

	bool (*is_busy)(struct weir_runtime *runtime, uint32_t thread, void *arg);

	void (*fini)(struct weir_runtime *runtime, uint32_t thread, void *arg);
	void *arg;
	char *err;
	size_t err_bytes;
};

struct weir_runtime_mail {
	void (*fn)(struct weir_engine *engine, void *arg);
	void *arg;

	void (*posted)(struct weir_runtime_mail *mail);
	struct weir_engine *to;
	struct weir_runtime_mail *next;
};

WEIR_API int weir_runtime_create(const struct weir_profile *profile,
				 const struct weir_runtime_options *options,
				 struct weir_runtime **runtime);

WEIR_API void weir_runtime_destroy(struct weir_runtime *runtime);

WEIR_API uint32_t weir_runtime_threads(const struct weir_runtime *runtime);

WEIR_API struct weir_engine *weir_runtime_engine(const struct weir_runtime *runtime,
						 uint32_t thread);

WEIR_API int weir_runtime_cpu(const struct weir_runtime *runtime, uint32_t thread);

WEIR_API int weir_runtime_find(const struct weir_runtime *runtime,
			       const struct weir_engine *engine);

WEIR_API int weir_runtime_listen(struct weir_runtime *runtime, const char *addr,
				 const struct weir_listen_options *options);

WEIR_API int weir_runtime_start(struct weir_runtime *runtime);

WEIR_API void weir_runtime_wait(struct weir_runtime *runtime);

WEIR_API void weir_runtime_quit(struct weir_runtime *runtime);

WEIR_API bool weir_runtime_is_stopping(const struct weir_runtime *runtime);

WEIR_API int weir_runtime_stop(struct weir_runtime *runtime, uint32_t drain_ms);

WEIR_API uint32_t weir_runtime_poll(struct weir_runtime *runtime);

WEIR_API void weir_runtime_send(struct weir_runtime *runtime, uint32_t from, uint32_t to,
				struct weir_runtime_mail *mail);

WEIR_API int weir_runtime_watch(struct weir_runtime *runtime, uint32_t thread, int fd);

WEIR_API int weir_runtime_keep_off(void);

WEIR_END_DECLS

#endif
