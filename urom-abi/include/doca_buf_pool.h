/*
 * Pools: equal buffers, which lie one behind the other in a memory map.
 *
 * A pool is created, configured, started and used, then stopped and destroyed. All its memory is
 * allocated when it is started. A pool and its buffers belong to one thread at a time. Every
 * function gives INVALID_VALUE for a pointer that is NULL or stands for something else.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_BUF_POOL_H_
#define DOCA_BUF_POOL_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_buf_pool;
struct doca_mmap;

/* Makes a pool of `num_elements` buffers of `element_size` bytes each, from the beginning of the
 * map on. The caller destroys it, before the map. */
DOCA_STABLE
doca_error_t doca_buf_pool_create(size_t num_elements, size_t element_size,
				  const struct doca_mmap *mmap, struct doca_buf_pool **buf_pool);

/* Ends it. IN_USE unless all its buffers were given back. */
DOCA_STABLE
doca_error_t doca_buf_pool_destroy(struct doca_buf_pool *buf_pool);

/* Makes it ready. INVALID_VALUE when its buffers do not fit into the map, BAD_STATE unless the map
 * is started. */
DOCA_STABLE
doca_error_t doca_buf_pool_start(struct doca_buf_pool *buf_pool);

/* From now on it gives no buffer. Those that it gave can be used and given back. */
DOCA_STABLE
doca_error_t doca_buf_pool_stop(struct doca_buf_pool *buf_pool);

/* A buffer of the pool, without data so far. It has one reference. NO_MEMORY when all are in use,
 * BAD_STATE unless the pool is started. */
DOCA_STABLE
doca_error_t doca_buf_pool_buf_alloc(struct doca_buf_pool *buf_pool, struct doca_buf **buf);

/* Sets the caller's own eight bytes. BAD_STATE once it was started. */
DOCA_STABLE
doca_error_t doca_buf_pool_set_user_data(struct doca_buf_pool *buf_pool, union doca_data user_data);

/* Sets what the buffers' addresses are multiples of: a power of two, 1 unless it is set. BAD_STATE
 * once it was started. */
DOCA_STABLE
doca_error_t doca_buf_pool_set_element_alignment(struct doca_buf_pool *buf_pool,
						 size_t element_alignment);

/* How many buffers it has. */
DOCA_STABLE
doca_error_t doca_buf_pool_get_num_elements(const struct doca_buf_pool *buf_pool,
					    uint32_t *num_of_elements);

/* How many of them are not in use. */
DOCA_STABLE
doca_error_t doca_buf_pool_get_num_free_elements(const struct doca_buf_pool *buf_pool,
						 uint32_t *num_of_free_elements);

/* The caller's own eight bytes; 0 unless they were set. */
DOCA_STABLE
doca_error_t doca_buf_pool_get_user_data(const struct doca_buf_pool *buf_pool,
					 union doca_data *user_data);

/* What the buffers' addresses are multiples of. */
DOCA_STABLE
doca_error_t doca_buf_pool_get_element_alignment(const struct doca_buf_pool *buf_pool,
						 size_t *element_alignment);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_BUF_POOL_H_ */
