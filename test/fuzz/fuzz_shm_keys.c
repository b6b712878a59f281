/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target for the key table of the driver shm: an owner's operations on its table, and the use
 * of a peer's table, which can contain anything.
 *
 * An input is a list of steps. A step is a byte, followed by its data. The steps:
 * - take, set and return entries
 * - end one key, or all keys of a connection
 * - look up keys that are valid, that were valid, or that have any value
 * - write to the table of a hostile peer
 *
 * The target checks that:
 * - A key that was set and has not ended is found, with exactly the range for which it was set. No
 *   other key is found.
 * - An access is permitted if and only if a model with wider arithmetic permits it.
 * - A permitted access by a hostile table is within the range of its entry and does not wrap.
 * - An entry that is being written is never found.
 */
#include "fabric.h"
#include "fuzz.h"
#include "keys.h"

#define OWN_MAX	  24u
#define ENDED_MAX 24u
#define CONNS	  4u /* a small number, so that several keys belong to one connection */

enum { TAKE, SET, PUT, END_ONE, END_ALL, LOOK_UP, SCRIBBLE, LOOK_UP_HOSTILE, NSTEPS };

struct own {
	struct key_ref ref; /* invalid if the entry is not taken */
	bool is_set;
	uint32_t key;
	struct key_range range;
};

struct run {
	struct key_table table;
	struct key_table_view view;
	struct key_entry *hostile; /* the table of a peer, with any content */
	struct own own[OWN_MAX];
	uint32_t ended[ENDED_MAX];
	uint32_t nended;
};

/* ---- the model ---- */

static struct own *owner_of(struct run *run, uint32_t key)
{
	for (uint32_t i = 0; i < OWN_MAX; i++)
		if (run->own[i].is_set && run->own[i].key == key)
			return &run->own[i];
	return NULL;
}

static void note_ended(struct run *run, struct own *own)
{
	if (own->is_set)
		run->ended[run->nended++ % ENDED_MAX] = own->key;
	own->is_set = false;
}

static bool may_access(const struct key_range *range, uint64_t raddr, uint64_t len, uint32_t access,
		       uint32_t conn_id)
{
	unsigned __int128 first = raddr, end = first + len;

	if (range->conn_id != KEY_ANY_CONN && range->conn_id != conn_id)
		return false;
	return (range->access & access) == access && first >= range->raddr &&
	       end <= (unsigned __int128)range->raddr + range->len;
}

/* ---- input ---- */

/* Returns a key that is valid, a key that was valid, or any value. */
static uint32_t some_key(struct run *run, struct fuzz_in *in)
{
	uint8_t kind = fuzz_u8(in);
	uint32_t i = fuzz_u8(in);

	if (kind % 3 == 0)
		return run->own[i % OWN_MAX].key;
	if (kind % 3 == 1)
		return run->ended[i % ENDED_MAX];
	return fuzz_u32(in);
}

/* Returns a number near 'near', or any number. */
static uint64_t some_number(struct fuzz_in *in, uint64_t near)
{
	uint8_t kind = fuzz_u8(in);

	return kind & 1 ? fuzz_u64(in) : near + (uint64_t)(int64_t)(int8_t)fuzz_u8(in);
}

/*
 * Checks for an access that key_permits() agrees with the model, and that a permitted access is
 * within the range of the entry.
 */
static void check_permits(const struct key_range *range, struct fuzz_in *in, bool is_honest)
{
	uint32_t access = fuzz_u8(in) & (FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE);
	uint32_t conn_id = fuzz_u8(in) % CONNS + 1;
	uint64_t raddr = some_number(in, range->raddr);
	uint64_t len = some_number(in, range->len - (raddr - range->raddr)), offset = 0;
	bool permits = key_permits(range, raddr, len, access, conn_id, &offset);
	bool may = may_access(range, raddr, len, access, conn_id);

	/*
	 * The range of an honest table is within a region, so that neither its addresses nor its
	 * offsets wrap.
	 */
	if (is_honest)
		REQUIRE(permits == may);
	if (!permits)
		return;
	REQUIRE((range->access & access) == access);
	REQUIRE(range->conn_id == KEY_ANY_CONN || range->conn_id == conn_id);
	REQUIRE(offset >= range->offset && offset - range->offset <= range->len);
	REQUIRE(len <= range->len - (offset - range->offset));
}

static void check_same(const struct key_range *a, const struct key_range *b)
{
	REQUIRE(a->access == b->access && a->conn_id == b->conn_id && a->region == b->region);
	REQUIRE(a->raddr == b->raddr && a->len == b->len && a->offset == b->offset);
}

/* ---- steps ---- */

static void step_take(struct run *run, struct own *own)
{
	if (own->ref.valid)
		return;
	REQUIRE(key_take(&run->table, &own->ref) == 0);
	for (uint32_t i = 0; i < OWN_MAX; i++)
		REQUIRE(&run->own[i] == own || !run->own[i].ref.valid ||
			run->own[i].ref.index != own->ref.index);
	REQUIRE(!key_is_set(&run->table, own->ref));
}

