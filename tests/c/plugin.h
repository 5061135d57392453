/*
 * Helpers of C plugins: answers, their queue, packing, and the exported functions.
 *
 * A command gets exactly one answer. A plugin allocates the answer before it takes the command off
 * the worker's list, so it cannot run out of memory afterwards.
 */
#ifndef TESTS_PLUGIN_H
#define TESTS_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <doca_error.h>
#include <doca_log.h>
#include <doca_urom_plugin.h>

/*
 * Allocates an answer with `length` zeroed bytes, because unset bytes are sent to the host, too.
 * `capacity` uninitialized bytes follow; the caller writes them before it extends the length. The
 * worker frees the answer. Returns NULL without memory.
 *
 * glibc before 2.41: calloc() does not reuse memory that the same thread has just freed, so this
 * uses malloc().
 */
static inline struct urom_worker_notif_desc *
answer_with_tail(const struct urom_worker_cmd_desc *command, size_t length, size_t capacity)
{
	struct urom_worker_notif_desc *answer;

	if (length > SIZE_MAX - sizeof(*answer) || capacity > SIZE_MAX - sizeof(*answer) - length)
		return NULL;
	answer = malloc(sizeof(*answer) + length + capacity);
	if (answer == NULL)
		return NULL;
	memset(answer, 0, sizeof(*answer) + length);
	answer->dest_id = command->dest_id;
	answer->worker_notif.type = command->worker_cmd.type;
	answer->worker_notif.urom_context = command->worker_cmd.urom_context;
	answer->worker_notif.len = length;
	answer->worker_notif.status = DOCA_SUCCESS;
	return answer;
}

/* Allocates an answer of exactly `length` bytes. */
static inline struct urom_worker_notif_desc *answer_to(const struct urom_worker_cmd_desc *command,
						       size_t length)
{
	return answer_with_tail(command, length, 0);
}

/* Returns the first command of a nonempty list without removing it. */
static inline struct urom_worker_cmd_desc *first_command(const ucs_list_link_t *list)
{
	return (struct urom_worker_cmd_desc *)list->next;
}

/* Return value of progress(): moves all queued answers to the worker. */
static inline doca_error_t hand_over(ucs_list_link_t *queue, ucs_list_link_t *notif_list)
{
	if (ucs_list_is_empty(queue))
		return DOCA_ERROR_EMPTY;
	while (!ucs_list_is_empty(queue)) {
		ucs_list_link_t *entry = queue->next;

		ucs_list_del(entry);
		ucs_list_add_tail(notif_list, entry);
	}
	return DOCA_SUCCESS;
}

/* Frees the queue in close(). */
static inline void free_answers(ucs_list_link_t *queue)
{
	while (!ucs_list_is_empty(queue)) {
		ucs_list_link_t *entry = queue->next;

		ucs_list_del(entry);
		free(entry);
	}
}

/* notif_pack() of plugins whose answers are stored in wire format. */
static inline doca_error_t pack_answer(struct urom_worker_notify *answer, size_t *packed_len,
				       void *packed)
{
	if (*packed_len < sizeof(*answer) || *packed_len - sizeof(*answer) < answer->len)
		return DOCA_ERROR_TOO_BIG;
	*packed_len = sizeof(*answer) + answer->len;
	memcpy(packed, answer, *packed_len);
	return DOCA_SUCCESS;
}

/*
 * Exports a plugin whose functions are named name_open, name_close, name_addr, name_worker_cmd and
 * name_progress. `pack` packs its answers.
 */
#define EXPORT_PLUGIN(name, number, pack)                                                          \
	doca_error_t urom_plugin_get_version(uint64_t *version)                                    \
	{                                                                                          \
		if (version == NULL)                                                               \
			return DOCA_ERROR_INVALID_VALUE;                                           \
		*version = number;                                                                 \
		return DOCA_SUCCESS;                                                               \
	}                                                                                          \
                                                                                                   \
	doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)                        \
	{                                                                                          \
		if (iface == NULL)                                                                 \
			return DOCA_ERROR_INVALID_VALUE;                                           \
		DOCA_STRUCT_CTOR(*iface);                                                          \
		iface->open = name##_open;                                                         \
		iface->close = name##_close;                                                       \
		iface->addr = name##_addr;                                                         \
		iface->worker_cmd = name##_worker_cmd;                                             \
		iface->progress = name##_progress;                                                 \
		iface->notif_pack = pack;                                                          \
		return DOCA_SUCCESS;                                                               \
	}

#endif /* TESTS_PLUGIN_H */
