/*
 * Buffers: a range of memory, and the part of it that holds data.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The buffers of UROM belong to their task, and to the thread that progresses it.
 */
#ifndef DOCA_BUF_H_
#define DOCA_BUF_H_

#include <stddef.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;

/* Where the data begins. SUCCESS, or INVALID_VALUE for NULL. */
DOCA_STABLE
doca_error_t doca_buf_get_data(const struct doca_buf *buf, void **data);

/* How many bytes of data there are. SUCCESS, or INVALID_VALUE for NULL. */
DOCA_STABLE
doca_error_t doca_buf_get_data_len(const struct doca_buf *buf, size_t *data_len);

/* Sets both. INVALID_VALUE when the range does not lie in the buffer's memory. */
DOCA_STABLE
doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t data_len);

/* Hangs `list2` behind `list1`. UROM has no lists: NOT_SUPPORTED. */
DOCA_STABLE
doca_error_t doca_buf_chain_list(struct doca_buf *list1, struct doca_buf *list2);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_BUF_H_ */
