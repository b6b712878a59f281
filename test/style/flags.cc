/* SPDX-License-Identifier: BSD-3-Clause */
/* Combines flags in C++. The checks are done when this file is compiled. */
#include <weir/weir.h>

#include <type_traits>

static_assert(
	std::is_same<decltype(WEIR_REGION_NO_HUGE | WEIR_REGION_PRIVATE), weir_region_flags>::value,
	"a combination of flags has their type");
static_assert((WEIR_REGION_NO_HUGE | WEIR_REGION_PRIVATE) == 3, "|");
static_assert((WEIR_EXTENSION_ALL & WEIR_EXTENSION_PLACEMENT) == WEIR_EXTENSION_PLACEMENT, "&");
static_assert((WEIR_EXTENSION_ALL ^ WEIR_EXTENSION_PLACEMENT) == 3, "^");

void set_flags(weir_profile &profile, weir_region_options &options);

void set_flags(weir_profile &profile, weir_region_options &options)
{
	weir_profile_defaults(&profile);
	profile.extension = WEIR_EXTENSION_DIRECTION | WEIR_EXTENSION_PLACEMENT;
	profile.extension |= WEIR_EXTENSION_CONTINUATION;
	profile.extension &= WEIR_EXTENSION_ALL ^ WEIR_EXTENSION_PLACEMENT;
	options.struct_bytes = sizeof(options);
	options.flags = WEIR_REGION_NO_HUGE | WEIR_REGION_PRIVATE;
}
