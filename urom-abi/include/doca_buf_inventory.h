/*
 * Inventories: buffers over any part of any memory map.
 *
 * An inventory is created, started and used, then stopped and destroyed. All its memory is
 * allocated when it is started. An inventory and its buffers belong to one thread at a time. Every
 * function gives INVALID_VALUE for a pointer that is NULL or stands for something else.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_BUF_INVENTORY_H_
#define DOCA_BUF_INVENTORY_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_buf_inventory;
struct doca_mmap;

/* Makes an inventory of `num_elements` buffers. The caller destroys it. */
DOCA_STABLE
doca_error_t doca_buf_inventory_create(size_t num_elements, struct doca_buf_inventory **inventory);

/* Ends it. IN_USE unless all its buffers were given back. */
DOCA_STABLE
doca_error_t doca_buf_inventory_destroy(struct doca_buf_inventory *inventory);

/* Makes it ready. BAD_STATE when it is. */
DOCA_STABLE
doca_error_t doca_buf_inventory_start(struct doca_buf_inventory *inventory);

/* From now on it gives no buffer. Those that it gave can be used and given back. */
DOCA_STABLE
doca_error_t doca_buf_inventory_stop(struct doca_buf_inventory *inventory);

/* A buffer over `len` bytes at `addr` of a map, whose data are `data_len` bytes at `data`. It has
 * one reference. NO_MEMORY when all are in use, BAD_STATE unless inventory and map are started. */
DOCA_STABLE
doca_error_t doca_buf_inventory_buf_get_by_args(struct doca_buf_inventory *inventory,
						struct doca_mmap *mmap, void *addr, size_t len,
						void *data, size_t data_len, struct doca_buf **buf);

/* A buffer over `len` bytes at `addr` of a map, without data so far. */
static inline doca_error_t doca_buf_inventory_buf_get_by_addr(struct doca_buf_inventory *inventory,
							      struct doca_mmap *mmap, void *addr,
							      size_t len, struct doca_buf **buf)
{
	return doca_buf_inventory_buf_get_by_args(inventory, mmap, addr, len, addr, 0, buf);
}

/* A buffer over `data_len` bytes at `data` of a map, all of them data. */
static inline doca_error_t doca_buf_inventory_buf_get_by_data(struct doca_buf_inventory *inventory,
							      struct doca_mmap *mmap, void *data,
							      size_t data_len,
							      struct doca_buf **buf)
{
	return doca_buf_inventory_buf_get_by_args(inventory, mmap, data, data_len, data, data_len,
						  buf);
}

/*
 * Moves a buffer to another place of its map: `len` bytes at `addr` without data, or `data_len`
 * bytes at `data`, all of them data. NOT_PERMITTED for a buffer that is in a list, has more than
 * one reference, or is that of a pool or a task.
 */
DOCA_EXPERIMENTAL
doca_error_t doca_buf_inventory_buf_reuse_by_addr(struct doca_buf *buf, void *addr, size_t len);
DOCA_EXPERIMENTAL
doca_error_t doca_buf_inventory_buf_reuse_by_data(struct doca_buf *buf, void *data,
						  size_t data_len);

/* A buffer over the same memory as `src_buf`, with the same data, in no list. NOT_PERMITTED for a
 * buffer of a task. */
DOCA_STABLE
doca_error_t doca_buf_inventory_buf_dup(struct doca_buf_inventory *inventory,
					const struct doca_buf *src_buf, struct doca_buf **dst_buf);

/* Sets the caller's own eight bytes. BAD_STATE once it was started. */
DOCA_STABLE
doca_error_t doca_buf_inventory_set_user_data(struct doca_buf_inventory *inventory,
					      union doca_data user_data);

/* How many buffers it has. */
DOCA_STABLE
doca_error_t doca_buf_inventory_get_num_elements(const struct doca_buf_inventory *inventory,
						 uint32_t *num_of_elements);

/* How many of them are not in use. */
DOCA_STABLE
doca_error_t doca_buf_inventory_get_num_free_elements(const struct doca_buf_inventory *inventory,
						      uint32_t *num_of_free_elements);

/* The caller's own eight bytes; 0 unless they were set. */
DOCA_STABLE
doca_error_t doca_buf_inventory_get_user_data(const struct doca_buf_inventory *inventory,
					      union doca_data *user_data);

/* Makes it larger, in any state. */
DOCA_EXPERIMENTAL
doca_error_t doca_buf_inventory_expand(struct doca_buf_inventory *inventory, uint32_t num_elements);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_BUF_INVENTORY_H_ */
