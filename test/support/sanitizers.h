/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SANITIZERS_H
#define SANITIZERS_H

/*
 * Defines the macros by which gcc reports that a sanitizer is on. clang reports it by other means.
 */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#endif
