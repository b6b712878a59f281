/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the codecs of weirgen with those of rpcgen, for each type of an .x file and for many
 * pseudo-random values:
 * - Both encode a value to the same bytes.
 * - Each decodes these bytes, and encodes the same bytes again.
 * - weirgen's decoder refuses all shorter messages.
 * - If bytes were changed, weirgen's decoder refuses them, or both accept them and encode the same.
 */
#include <stdio.h>

#include "values.h"

#define ROUNDS	300
#define CHANGES 20

uint8_t values_memory[4 << 20];
size_t values_used;

static uint8_t first[1 << 20], second[1 << 20], changed[1 << 20];
static uint32_t nchanged, naccepted;

static int fail(const char *what, const char *type, uint64_t seed)
{
	printf("%s: seed %llu: %s\n", type, (unsigned long long)seed, what);
	return 1;
}

/* Changes one bit or one word, and compares what both decoders make of the message. */
static int compare_changed(const struct codec *weir, const struct codec *tirpc, size_t bytes,
			   uint64_t seed)
{
	uint64_t state = seed ^ 0x9e3779b97f4a7c15u;

	for (uint32_t i = 0; i < CHANGES; i++) {
		size_t length, other;

		state = state * 6364136223846793005u + 1442695040888963407u;
		memcpy(changed, first, bytes);
		changed[(state >> 20) % bytes] ^= (uint8_t)(1u << ((state >> 50) & 7));
		length = weir->recode(changed, (uint32_t)bytes, second, sizeof(second));
		nchanged++;
		if (length == 0)
			continue;
		naccepted++;
		memcpy(changed + bytes, second, length);
		other = tirpc->recode(changed, (uint32_t)bytes, second, sizeof(second));
		if (other == 0 ||
		    (!weir->has_string &&
		     (other != length || memcmp(changed + bytes, second, length) != 0)))
			return fail("changed bytes differ", weir->name, seed);
	}
	return 0;
}

static int compare(const struct codec *weir, const struct codec *tirpc, uint64_t seed)
{
	size_t bytes, other;

	values_used = 0;
	bytes = weir->encode(seed, first, sizeof(first));
	values_used = 0;
	other = tirpc->encode(seed, second, sizeof(second));
	if (bytes == 0 || bytes != other || memcmp(first, second, bytes) != 0)
		return fail("encoded bytes differ", weir->name, seed);
	if (weir->recode(first, (uint32_t)bytes, second, sizeof(second)) != bytes ||
	    memcmp(first, second, bytes) != 0)
		return fail("weirgen decodes another value", weir->name, seed);
	if (tirpc->recode(first, (uint32_t)bytes, second, sizeof(second)) != bytes ||
	    memcmp(first, second, bytes) != 0)
		return fail("rpcgen decodes another value", weir->name, seed);
	for (uint32_t shorter = 0; shorter < bytes; shorter += 1 + shorter / 64)
		if (weir->recode(first, shorter, second, sizeof(second)) != 0)
			return fail("a shorter message is decoded", weir->name, seed);
	return compare_changed(weir, tirpc, bytes, seed);
}

int main(void)
{
	uint32_t ntypes = 0;
	int failed = 0;

	for (; weir_codecs[ntypes].name && !failed; ntypes++) {
		if (strcmp(weir_codecs[ntypes].name, tirpc_codecs[ntypes].name) != 0)
			return fail("another type", weir_codecs[ntypes].name, 0);
		for (uint64_t seed = 1; seed <= ROUNDS && !failed; seed++)
			failed = compare(&weir_codecs[ntypes], &tirpc_codecs[ntypes],
					 seed * 1000003u);
	}
	printf("%u types, %u changed messages, %u of them accepted\n", ntypes, nchanged, naccepted);
	return failed;
}
