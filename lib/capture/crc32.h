/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRC32_H
#define CRC32_H

/* The CRC-32 of Ethernet, with which the ICRC of InfiniBand is computed. Neither zlib nor rte_net
 * is used for it, because the libraries would then be loaded into every program that uses weir, for
 * one function that only captures need. */

#include <stddef.h>
#include <stdint.h>

/* Returns the CRC of the bytes. Any thread. */
uint32_t crc32_of(const uint8_t *data, size_t len);

#endif
