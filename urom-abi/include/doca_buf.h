/*
 * Buffers: a range of memory, and the part of it that holds data.
 *
 *     | head room |    data    | tail room |
 *     head        data                     head + len
 *
 * A buffer is taken from an inventory or a pool and goes back there when its last reference ends.
 * Buffers can be chained to a list, whose first one stands for all: its references are those that
 * count. Every function gives INVALID_VALUE for a pointer that is NULL or stands for something
 * else, such as a buffer that went back.
 *
 * The buffers of a task of UROM belong to that task, and to the thread that progresses it. They are
 * in no list, and have one reference. What would change that gives NOT_PERMITTED.
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

/* Adds a reference, and stores how many there were; `refcount` may be NULL. TOO_BIG for more than
 * 65535, NOT_PERMITTED for a buffer that follows in a list. */
DOCA_STABLE
doca_error_t doca_buf_inc_refcount(struct doca_buf *buf, uint16_t *refcount);

/* Ends a reference, and stores how many there were; `refcount` may be NULL. With the last one the
 * buffer goes back, and all that follow in its list. NOT_PERMITTED for a buffer that follows. */
DOCA_STABLE
doca_error_t doca_buf_dec_refcount(struct doca_buf *buf, uint16_t *refcount);

/* How many references there are. */
DOCA_STABLE
doca_error_t doca_buf_get_refcount(const struct doca_buf *buf, uint16_t *refcount);

/* How many bytes its memory has. */
DOCA_STABLE
doca_error_t doca_buf_get_len(const struct doca_buf *buf, size_t *len);

/* Where its memory begins. */
DOCA_STABLE
doca_error_t doca_buf_get_head(const struct doca_buf *buf, void **head);

/* Where the data begins. */
DOCA_STABLE
doca_error_t doca_buf_get_data(const struct doca_buf *buf, void **data);

/* How many bytes of data there are. */
DOCA_STABLE
doca_error_t doca_buf_get_data_len(const struct doca_buf *buf, size_t *data_len);

/* Sets both. INVALID_VALUE when the range does not lie in the buffer's memory. */
DOCA_STABLE
doca_error_t doca_buf_set_data(struct doca_buf *buf, void *data, size_t data_len);

/* Sets how many bytes of data there are, from where it begins. INVALID_VALUE when they do not fit.
 */
DOCA_STABLE
doca_error_t doca_buf_set_data_len(struct doca_buf *buf, size_t data_len);

/* Makes the data tail room again. It begins where it did. */
DOCA_STABLE
doca_error_t doca_buf_reset_data_len(struct doca_buf *buf);

/* The next buffer of the list; NULL behind the last. */
DOCA_STABLE
doca_error_t doca_buf_get_next_in_list(struct doca_buf *buf, struct doca_buf **next_buf);

/* The last buffer of the list. */
DOCA_STABLE
doca_error_t doca_buf_get_last_in_list(struct doca_buf *buf, struct doca_buf **last_buf);

/* 1 for the last buffer of a list, and for one that is in no list; else 0. */
DOCA_STABLE
doca_error_t doca_buf_is_last_in_list(const struct doca_buf *buf, uint8_t *is_last);

/* 1 for the first buffer of a list, and for one that is in no list; else 0. */
DOCA_STABLE
doca_error_t doca_buf_is_first_in_list(const struct doca_buf *buf, uint8_t *is_first);

/* 1 for a buffer of a list of two or more, else 0. */
DOCA_STABLE
doca_error_t doca_buf_is_in_list(const struct doca_buf *buf, uint8_t *is_in_list);

/* How many buffers there are from this one to the last. */
DOCA_STABLE
doca_error_t doca_buf_get_list_len(const struct doca_buf *buf, uint32_t *num_elements);

/* Puts the list that begins with `list2` behind the one that begins with `list1`. INVALID_VALUE
 * unless both are first and not the same. */
DOCA_STABLE
doca_error_t doca_buf_chain_list(struct doca_buf *list1, struct doca_buf *list2);

/* The same, when the last buffer of the first list is known. INVALID_VALUE when it is the last of
 * none, or of `list2`. */
DOCA_EXPERIMENTAL
doca_error_t doca_buf_chain_list_tail(struct doca_buf *list1_head, struct doca_buf *list1_tail,
				      struct doca_buf *list2);

/* Ends the list that begins with `list1` in front of `list2`, which becomes the first of its own
 * list. INVALID_VALUE when it does not follow there. */
DOCA_STABLE
doca_error_t doca_buf_unchain_list(struct doca_buf *list1, struct doca_buf *list2);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_BUF_H_ */
