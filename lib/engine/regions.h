/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REGIONS_H
#define REGIONS_H

/* The registration of memory with an engine's device, and the regions of the application. */

struct weir_engine;

/* Sets engine->registrar. engine->slot, engine->ops and engine->dev must be set before the
 * registrar is used. */
void engine_regions_init(struct weir_engine *engine);

#endif
