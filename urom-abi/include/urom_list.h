/*
 * ucs_list_link_t: from UCX's headers if they are in the include path, else an equal definition.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UROM_LIST_H_
#define UROM_LIST_H_

#ifdef __has_include
#if __has_include(<ucs/datastruct/list.h>)
#include <ucs/datastruct/list.h>
#endif
#endif

#ifndef UCS_LIST_H_
#define UCS_LIST_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A link of a circular list, or its head. An empty head points to itself. Not thread-safe. */
typedef struct ucs_list_link {
	struct ucs_list_link *prev;
	struct ucs_list_link *next;
} ucs_list_link_t;

/* The structure of type `type` with the member `member` at `link`. */
#define ucs_container_of(link, type, member) ((type *)((char *)(link) - offsetof(type, member)))

static inline void ucs_list_head_init(ucs_list_link_t *head)
{
	head->prev = head;
	head->next = head;
}

static inline int ucs_list_is_empty(const ucs_list_link_t *head)
{
	return head->next == head;
}

static inline void ucs_list_insert_replace(ucs_list_link_t *prev, ucs_list_link_t *next,
					   ucs_list_link_t *link)
{
	link->prev = prev;
	link->next = next;
	prev->next = link;
	next->prev = link;
}

static inline void ucs_list_insert_after(ucs_list_link_t *pos, ucs_list_link_t *link)
{
	ucs_list_insert_replace(pos, pos->next, link);
}

static inline void ucs_list_insert_before(ucs_list_link_t *pos, ucs_list_link_t *link)
{
	ucs_list_insert_replace(pos->prev, pos, link);
}

static inline void ucs_list_add_head(ucs_list_link_t *head, ucs_list_link_t *link)
{
	ucs_list_insert_after(head, link);
}

static inline void ucs_list_add_tail(ucs_list_link_t *head, ucs_list_link_t *link)
{
	ucs_list_insert_before(head, link);
}

/* Removes `link`, whose own pointers become stale. */
static inline void ucs_list_del(ucs_list_link_t *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

/* Moves all links of `from` to the end of `head`. `from` must be initialised again before use. */
static inline void ucs_list_splice_tail(ucs_list_link_t *head, ucs_list_link_t *from)
{
	if (ucs_list_is_empty(from))
		return;
	from->next->prev = head->prev;
	head->prev->next = from->next;
	from->prev->next = head;
	head->prev = from->prev;
}

/* Requires a list that is not empty. */
static inline ucs_list_link_t *ucs_list_pop_head(ucs_list_link_t *head)
{
	ucs_list_link_t *link = head->next;

	ucs_list_del(link);
	return link;
}

#define ucs_list_extract_head(head, type, member) \
	ucs_container_of(ucs_list_pop_head(head), type, member)

/* The neighbours of a link, or first and last link of a non-empty list. */
#define ucs_list_next(link, type, member) ucs_container_of((link)->next, type, member)
#define ucs_list_prev(link, type, member) ucs_container_of((link)->prev, type, member)
#define ucs_list_head ucs_list_next
#define ucs_list_tail ucs_list_prev

/* Iterates over a list. In the second form `elem` may be removed. */
#define ucs_list_for_each(elem, head, member)                                  \
	for (elem = ucs_container_of((head)->next, __typeof__(*elem), member); \
	     &(elem)->member != (head);                                        \
	     elem = ucs_container_of((elem)->member.next, __typeof__(*elem), member))
#define ucs_list_for_each_safe(elem, next_elem, head, member)                             \
	for (elem = ucs_container_of((head)->next, __typeof__(*elem), member),            \
	    next_elem = ucs_container_of((elem)->member.next, __typeof__(*elem), member); \
	     &(elem)->member != (head); elem = next_elem,                                 \
	    next_elem = ucs_container_of((elem)->member.next, __typeof__(*elem), member))

#ifdef __cplusplus
}
#endif

#endif /* UCS_LIST_H_ */

#endif /* UROM_LIST_H_ */
