/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a profile for keys that exclude each other, and for values that the driver does not
 * support. Each function returns the key to change, after it has written the reason to 'why'. It
 * returns NULL if there is no conflict. */
#include <stdio.h>

#include "exposure.h"
#include "profile_keys.h"

/* Checks that there are enough receives: one per connection if receives are shared, otherwise
 * enough for one connection. */
static const struct profile_key *few_receives(const struct weir_profile *profile, char *why,
					      size_t why_bytes)
{
	uint32_t needed =
		engine_recvs(profile->credits) + engine_reply_recvs(profile, profile->credits);
	uint32_t capacity = engine_srq_capacity(profile->recv_buffers);

	if (profile->shared_receives == WEIR_SHARED_RECEIVES_ON) {
		if (capacity >= profile->connections)
			return NULL;
		snprintf(why, why_bytes,
			 "%u shared receives serve at most %u connections, and [limits] "
			 "connections is %u",
			 profile->recv_buffers, capacity, profile->connections);
	} else {
		if (engine_may_share(profile) || profile->recv_buffers >= needed)
			return NULL;
		snprintf(why, why_bytes,
			 "%u are too few for one connection of %u credits, which takes %u",
			 profile->recv_buffers, profile->credits, needed);
	}
	return profile_key_find("memory", "recv_buffers");
}

/*
 * Checks the profile against the limits of the driver. A member of 'attr' is 0 if its value is
 * known only for an open device.
 */
static const struct profile_key *over_driver(const struct weir_profile *profile,
					     const struct fabric_dev_attr *attr, const char *driver,
					     char *why, size_t why_bytes)
{
	uint32_t receive = profile->lead_bytes + profile->targets * profile->target_bytes;

	if (profile->shared_receives == WEIR_SHARED_RECEIVES_ON && attr->max_srq_wr != 0 &&
	    profile->recv_buffers > attr->max_srq_wr) {
		snprintf(why, why_bytes, "driver %s shares at most %u, and shared_receives is on",
			 driver, attr->max_srq_wr);
		return profile_key_find("memory", "recv_buffers");
	}
	if (engine_places(profile, attr) && attr->max_msg_bytes != 0 &&
	    receive > attr->max_msg_bytes) {
		snprintf(why, why_bytes,
			 "with lead_bytes and %u targets a message has %u bytes, and driver %s "
			 "takes %u at most",
			 profile->targets, receive, driver, attr->max_msg_bytes);
		return profile_key_find("connection", "target_bytes");
	}
	return NULL;
}

/* Checks for a key whose value needs code that is not in this build. */
static const struct profile_key *profile_not_built(const struct weir_profile *profile, char *why,
						   size_t why_bytes)
{
#ifdef WEIR_WITHOUT_VERSION2
	const char *name = profile->protocol != WEIR_PROTOCOL_V1      ? "protocol"
			   : profile->extension != WEIR_EXTENSION_OFF ? "extension"
								      : NULL;

	if (name) {
		snprintf(why, why_bytes,
			 "this needs version 2, which was left out by the build option "
			 "-Dversion2=false");
		return profile_key_find("connection", name);
	}
#else
	(void)profile;
	(void)why;
	(void)why_bytes;
#endif
	return NULL;
}

const struct profile_key *profile_conflict(const struct weir_profile *profile,
					   const struct fabric_ops *ops, char *why,
					   size_t why_bytes)
{
	const struct profile_key *key = profile_not_built(profile, why, why_bytes);
	struct fabric_dev_attr attr = {0};
	enum weir_exposure policy = profile->exposure;

	if (!key)
		key = few_receives(profile, why, why_bytes);
	if (key)
		return key;
	if (ops->attr_max) {
		attr = *ops->attr_max;
		/* All devices of a driver with attr_max are of one kind, so that the policy is
		 * known without a device. */
		policy = exposure_policy(profile, &attr);
	}
	if (profile->protection == WEIR_PROTECTION_CONNECTION && policy == WEIR_EXPOSURE_POOL &&
	    profile->shared_receives == WEIR_SHARED_RECEIVES_ON) {
		snprintf(why, why_bytes,
			 "'connection' requires policy = window if receives are shared, because "
			 "shared receives belong to one protection domain");
		return profile_key_find("exposure", "protection");
	}
	return over_driver(profile, &attr, ops->name, why, why_bytes);
}
