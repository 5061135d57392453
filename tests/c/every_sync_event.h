/* Every function of sync events in one process, in valid and invalid order. Needs no service. */
#ifndef TESTS_EVERY_SYNC_EVENT_H
#define TESTS_EVERY_SYNC_EVENT_H

#include <doca_ctx.h>
#include <doca_sync_event.h>

#include "every_memory.h"

#define NOT_PERMITTED DOCA_ERROR_NOT_PERMITTED
#define EVERY_BIT UINT64_MAX

static inline enum doca_ctx_states state_of_event(struct doca_sync_event *event)
{
	enum doca_ctx_states state;

	MUST(doca_ctx_get_state(doca_sync_event_as_ctx(event), &state));
	return state;
}

static inline struct doca_sync_event *own_event(struct doca_dev *dev)
{
	struct doca_sync_event *event;

	MUST(doca_sync_event_create(&event));
	MUST(doca_sync_event_add_publisher_location_cpu(event, dev));
	MUST(doca_sync_event_add_subscriber_location_cpu(event, dev));
	return event;
}

static inline void end_event(struct doca_sync_event *event)
{
	GIVES(DOCA_SUCCESS, doca_sync_event_stop, event);
	GIVES(DOCA_SUCCESS, doca_sync_event_destroy, event);
}

static inline void refused_unless_started(struct doca_sync_event *event, struct doca_dev *dev)
{
	const uint8_t *bytes;
	uint64_t value;
	size_t len;

	GIVES(BAD_STATE, doca_sync_event_stop, event);
	GIVES(BAD_STATE, doca_sync_event_export_to_remote_pci, event, dev, &bytes, &len);
	GIVES(BAD_STATE, doca_sync_event_export_to_remote_net, event, &bytes, &len);
	GIVES(BAD_STATE, doca_sync_event_get, event, &value);
	GIVES(BAD_STATE, doca_sync_event_update_add, event, 1, &value);
	GIVES(BAD_STATE, doca_sync_event_update_set, event, 1);
	GIVES(BAD_STATE, doca_sync_event_wait_gt, event, 0, EVERY_BIT);
	GIVES(BAD_STATE, doca_sync_event_wait_gt_yield, event, 0, EVERY_BIT);
	GIVES(BAD_STATE, doca_sync_event_wait_eq, event, 1, EVERY_BIT);
	GIVES(BAD_STATE, doca_sync_event_wait_eq_yield, event, 1, EVERY_BIT);
	GIVES(BAD_STATE, doca_sync_event_wait_neq, event, 0, EVERY_BIT);
	GIVES(BAD_STATE, doca_sync_event_wait_neq_yield, event, 0, EVERY_BIT);
}

static inline void refused_once_started(struct doca_sync_event *event, struct doca_dev *dev,
					struct doca_buf *buf)
{
	static uint64_t word;

	GIVES(BAD_STATE, doca_sync_event_start, event);
	GIVES(BAD_STATE, doca_ctx_start, doca_sync_event_as_ctx(event));
	GIVES(BAD_STATE, doca_sync_event_destroy, event);
	GIVES(BAD_STATE, doca_sync_event_add_publisher_location_cpu, event, dev);
	GIVES(BAD_STATE, doca_sync_event_add_publisher_location_remote_pci, event);
	GIVES(BAD_STATE, doca_sync_event_add_publisher_location_remote_net, event);
	GIVES(BAD_STATE, doca_sync_event_add_subscriber_location_cpu, event, dev);
	GIVES(BAD_STATE, doca_sync_event_add_subscriber_location_remote_pci, event);
	GIVES(BAD_STATE, doca_sync_event_set_addr, event, &word);
	GIVES(BAD_STATE, doca_sync_event_set_doca_buf, event, buf);
}

