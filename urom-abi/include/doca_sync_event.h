/*
 * Sync events: a counter of 64 bits that threads and processes share and wait for.
 *
 * An event is created, configured, started and used, then stopped and destroyed. It has one
 * publisher, who sets it and adds to it, and one subscriber, who gets it and waits for it; each is
 * this program (`cpu`) or another process. A setter gives BAD_STATE once the event was started.
 * Every function gives INVALID_VALUE for a pointer that is NULL or stands for something else.
 *
 * `remote_pci` and `remote_net` are processes of the same user on the same machine, to which the
 * exported bytes travel by any means. Plugins do not need them: with urom_extensions.h a program
 * shares the counter's memory with a worker.
 *
 * An update wakes all who wait. A plain store into the counter wakes nobody: those who wait look by
 * themselves at a falling rate, at last every 10 ms.
 *
 * One thread at a time configures, starts, stops and destroys an event. Any number of them may get,
 * update and wait meanwhile.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_SYNC_EVENT_H_
#define DOCA_SYNC_EVENT_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_ctx;
struct doca_dev;
struct doca_sync_event;

/* Makes an event without locations. The caller destroys it. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_create(struct doca_sync_event **event);

/*
 * Makes an event of what another process exported: `sz` bytes. It has its locations already and is
 * started as any other. It stays usable when its owner has ended. INVALID_VALUE for other bytes,
 * UNSUPPORTED_VERSION for those of another release, NOT_FOUND when the owner has stopped the event
 * or ended, NOT_PERMITTED when it is another user's, NOT_SUPPORTED for a counter that is in memory
 * of its owner's own (doca_sync_event_set_addr, doca_sync_event_set_doca_buf).
 */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_create_from_export(struct doca_dev *dev, const uint8_t *data, size_t sz,
						struct doca_sync_event **event);

/* Ends it. BAD_STATE unless it is stopped. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_destroy(struct doca_sync_event *event);

/* Says who sets the event and adds to it: this program. The device stays open as long as the event.
 * ALREADY_EXIST when that was said, NOT_PERMITTED for an event of an export. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_publisher_location_cpu(struct doca_sync_event *event,
							struct doca_dev *dev);

/* The same: a process that gets what doca_sync_event_export_to_remote_pci gives. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_publisher_location_remote_pci(struct doca_sync_event *event);

/* The same: a process that gets what doca_sync_event_export_to_remote_net gives. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_publisher_location_remote_net(struct doca_sync_event *event);

/* Says who gets the event and waits for it: this program. As for a publisher. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_subscriber_location_cpu(struct doca_sync_event *event,
							 struct doca_dev *dev);

/* The same: a process that gets what doca_sync_event_export_to_remote_pci gives. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_add_subscriber_location_remote_pci(struct doca_sync_event *event);

/* Puts the counter into 8 bytes of the caller's, at a multiple of 8, which stay until the event is
 * stopped. It keeps the number that is there. Others cannot import it. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_set_addr(struct doca_sync_event *event, uint64_t *addr);

/* The same with the first 8 bytes from the buffer's data on. The map of the buffer is in use until
 * the event is destroyed or given other memory; the buffer itself is not. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_set_doca_buf(struct doca_sync_event *event, struct doca_buf *buf);

/* From now on it is used. Without memory of the caller's the counter is 0. BAD_STATE when it is
 * started, or has no publisher or no subscriber. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_start(struct doca_sync_event *event);

/* Ends its use, and what it exported. BAD_STATE unless it is started. Nobody may be waiting. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_stop(struct doca_sync_event *event);

/* The event as a context, which is started and stopped as the event is and needs no engine. */
DOCA_EXPERIMENTAL
struct doca_ctx *doca_sync_event_as_ctx(struct doca_sync_event *event);

/* Describes the event for the process that is its publisher or subscriber: 64 bytes of the event's
 * own, which stay until it is stopped. NOT_PERMITTED without a location of that kind, and when the
 * memory's permissions keep it from others; BAD_STATE unless it is started. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_export_to_remote_pci(struct doca_sync_event *event,
						  struct doca_dev *dev, const uint8_t **data,
						  size_t *sz);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_export_to_remote_net(struct doca_sync_event *event,
						  const uint8_t **data, size_t *sz);

/* The counter. NOT_PERMITTED unless this program is the subscriber, BAD_STATE unless the event is
 * started; so it is for the waits. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_get(struct doca_sync_event *event, uint64_t *value);

/* Adds to the counter, which wraps; `fetched` is what it was before. NOT_PERMITTED unless this
 * program is the publisher, or when it may only read the memory. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_update_add(struct doca_sync_event *event, uint64_t value,
					uint64_t *fetched);

/* Sets the counter. As doca_sync_event_update_add. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_update_set(struct doca_sync_event *event, uint64_t value);

/* Waits until the counter, masked, is greater than `value`. The thread sleeps meanwhile. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_gt(struct doca_sync_event *event, uint64_t value, uint64_t mask);

/* The same; at first the thread looks again and again, and yields in between. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_gt_yield(struct doca_sync_event *event, uint64_t value,
					   uint64_t mask);

/* The same, until the counter, masked, is `value`. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_eq(struct doca_sync_event *event, uint64_t value, uint64_t mask);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_eq_yield(struct doca_sync_event *event, uint64_t value,
					   uint64_t mask);

/* The same, until the counter, masked, is not `value`. */
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_neq(struct doca_sync_event *event, uint64_t value, uint64_t mask);
DOCA_EXPERIMENTAL
doca_error_t doca_sync_event_wait_neq_yield(struct doca_sync_event *event, uint64_t value,
					    uint64_t mask);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_SYNC_EVENT_H_ */
