/*
 * How functions are declared, and structures that know the release they were compiled for.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_COMPAT_H_
#define DOCA_COMPAT_H_

/* Programs rely on these coming along. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <doca_config.h>

/* ---- Declarations ---- */

/* Seen by other objects, also under -fvisibility=hidden. */
#ifndef DOCA_EXPORT
#define DOCA_EXPORT __attribute__((visibility("default")))
#endif

/* A function that stays as it is. */
#define DOCA_STABLE DOCA_EXPORT

/* A function that may change. Using one is warned of unless the program defines
 * DOCA_ALLOW_EXPERIMENTAL_API. */
#ifdef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_EXPERIMENTAL DOCA_EXPORT __attribute__((section(".text.experimental")))
#else
#define DOCA_EXPERIMENTAL                                                               \
	DOCA_EXPORT __attribute__((deprecated("this function is experimental; define "  \
					      "DOCA_ALLOW_EXPERIMENTAL_API to use it"), \
				   section(".text.experimental")))
#endif

/* ---- Versioned structures ---- */

/* DOCA_VERSION_EXACT. The two headers include each other: this one first defines what the other
 * needs. */
#include <doca_version.h>

#ifdef DOCA_COMPAT_HELPERS

/* The first member of a versioned structure: the release it was compiled for. */
#define DOCA_STRUCT_START size_t __doca_api_version

/* Sets the version of an object, and nothing else. */
#define DOCA_STRUCT_CTOR(object) ((object).__doca_api_version = DOCA_VERSION_EXACT)

/* Clears an object and sets its version. */
#define DOCA_STRUCT_MEMSET_CTOR(object)               \
	do {                                          \
		memset(&(object), 0, sizeof(object)); \
		DOCA_STRUCT_CTOR(object);             \
	} while (0)

/* The version of the object that `pointer` points at. */
#define DOCA_STRUCT_GET_VERSION(pointer) ((pointer)->__doca_api_version)

/* The first line of an initialiser in braces. */
#define DOCA_STRUCT_CTOR_LIST_START .__doca_api_version = DOCA_VERSION_EXACT

/* Declares `struct st name`, all zero but for its version. */
#define DOCA_STRUCT_DEF(st, name) struct st name = {DOCA_STRUCT_CTOR_LIST_START}

#endif /* DOCA_COMPAT_HELPERS */

#endif /* DOCA_COMPAT_H_ */