static inline void states_of_events(struct doca_dev *dev, struct doca_buf *buf)
{
	struct doca_sync_event *event = NULL;
	struct doca_ctx *ctx;
	size_t count;
	int round;

	GIVES(BAD_VALUE, doca_sync_event_create, NULL);
	GIVES(DOCA_SUCCESS, doca_sync_event_create, &event);
	ctx = doca_sync_event_as_ctx(event);
	note_call("doca_sync_event_as_ctx");
	IS(DOCA_CTX_STATE_IDLE, state_of_event(event));
	refused_unless_started(event, dev);

	GIVES(BAD_STATE, doca_sync_event_start, event);
	GIVES(BAD_STATE, doca_ctx_start, ctx);
	GIVES(BAD_VALUE, doca_sync_event_add_publisher_location_cpu, event, NULL);
	GIVES(BAD_VALUE, doca_sync_event_add_publisher_location_cpu, event, (void *)event);
	GIVES(DOCA_SUCCESS, doca_sync_event_add_publisher_location_cpu, event, dev);
	GIVES(BAD_STATE, doca_sync_event_start, event);
	GIVES(DOCA_ERROR_ALREADY_EXIST, doca_sync_event_add_publisher_location_cpu, event, dev);
	GIVES(DOCA_ERROR_ALREADY_EXIST, doca_sync_event_add_publisher_location_remote_pci, event);
	GIVES(DOCA_ERROR_ALREADY_EXIST, doca_sync_event_add_publisher_location_remote_net, event);
	GIVES(BAD_VALUE, doca_sync_event_add_subscriber_location_cpu, event, NULL);
	GIVES(DOCA_SUCCESS, doca_sync_event_add_subscriber_location_cpu, event, dev);
	GIVES(DOCA_ERROR_ALREADY_EXIST, doca_sync_event_add_subscriber_location_cpu, event, dev);
	GIVES(DOCA_ERROR_ALREADY_EXIST, doca_sync_event_add_subscriber_location_remote_pci, event);

	/* Started and stopped as an event and as a context. */
	for (round = 0; round < 4; round++) {
		IS(DOCA_CTX_STATE_IDLE, state_of_event(event));
		if (round % 2 == 0)
			GIVES(DOCA_SUCCESS, doca_sync_event_start, event);
		else
			GIVES(DOCA_SUCCESS, doca_ctx_start, ctx);
		IS(DOCA_CTX_STATE_RUNNING, state_of_event(event));
		refused_once_started(event, dev, buf);
		GIVES(DOCA_SUCCESS, doca_ctx_get_num_inflight_tasks, ctx, &count);
		IS(0, count);
		if (round < 2)
			GIVES(DOCA_SUCCESS, doca_sync_event_stop, event);
		else
			GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
		refused_unless_started(event, dev);
	}
	GIVES(DOCA_SUCCESS, doca_ctx_stop, ctx);
	GIVES(DOCA_SUCCESS, doca_sync_event_destroy, event);
}

static inline void values_of_events(struct doca_dev *dev)
{
	struct doca_sync_event *event = own_event(dev);
	uint64_t value = 9;

	MUST(doca_sync_event_start(event));
	GIVES(BAD_VALUE, doca_sync_event_get, event, NULL);
	GIVES(DOCA_SUCCESS, doca_sync_event_get, event, &value);
	IS(0, value);
	GIVES(DOCA_SUCCESS, doca_sync_event_update_set, event, UINT64_MAX);
	GIVES(BAD_VALUE, doca_sync_event_update_add, event, 1, NULL);
	GIVES(DOCA_SUCCESS, doca_sync_event_update_add, event, 3, &value);
	IS(UINT64_MAX, value);
	GIVES(DOCA_SUCCESS, doca_sync_event_get, event, &value);
	IS(2, value);
	GIVES(DOCA_SUCCESS, doca_sync_event_update_set, event, 0x107);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_gt, event, 0x106, EVERY_BIT);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_gt, event, 6, 0xff);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_gt_yield, event, 0x106, EVERY_BIT);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_eq, event, 0x107, EVERY_BIT);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_eq, event, 1, 1);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_eq_yield, event, 7, 0xff);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_neq, event, 0, EVERY_BIT);
	/* Only the counter is masked, not the argument. */
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_neq, event, 0x107, 0xff);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_neq_yield, event, 0x106, EVERY_BIT);
	GIVES(DOCA_SUCCESS, doca_sync_event_stop, event);
	GIVES(DOCA_SUCCESS, doca_sync_event_start, event);
	GIVES(DOCA_SUCCESS, doca_sync_event_get, event, &value);
	IS(0, value);
	end_event(event);
}

