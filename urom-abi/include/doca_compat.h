/*
 * Attributes of functions, and versioned structures.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_COMPAT_H_
#define DOCA_COMPAT_H_

/* Programs rely on these includes. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <doca_config.h>

/* ---- Declarations ---- */

#ifndef DOCA_EXPORT
#define DOCA_EXPORT __attribute__((visibility("default")))
#endif

/* A stable function. */
#define DOCA_STABLE DOCA_EXPORT

/* A function that may change: the compiler warns, unless DOCA_ALLOW_EXPERIMENTAL_API is set. */
#ifdef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_EXPERIMENTAL DOCA_EXPORT __attribute__((section(".text.experimental")))
#else
#define DOCA_EXPERIMENTAL                                                               \
	DOCA_EXPORT __attribute__((deprecated("this function is experimental; define "  \
					      "DOCA_ALLOW_EXPERIMENTAL_API to use it"), \
				   section(".text.experimental")))
#endif

/* ---- Versioned structures ---- */

/* For DOCA_VERSION_EXACT. doca_version.h in turn needs the definitions above. */
#include <doca_version.h>

#ifdef DOCA_COMPAT_HELPERS

/* The first member of a versioned structure: the release of its header. */
#define DOCA_STRUCT_START size_t __doca_api_version

#define DOCA_STRUCT_CTOR(object) ((object).__doca_api_version = DOCA_VERSION_EXACT)

#define DOCA_STRUCT_MEMSET_CTOR(object)               \
	do {                                          \
		memset(&(object), 0, sizeof(object)); \
		DOCA_STRUCT_CTOR(object);             \
	} while (0)

#define DOCA_STRUCT_GET_VERSION(pointer) ((pointer)->__doca_api_version)

/* The first line of a brace initialiser. */
#define DOCA_STRUCT_CTOR_LIST_START .__doca_api_version = DOCA_VERSION_EXACT

/* Declares `struct st name`, all zero except its version. */
#define DOCA_STRUCT_DEF(st, name) struct st name = {DOCA_STRUCT_CTOR_LIST_START}

#endif /* DOCA_COMPAT_HELPERS */

#endif /* DOCA_COMPAT_H_ */
