/*
 * Buffers: a range of memory, and the part of it that holds data.
 *
 *     | headroom  |    data    | tailroom  |
 *     head        data                     head + len
 *
 * A buffer is taken from an inventory or a pool and returns there with its last reference. Buffers
 * can be chained to a list, which is represented by its first buffer and that buffer's references.
 * Every function returns INVALID_VALUE for a pointer that is NULL or not a valid buffer.
 *
 * The buffers of a UROM task belong to that task and its thread. They are never in a list and have
 * one reference; changing this returns NOT_PERMITTED.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_BUF_H_
#define DOCA_BUF_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;

/* Adds a reference and stores the previous count; `refcount` may be NULL. TOO_BIG for more than
 * 65535, NOT_PERMITTED for a buffer that follows in a list. */
DOCA_STABLE
doca_error_t doca_buf_inc_refcount(struct doca_buf *buf, uint16_t *refcount);

/* Drops a reference and stores the previous count; `refcount` may be NULL. The last one returns the
 * whole list. NOT_PERMITTED for a buffer that follows in a list. */
DOCA_STABLE
doca_error_t doca_buf_dec_refcount(struct doca_buf *buf, uint16_t *refcount);

DOCA_STABLE
doca_error_t doca_buf_get_refcount(const struct doca_buf *buf, uint16_t *refcount);

/* The size of its memory in bytes. */
DOCA_STABLE
doca_error_t doca_buf_get_len(const struct doca_buf *buf, size_t *len);

DOCA_STABLE
doca_error_t doca_buf_get_head(const struct doca_buf *buf, void **head);

DOCA_STABLE
doca_error_t doca_buf_get_data(const struct doca_buf *buf, void **data);

DOCA_STABLE
doca_error_t doca_buf_get_data_len(const struct doca_buf *buf, size_t *data_len);

/* Sets both. INVALID_VALUE for a range outside the buffer's memory. */
DOCA_STABLE
doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t data_len);

/* Sets the length of its data. INVALID_VALUE when it exceeds the memory. */
DOCA_STABLE
doca_error_t doca_buf_set_data_len(struct doca_buf *buf, size_t data_len);

/* Sets the length of its data to 0. */
DOCA_STABLE
doca_error_t doca_buf_reset_data_len(struct doca_buf *buf);

/* The next buffer of the list; NULL for the last. */
DOCA_STABLE
doca_error_t doca_buf_get_next_in_list(struct doca_buf *buf, struct doca_buf **next_buf);

DOCA_STABLE
doca_error_t doca_buf_get_last_in_list(struct doca_buf *buf, struct doca_buf **last_buf);

/* 1 for the last buffer of a list and for a single buffer, else 0. */
DOCA_STABLE
doca_error_t doca_buf_is_last_in_list(const struct doca_buf *buf, uint8_t *is_last);

/* 1 for the first buffer of a list and for a single buffer, else 0. */
DOCA_STABLE
doca_error_t doca_buf_is_first_in_list(const struct doca_buf *buf, uint8_t *is_first);

/* 1 for a buffer in a list of at least two, else 0. */
DOCA_STABLE
doca_error_t doca_buf_is_in_list(const struct doca_buf *buf, uint8_t *is_in_list);

DOCA_STABLE
doca_error_t doca_buf_get_list_len(const struct doca_buf *buf, uint32_t *num_elements);

/* Appends list `list2` to list `list1`. INVALID_VALUE unless both are distinct first buffers. */
DOCA_STABLE
doca_error_t doca_buf_chain_list(struct doca_buf *list1, struct doca_buf *list2);

/* The same with the last buffer of the first list, or INVALID_VALUE for another buffer. */
DOCA_EXPERIMENTAL
doca_error_t doca_buf_chain_list_tail(struct doca_buf *list1_head, struct doca_buf *list1_tail,
				      struct doca_buf *list2);

/* Splits list `list1` before its member `list2`. INVALID_VALUE for another buffer. */
DOCA_STABLE
doca_error_t doca_buf_unchain_list(struct doca_buf *list1, struct doca_buf *list2);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_BUF_H_ */