static inline void memory_of_events(struct doca_dev *dev)
{
	struct doca_buf_inventory *inventory = started_inventory(2);
	struct doca_sync_event *event = own_event(dev);
	static uint64_t words[4] = {1, 2, 3, 4};
	char *start = (char *)words;
	struct doca_mmap *map = started_map(words, sizeof(words), DOCA_ACCESS_FLAG_LOCAL_READ_WRITE,
					    NULL);
	struct doca_mmap *read_only = started_map(words, sizeof(words), 0, NULL);
	struct doca_buf *buf, *other;
	uint64_t value;

	GIVES(BAD_VALUE, doca_sync_event_set_addr, event, NULL);
	GIVES(BAD_VALUE, doca_sync_event_set_addr, event, (void *)(start + 4));
	GIVES(BAD_VALUE, doca_sync_event_set_addr, event, (void *)(start + 1));
	GIVES(DOCA_SUCCESS, doca_sync_event_set_addr, event, &words[1]);
	GIVES(DOCA_SUCCESS, doca_sync_event_start, event);
	GIVES(DOCA_SUCCESS, doca_sync_event_update_add, event, 5, &value);
	IS(2, value);
	IS(1, words[0] == 1 && words[1] == 7 && words[2] == 3);
	GIVES(DOCA_SUCCESS, doca_sync_event_stop, event);

	MUST(doca_buf_inventory_buf_get_by_args(inventory, map, words, 32, &words[2], 4, &buf));
	GIVES(BAD_VALUE, doca_sync_event_set_doca_buf, event, NULL);
	GIVES(BAD_VALUE, doca_sync_event_set_doca_buf, event, (void *)map);
	GIVES(DOCA_SUCCESS, doca_sync_event_set_doca_buf, event, buf);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, buf, NULL);
	GIVES(DOCA_ERROR_IN_USE, doca_mmap_stop, map);
	GIVES(DOCA_SUCCESS, doca_sync_event_start, event);
	GIVES(DOCA_SUCCESS, doca_sync_event_update_set, event, 30);
	IS(1, words[1] == 7 && words[2] == 30 && words[3] == 4);
	GIVES(DOCA_SUCCESS, doca_sync_event_stop, event);

	/* Too short, unaligned, or read-only memory. */
	MUST(doca_buf_inventory_buf_get_by_args(inventory, map, words, 32, start + 25, 7, &buf));
	GIVES(BAD_VALUE, doca_sync_event_set_doca_buf, event, buf);
	MUST(doca_buf_set_data(buf, start + 12, 8));
	GIVES(BAD_VALUE, doca_sync_event_set_doca_buf, event, buf);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, buf, NULL);
	other = buffer_at(inventory, read_only, words, 8);
	GIVES(DOCA_SUCCESS, doca_sync_event_set_doca_buf, event, other);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, other, NULL);
	/* The event released the other map. */
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
	GIVES(DOCA_SUCCESS, doca_sync_event_start, event);
	GIVES(DOCA_SUCCESS, doca_sync_event_get, event, &value);
	IS(1, value);
	GIVES(NOT_PERMITTED, doca_sync_event_update_set, event, 2);
	GIVES(NOT_PERMITTED, doca_sync_event_update_add, event, 2, &value);
	IS(1, words[0]);
	end_event(event);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, read_only);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, inventory);
	words[0] = 1, words[1] = 2, words[2] = 3;
}

