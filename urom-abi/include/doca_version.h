/*
 * The release of these headers, and the release of the loaded library.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_VERSION_H_
#define DOCA_VERSION_H_

#include <stddef.h>

#include <doca_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The compiler's command line may override all four. */
#ifndef DOCA_VERSION_MAJOR
#define DOCA_VERSION_MAJOR 2
#define DOCA_VERSION_MINOR 7
#define DOCA_VERSION_PATCH 0
#define DOCA_VERSION_STRING "2.7.0"
#endif

/* A release as a number: 8, 8 and 16 bits. */
#define DOCA_VERSION_CALC_EXACT(major, minor, patch) \
	((size_t)(((size_t)(major) << 24) | ((size_t)(minor) << 16) | (size_t)(patch)))

/* The same with the patch times 1000, which overflows from patch 66 on: compare exact numbers. */
#define DOCA_VERSION_CALC(major, minor, patch) \
	((size_t)(((size_t)(major) << 24) | ((size_t)(minor) << 16) | ((size_t)(patch) * 1000)))

#define DOCA_VERSION_EXACT \
	DOCA_VERSION_CALC_EXACT(DOCA_VERSION_MAJOR, DOCA_VERSION_MINOR, DOCA_VERSION_PATCH)
#define DOCA_VERSION_OFFICIAL \
	DOCA_VERSION_CALC(DOCA_VERSION_MAJOR, DOCA_VERSION_MINOR, DOCA_VERSION_PATCH)

/* The release of these headers, such as "2.7.0". Static memory; any thread. */
static inline const char *doca_version(void)
{
	return DOCA_VERSION_STRING;
}

/* The release of the loaded library, such as "2.7.0". Static memory; any thread. */
DOCA_STABLE
const char *doca_version_runtime(void);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_VERSION_H_ */