static void step_set(struct run *run, struct own *own, struct fuzz_in *in)
{
	struct key_range range = {
		.access = fuzz_u8(in) & (FABRIC_REMOTE_READ | FABRIC_REMOTE_WRITE),
		.is_lasting = (fuzz_u8(in) & 3) == 0,
		.conn_id = fuzz_u8(in) % (CONNS + 1),
		.region = fuzz_u32(in),
		.raddr = fuzz_u64(in) >> 1,
		.len = fuzz_u64(in) >> 1,
		.offset = fuzz_u64(in) >> 1,
	};
	uint32_t before = own->key;

	if (!own->ref.valid)
		return;
	note_ended(run, own);
	own->key = key_new(&run->table, own->ref);
	REQUIRE(own->key >> KEY_INDEX_BITS != 0 &&
		(own->key & (KEY_ENTRIES - 1)) == own->ref.index);
	REQUIRE(own->key != before || !key_is_set(&run->table, own->ref));
	key_set(&run->table, own->ref, own->key, &range);
	own->range = range;
	own->is_set = true;
}

static void step_put(struct run *run, struct own *own)
{
	note_ended(run, own);
	key_put(&run->table, &own->ref);
	REQUIRE(!own->ref.valid);
}

static void step_end_one(struct run *run, struct fuzz_in *in)
{
	uint32_t key = some_key(run, in), conn_id = fuzz_u8(in) % (CONNS + 1);
	struct own *own = owner_of(run, key);
	bool may = own && !own->range.is_lasting && own->range.conn_id == conn_id;

	REQUIRE(key_invalidate(&run->table, key, conn_id) == may);
	if (may)
		note_ended(run, own);
}

static void step_end_all(struct run *run, struct fuzz_in *in)
{
	uint32_t conn_id = fuzz_u8(in) % (CONNS + 1);

	key_invalidate_all(&run->table, conn_id);
	for (uint32_t i = 0; i < OWN_MAX && conn_id != KEY_ANY_CONN; i++)
		if (!run->own[i].range.is_lasting && run->own[i].range.conn_id == conn_id)
			note_ended(run, &run->own[i]);
}

static void step_look_up(struct run *run, struct fuzz_in *in)
{
	uint32_t key = some_key(run, in);
	const struct own *own = owner_of(run, key);
	struct key_range found;

	REQUIRE(key_find(&run->view, key, &found) == (own != NULL));
	if (!own)
		return;
	check_same(&found, &own->range);
	check_permits(&found, in, true);
}

static void step_scribble(struct run *run, struct fuzz_in *in)
{
	size_t bytes = KEY_ENTRIES * sizeof(run->hostile[0]),
	       at = fuzz_u16(in) * sizeof(run->hostile[0]);
	size_t len = fuzz_u8(in);

	at += fuzz_u8(in) % sizeof(run->hostile[0]);
	for (size_t i = 0; i < len; i++)
		((uint8_t *)run->hostile)[(at + i) % bytes] = fuzz_u8(in);
}

static void step_look_up_hostile(struct run *run, struct fuzz_in *in)
{
	const struct key_table_view view = {run->hostile};
	uint32_t key = fuzz_u32(in);
	const struct key_entry *entry = &run->hostile[key & (KEY_ENTRIES - 1)];
	struct key_range found;
	bool is_found = key_find(&view, key, &found);

	REQUIRE(is_found == (key != 0 && entry->key == key && (entry->seq & 1) == 0));
	if (is_found)
		check_permits(&found, in, false);
}

/* Checks the invariant that each valid key is found, and that no key is found that has ended. */
static void check_all(struct run *run)
{
	struct key_range found;

	for (uint32_t i = 0; i < OWN_MAX; i++) {
		const struct own *own = &run->own[i];

		REQUIRE(!own->ref.valid || key_is_set(&run->table, own->ref) == own->is_set);
		if (!own->is_set)
			continue;
		REQUIRE(key_find(&run->view, own->key, &found));
		check_same(&found, &own->range);
	}
	for (uint32_t i = 0; i < ENDED_MAX; i++)
		REQUIRE(owner_of(run, run->ended[i]) ||
			!key_find(&run->view, run->ended[i], &found));
}

static void step(struct run *run, struct fuzz_in *in)
{
	uint8_t kind = fuzz_u8(in) % NSTEPS;
	struct own *own = kind <= PUT ? &run->own[fuzz_u8(in) % OWN_MAX] : NULL;

	switch (kind) {
	case TAKE:
		step_take(run, own);
		break;
	case SET:
		step_set(run, own, in);
		break;
	case PUT:
		step_put(run, own);
		break;
	case END_ONE:
		step_end_one(run, in);
		break;
	case END_ALL:
		step_end_all(run, in);
		break;
	case LOOK_UP:
		step_look_up(run, in);
		break;
	case SCRIBBLE:
		step_scribble(run, in);
		break;
	default:
		step_look_up_hostile(run, in);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run run;
	struct fuzz_in in = {data, size};

	if (size > 4096)
		return 0;
	memset(&run, 0, sizeof(run));
	/*
	 * The table is not created by key_table_create(), so that the keys are always the same and
	 * no file is created for each input.
	 */
	run.table.entries = aligned_alloc(64, KEY_ENTRIES * sizeof(struct key_entry));
	run.hostile = aligned_alloc(64, KEY_ENTRIES * sizeof(struct key_entry));
	REQUIRE(run.table.entries != NULL && run.hostile != NULL);
	memset(run.table.entries, 0, KEY_ENTRIES * sizeof(struct key_entry));
	memset(run.hostile, 0, KEY_ENTRIES * sizeof(struct key_entry));
	run.table.random = fuzz_u8(&in);
	run.view.entries = run.table.entries;
	while (in.left > 0) {
		step(&run, &in);
		check_all(&run);
	}
	free(run.hostile);
	free(run.table.entries);
	return 0;
}