/* Exports within this process use the same calls. */
static inline void exports_of_events(struct doca_dev *dev)
{
	struct doca_sync_event *event, *imported = NULL;
	const uint8_t *bytes = NULL, *again;
	uint8_t copy[64], old[64];
	static uint64_t word;
	uint64_t value;
	size_t len;

	event = own_event(dev);
	MUST(doca_sync_event_start(event));
	GIVES(NOT_PERMITTED, doca_sync_event_export_to_remote_pci, event, dev, &bytes, &len);
	GIVES(NOT_PERMITTED, doca_sync_event_export_to_remote_net, event, &bytes, &len);
	end_event(event);

	MUST(doca_sync_event_create(&event));
	MUST(doca_sync_event_add_publisher_location_remote_net(event));
	note_call("doca_sync_event_add_publisher_location_remote_net");
	MUST(doca_sync_event_add_subscriber_location_cpu(event, dev));
	MUST(doca_sync_event_start(event));
	GIVES(NOT_PERMITTED, doca_sync_event_export_to_remote_pci, event, dev, &bytes, &len);
	GIVES(BAD_VALUE, doca_sync_event_export_to_remote_net, event, NULL, &len);
	GIVES(BAD_VALUE, doca_sync_event_export_to_remote_net, event, &bytes, NULL);
	GIVES(DOCA_SUCCESS, doca_sync_event_export_to_remote_net, event, &bytes, &len);
	IS(sizeof(copy), len);
	memcpy(copy, bytes, sizeof(copy));
	GIVES(NOT_PERMITTED, doca_sync_event_update_set, event, 1);
	GIVES(NOT_PERMITTED, doca_sync_event_update_add, event, 1, &value);

	GIVES(BAD_VALUE, doca_sync_event_create_from_export, NULL, copy, 64, &imported);
	GIVES(BAD_VALUE, doca_sync_event_create_from_export, dev, NULL, 64, &imported);
	GIVES(BAD_VALUE, doca_sync_event_create_from_export, dev, copy, 64, NULL);
	GIVES(BAD_VALUE, doca_sync_event_create_from_export, dev, copy, 63, &imported);
	GIVES(BAD_VALUE, doca_sync_event_create_from_export, dev, copy, SIZE_MAX, &imported);
	copy[40] ^= 1;
	GIVES(BAD_VALUE, doca_sync_event_create_from_export, dev, copy, 64, &imported);
	copy[40] ^= 1;
	IS(1, imported == NULL);
	GIVES(DOCA_SUCCESS, doca_sync_event_create_from_export, dev, copy, 64, &imported);
	refused_unless_started(imported, dev);
	/* The exporter has configured it. */
	GIVES(NOT_PERMITTED, doca_sync_event_add_publisher_location_cpu, imported, dev);
	GIVES(NOT_PERMITTED, doca_sync_event_add_publisher_location_remote_pci, imported);
	GIVES(NOT_PERMITTED, doca_sync_event_add_publisher_location_remote_net, imported);
	GIVES(NOT_PERMITTED, doca_sync_event_add_subscriber_location_cpu, imported, dev);
	GIVES(NOT_PERMITTED, doca_sync_event_add_subscriber_location_remote_pci, imported);
	GIVES(NOT_PERMITTED, doca_sync_event_set_addr, imported, &word);
	GIVES(DOCA_SUCCESS, doca_sync_event_start, imported);
	GIVES(NOT_PERMITTED, doca_sync_event_get, imported, &value);
	GIVES(NOT_PERMITTED, doca_sync_event_wait_gt, imported, 0, EVERY_BIT);
	GIVES(NOT_PERMITTED, doca_sync_event_export_to_remote_net, imported, &bytes, &len);
	GIVES(DOCA_SUCCESS, doca_sync_event_update_set, imported, 6);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_gt, event, 5, EVERY_BIT);
	/* The import outlives the event and the exported bytes. */
	end_event(event);
	GIVES(DOCA_SUCCESS, doca_sync_event_update_add, imported, 1, &value);
	IS(6, value);
	memcpy(old, copy, sizeof(old));
	GIVES(DOCA_ERROR_NOT_FOUND, doca_sync_event_create_from_export, dev, old, 64, &event);
	end_event(imported);

	MUST(doca_sync_event_create(&event));
	MUST(doca_sync_event_add_publisher_location_cpu(event, dev));
	MUST(doca_sync_event_add_subscriber_location_remote_pci(event));
	note_call("doca_sync_event_add_subscriber_location_remote_pci");
	MUST(doca_sync_event_start(event));
	GIVES(NOT_PERMITTED, doca_sync_event_export_to_remote_net, event, &bytes, &len);
	GIVES(BAD_VALUE, doca_sync_event_export_to_remote_pci, event, NULL, &bytes, &len);
	GIVES(BAD_VALUE, doca_sync_event_export_to_remote_pci, event, dev, NULL, &len);
	GIVES(BAD_VALUE, doca_sync_event_export_to_remote_pci, event, dev, &bytes, NULL);
	GIVES(DOCA_SUCCESS, doca_sync_event_export_to_remote_pci, event, dev, &bytes, &len);
	GIVES(DOCA_SUCCESS, doca_sync_event_export_to_remote_pci, event, dev, &again, &len);
	IS(1, bytes == again);
	GIVES(DOCA_SUCCESS, doca_sync_event_create_from_export, dev, bytes, len, &imported);
	MUST(doca_sync_event_start(imported));
	GIVES(NOT_PERMITTED, doca_sync_event_get, event, &value);
	GIVES(NOT_PERMITTED, doca_sync_event_update_set, imported, 1);
	GIVES(DOCA_SUCCESS, doca_sync_event_update_set, event, 8);
	GIVES(DOCA_SUCCESS, doca_sync_event_wait_eq_yield, imported, 8, EVERY_BIT);
	end_event(imported);
	end_event(event);

	/* Memory that other processes cannot open. */
	MUST(doca_sync_event_create(&event));
	MUST(doca_sync_event_add_publisher_location_remote_pci(event));
	note_call("doca_sync_event_add_publisher_location_remote_pci");
	MUST(doca_sync_event_add_subscriber_location_cpu(event, dev));
	MUST(doca_sync_event_set_addr(event, &word));
	MUST(doca_sync_event_start(event));
	GIVES(DOCA_SUCCESS, doca_sync_event_export_to_remote_pci, event, dev, &bytes, &len);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_sync_event_create_from_export, dev, bytes, len,
	      &imported);
	end_event(event);
}

static inline void every_sync_event_call(struct doca_dev *dev)
{
	struct doca_buf_inventory *inventory = started_inventory(1);
	static uint64_t word;
	struct doca_mmap *map = started_map(&word, 8, 0, NULL);
	struct doca_buf *buf = buffer_at(inventory, map, &word, 8);

	states_of_events(dev, buf);
	MUST(doca_buf_dec_refcount(buf, NULL));
	MUST(doca_buf_inventory_destroy(inventory));
	MUST(doca_mmap_destroy(map));
	values_of_events(dev);
	memory_of_events(dev);
	exports_of_events(dev);
}

#endif /* TESTS_EVERY_SYNC_EVENT_H */
