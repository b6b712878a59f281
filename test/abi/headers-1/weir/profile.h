/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEIR_PROFILE_H
#define WEIR_PROFILE_H

#include <weir/common.h>
#include <weir/memory.h>

WEIR_BEGIN_DECLS

enum weir_idle {
	WEIR_IDLE_AUTO,
	WEIR_IDLE_SPIN,
	WEIR_IDLE_YIELD,

	WEIR_IDLE_ADAPTIVE,
	WEIR_IDLE_EVENT,
};

enum weir_latency {
	WEIR_LATENCY_OFF,
	WEIR_LATENCY_CALLS,
};

enum weir_exposure {
	WEIR_EXPOSURE_AUTO,

	WEIR_EXPOSURE_WINDOW,

	WEIR_EXPOSURE_POOL,
};

enum weir_protection {
	WEIR_PROTECTION_SHARED,

	WEIR_PROTECTION_CONNECTION,
};

enum weir_reconnect {
	WEIR_RECONNECT_DEFAULT,
	WEIR_RECONNECT_OFF,
	WEIR_RECONNECT_ON,
};

enum weir_protocol {
	WEIR_PROTOCOL_V1,

	WEIR_PROTOCOL_V2,

	WEIR_PROTOCOL_AUTO,
};

enum weir_shared_receives {
	WEIR_SHARED_RECEIVES_OFF,

	WEIR_SHARED_RECEIVES_ON,

	WEIR_SHARED_RECEIVES_AUTO,
};

enum weir_extension {
	WEIR_EXTENSION_OFF = 0,

	WEIR_EXTENSION_CONTINUATION = 1,

	WEIR_EXTENSION_DIRECTION = 2,

	WEIR_EXTENSION_PLACEMENT = 4,
	WEIR_EXTENSION_ALL = 7,
};
WEIR_FLAG_ENUM(weir_extension)

struct weir_profile {
	size_t struct_bytes;

	char lcores[128];
	enum weir_idle idle;
	char driver[32];
	char driver_options[256];
	uint32_t poll_budget;
	uint32_t stuck_call_ms;
	enum weir_latency latency;

	uint64_t page_bytes;
	uint32_t send_buffers;
	uint32_t recv_buffers;
	uint32_t long_buffers;
	uint64_t long_buffer_bytes;
	uint32_t bulk_buffers;
	uint64_t bulk_buffer_bytes;

	enum weir_protocol protocol;
	enum weir_extension extension;
	uint32_t transmissions;

	uint32_t lead_bytes;
	uint32_t targets;

	uint32_t target_bytes;

	uint32_t credits;
	enum weir_shared_receives shared_receives;

	uint32_t inline_bytes;

	uint32_t chunk_bytes;
	uint32_t call_timeout_ms;
	uint32_t connect_timeout_ms;
	enum weir_reconnect reconnect;
	uint32_t reconnect_delay_ms;
	uint32_t reconnect_delay_max_ms;
	uint32_t reconnect_give_up_ms;
	uint32_t resends;

	uint32_t round_trip_ns;
	uint32_t operation_ns;
	uint32_t message_ns;
	uint32_t copy_ns;

	uint32_t connections;
	uint32_t connections_peer;

	uint32_t waiting_requests;
	uint64_t map_bytes_peer;
	uint32_t mappings_peer;

	uint64_t pull_bytes_connection;
	uint64_t pull_bytes;

	uint32_t first_call_timeout_ms;
	uint32_t idle_timeout_ms;

	uint32_t pull_timeout_ms;
	uint32_t close_timeout_ms;
	uint32_t send_timeout_ms;
	uint32_t group_timeout_ms;

	uint32_t read_segments;
	uint32_t read_chunks;
	uint32_t write_chunks;
	uint32_t segments_per_chunk;
	uint64_t read_bytes;
	uint64_t write_bytes;

	uint32_t replay_entries;
	uint64_t replay_bytes;

	enum weir_exposure exposure;
	enum weir_protection protection;
	uint32_t remote_invalidation;
	uint32_t windows;
};

WEIR_API int weir_profile_init(struct weir_profile *profile, size_t struct_bytes);

static inline void weir_profile_defaults(struct weir_profile *profile)
{
	(void)weir_profile_init(profile, sizeof(*profile));
}

WEIR_API int weir_profile_load(const char *path, struct weir_profile *profile, char *err,
			       size_t err_bytes);

WEIR_API int weir_profile_check(const struct weir_profile *profile, char *err, size_t err_bytes);

WEIR_API int weir_profile_lcores(const char *list, uint32_t *cpus, uint32_t max);

WEIR_API int weir_profile_lcores_check(const char *list, char *err, size_t err_bytes);

WEIR_API int weir_profile_key_help(uint32_t index, char *line, size_t line_bytes);

WEIR_END_DECLS

#endif
