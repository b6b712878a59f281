/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REGIONS_H
#define REGIONS_H

/* Memory that an engine's device may access: how it is registered, and the application's regions.
 */

struct weir_engine;

/* Set engine->registrar. engine->slot, engine->ops and engine->dev have to be set before it is
 * used. */
void engine_regions_init(struct weir_engine *engine);

#endif
