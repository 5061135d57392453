/*
 * Registered memory. UROM registers memory with UCX: this project's library has the calls so that
 * programs link, and all of them give DOCA_ERROR_NOT_SUPPORTED.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_MMAP_H_
#define DOCA_MMAP_H_

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;
struct doca_mmap;

/* Makes a map. The caller destroys it. */
DOCA_STABLE
doca_error_t doca_mmap_create(struct doca_mmap **mmap);

/* Ends it. The memory is the caller's and stays. */
DOCA_STABLE
doca_error_t doca_mmap_destroy(struct doca_mmap *mmap);

/* Adds a device that may use the memory. */
DOCA_STABLE
doca_error_t doca_mmap_add_dev(struct doca_mmap *mmap, struct doca_dev *dev);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_MMAP_H_ */
