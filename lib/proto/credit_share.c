/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides the credits of a shared receive queue among connections. credit_share.h describes the
 * rules. */
#include "credit_share.h"

static void reckon_left(struct credit_pool *pool)
{
	uint32_t taken = pool->shared + pool->to_join;

	pool->left = taken < pool->capacity ? pool->capacity - taken : 0;
}

void credit_pool_init(struct credit_pool *pool, uint32_t capacity, uint32_t members_max)
{
	*pool = (struct credit_pool){.capacity = capacity, .to_join = members_max};
	reckon_left(pool);
}

static void share_set_size(struct credit_pool *pool, struct credit_share *share, uint32_t size)
{
	pool->shared += size - share->size;
	if (share->group)
		share->group->size += size - share->size;
	reckon_left(pool);
	share->size = size;
	share->steady = CREDIT_SHARE_NONE;
}

bool credit_share_join(struct credit_pool *pool, struct credit_share *share,
		       struct credit_group *group)
{
	if (pool->to_join > 0 ? pool->shared >= pool->capacity : pool->left == 0)
		return false;
	pool->to_join -= pool->to_join > 0;
	*share = (struct credit_share){.latest = 1, .next = CREDIT_SHARE_START, .group = group};
	share_set_size(pool, share, 1); /* RFC 8166 section 3.3.3 */
	if (group)
		group->size--;
	return true;
}

void credit_share_leave(struct credit_pool *pool, struct credit_share *share, uint32_t in_use)
{
	share_set_size(pool, share, in_use);
	if (share->group) {
		/* The group's size does not count the first message of a connection. However, it
		 * counts each receive in use of a connection that has left. */
		share->group->size++;
		share->group->behind += in_use;
	}
	*share = (struct credit_share){.steady = CREDIT_SHARE_NONE};
	pool->to_join++;
	reckon_left(pool);
}

void credit_pool_return(struct credit_pool *pool, struct credit_group *group)
{
	pool->shared--;
	if (group) {
		group->size--;
		group->behind--;
	}
	reckon_left(pool);
}

/*
 * Returns by how many messages a share is allowed to grow, at most 'wanted'. If other shares of the
 * group have grown, the part of the queue that stays free must be at least a seventh of the growth
 * of the whole group. Therefore a peer with many connections that are busy in turn can use most of
 * the queue. Shares of idle connections have not grown, and do not limit a busy connection.
 */
static uint32_t growth(const struct credit_pool *pool, const struct credit_share *share,
		       uint32_t wanted)
{
	const struct credit_group *group = share->group;
	uint32_t most;

	if (!group || group->size == share->size - 1)
		return wanted;
	most = group->size < 7 * pool->left ? (7 * pool->left - group->size) / 8 : 0;
	return wanted < most ? wanted : most;
}

uint32_t credit_share_change(struct credit_pool *pool, struct credit_share *share,
			     uint32_t requested, uint32_t limit)
{
	uint32_t most = pool->left, granted = requested < limit ? requested : limit;

	if (granted > share->next)
		granted = share->next;
	if (granted > most)
		granted = most;
	if (granted == 0)
		granted = 1;
	if (granted > share->size)
		granted = share->size + growth(pool, share, granted - share->size);
	if (granted > share->size)
		share_set_size(pool, share, granted);
	share->latest = granted;
	if (2 * granted > share->next)
		share->next = 2 * granted;
	share->unsent++;
	share->steady = granted == requested && granted == share->size && 2 * granted <= share->next
				? granted
				: CREDIT_SHARE_NONE;
	return granted;
}

void credit_share_shrink(struct credit_pool *pool, struct credit_share *share)
{
	share_set_size(pool, share, share->size - 1);
}

void credit_share_idle(struct credit_pool *pool, struct credit_share *share)
{
	if (share->unsent > 0)
		return;
	if (share->latest < share->size)
		share_set_size(pool, share, share->latest);
	share->next = share->next > 1 ? share->next / 2 : 1;
	share->steady = CREDIT_SHARE_NONE;
}

uint32_t credit_share_resize(struct credit_pool *pool, struct credit_share *share, uint32_t wanted,
			     uint32_t in_flight)
{
	uint32_t most = pool->left;

	if (wanted > share->size)
		wanted = wanted < most ? wanted : (most > share->size ? most : share->size);
	else if (share->size > most && wanted > most)
		wanted = most; /* Other connections need these messages. */
	if (wanted < in_flight)
		wanted = in_flight;
	if (wanted == 0)
		wanted = 1;
	share_set_size(pool, share, wanted);
	return wanted;
}

bool credit_share_extend(struct credit_pool *pool, struct credit_share *share, uint32_t count)
{
	if (count > pool->left)
		return false;
	share_set_size(pool, share, share->size + count);
	return true;
}

void credit_share_reduce(struct credit_pool *pool, struct credit_share *share, uint32_t count)
{
	share_set_size(pool, share, share->size - count);
}
