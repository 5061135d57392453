/*
 * Every function of memory maps, buffers, inventories and pools, in valid and invalid order. Needs
 * no service.
 */
#ifndef TESTS_EVERY_MEMORY_H
#define TESTS_EVERY_MEMORY_H

#include <stdlib.h>
#include <string.h>

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_buf_pool.h>
#include <doca_dev.h>
#include <doca_mmap.h>

#include "check.h"
#include "expect.h"

#define BAD_STATE DOCA_ERROR_BAD_STATE
#define BAD_VALUE DOCA_ERROR_INVALID_VALUE

static inline struct doca_mmap *started_map(void *addr, size_t len, uint32_t access,
					    struct doca_dev *dev)
{
	struct doca_mmap *map;

	MUST(doca_mmap_create(&map));
	MUST(doca_mmap_set_memrange(map, addr, len));
	MUST(doca_mmap_set_permissions(map, access));
	if (dev != NULL)
		MUST(doca_mmap_add_dev(map, dev));
	MUST(doca_mmap_start(map));
	return map;
}

static inline struct doca_buf_inventory *started_inventory(size_t count)
{
	struct doca_buf_inventory *inventory;

	MUST(doca_buf_inventory_create(count, &inventory));
	MUST(doca_buf_inventory_start(inventory));
	return inventory;
}

static inline struct doca_buf *buffer_at(struct doca_buf_inventory *inventory,
					 struct doca_mmap *map, void *addr, size_t len)
{
	struct doca_buf *buf;

	MUST(doca_buf_inventory_buf_get_by_data(inventory, map, addr, len, &buf));
	return buf;
}

static inline uint32_t free_elements(const struct doca_buf_inventory *inventory)
{
	uint32_t count;

	MUST(doca_buf_inventory_get_num_free_elements(inventory, &count));
	return count;
}

struct freed {
	unsigned int times;
	void *addr;
	size_t len;
};

static inline void memory_is_back(void *addr, size_t len, void *cookie)
{
	struct freed *freed = cookie;

	freed->times++;
	freed->addr = addr;
	freed->len = len;
	free(addr);
}

static inline void settings_of_maps(struct doca_dev *dev)
{
	const union doca_data mine = {.u64 = 77};
	doca_dpa_dev_mmap_t handle = 0;
	struct freed freed = {0};
	char *memory = malloc(100);
	union doca_data data;
	struct doca_mmap *map;
	uint32_t count;
	uint8_t is;
	void *addr;
	size_t len;

	INSIST(memory != NULL);
	GIVES(BAD_VALUE, doca_mmap_create, NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_create, &map);
	GIVES(BAD_STATE, doca_mmap_get_memrange, map, &addr, &len);
	GIVES(DOCA_ERROR_BAD_CONFIG, doca_mmap_start, map);
	GIVES(BAD_STATE, doca_mmap_stop, map);
	GIVES(BAD_VALUE, doca_mmap_set_memrange, map, NULL, 100);
	GIVES(BAD_VALUE, doca_mmap_set_memrange, map, memory, 0);
	GIVES(BAD_VALUE, doca_mmap_set_memrange, map, memory, SIZE_MAX);
	GIVES(DOCA_SUCCESS, doca_mmap_set_memrange, map, memory, 100);
	GIVES(BAD_VALUE, doca_mmap_set_permissions, map, 128);
	GIVES(DOCA_SUCCESS, doca_mmap_set_permissions, map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
	GIVES(DOCA_SUCCESS, doca_mmap_get_max_num_devices, map, &count);
	IS(8, count);
	GIVES(BAD_VALUE, doca_mmap_set_max_num_devices, map, 0);
	GIVES(DOCA_SUCCESS, doca_mmap_set_max_num_devices, map, 1);
	GIVES(BAD_VALUE, doca_mmap_add_dev, map, NULL);
	GIVES(DOCA_ERROR_NOT_FOUND, doca_mmap_rm_dev, map, dev);
	GIVES(DOCA_SUCCESS, doca_mmap_add_dev, map, dev);
	GIVES(DOCA_ERROR_ALREADY_EXIST, doca_mmap_add_dev, map, dev);
	GIVES(DOCA_SUCCESS, doca_mmap_rm_dev, map, dev);
	GIVES(BAD_VALUE, doca_mmap_rm_dev, map, NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_add_dev, map, dev);
	GIVES(BAD_VALUE, doca_mmap_set_free_cb, map, NULL, &freed);
	GIVES(DOCA_SUCCESS, doca_mmap_set_free_cb, map, memory_is_back, &freed);
	GIVES(DOCA_SUCCESS, doca_mmap_set_user_data, map, mine);
	GIVES(DOCA_SUCCESS, doca_mmap_enable_thread_safety, map);
	GIVES(BAD_VALUE, doca_mmap_set_dmabuf_memrange, map, -1, memory, 0, 8);
	GIVES(BAD_VALUE, doca_mmap_set_dmabuf_memrange, map, 0, memory, 0, 0);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_mmap_set_dmabuf_memrange, map, 0, memory, 0, 8);
	GIVES(BAD_VALUE, doca_mmap_set_dpa_memrange, map, NULL, 1, 8);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_mmap_set_dpa_memrange, map, (struct doca_dpa *)memory,
	      1, 8);

	GIVES(DOCA_SUCCESS, doca_mmap_start, map);
	GIVES(BAD_STATE, doca_mmap_start, map);
	GIVES(BAD_STATE, doca_mmap_set_memrange, map, memory, 50);
	GIVES(BAD_STATE, doca_mmap_set_permissions, map, 0);
	GIVES(BAD_STATE, doca_mmap_set_max_num_devices, map, 2);
	GIVES(BAD_STATE, doca_mmap_add_dev, map, dev);
	GIVES(BAD_STATE, doca_mmap_rm_dev, map, dev);
	GIVES(BAD_STATE, doca_mmap_set_free_cb, map, memory_is_back, NULL);
	GIVES(BAD_STATE, doca_mmap_set_user_data, map, mine);
	GIVES(BAD_STATE, doca_mmap_enable_thread_safety, map);
	GIVES(BAD_VALUE, doca_mmap_dev_get_dpa_handle, map, NULL, &handle);
	GIVES(BAD_VALUE, doca_mmap_dev_get_dpa_handle, map, dev, NULL);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_mmap_dev_get_dpa_handle, map, dev, &handle);
	GIVES(BAD_VALUE, doca_mmap_get_memrange, map, NULL, &len);
	GIVES(BAD_VALUE, doca_mmap_get_memrange, map, &addr, NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_get_memrange, map, &addr, &len);
	IS(1, addr == memory && len == 100);
	GIVES(BAD_VALUE, doca_mmap_get_user_data, map, NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_get_user_data, map, &data);
	IS(77, data.u64);
	GIVES(BAD_VALUE, doca_mmap_get_max_num_devices, map, NULL);
	GIVES(BAD_VALUE, doca_mmap_get_num_bufs, map, NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_get_num_bufs, map, &count);
	IS(0, count);
	GIVES(BAD_VALUE, doca_mmap_get_exported, map, NULL);
	GIVES(BAD_VALUE, doca_mmap_get_from_export, map, NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_get_from_export, map, &is);
	IS(0, is);

	GIVES(DOCA_SUCCESS, doca_mmap_stop, map);
	GIVES(BAD_STATE, doca_mmap_stop, map);
	GIVES(DOCA_SUCCESS, doca_mmap_set_user_data, map, mine);
	GIVES(DOCA_SUCCESS, doca_mmap_start, map);
	IS(0, freed.times);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
	IS(1, freed.times == 1 && freed.addr == memory && freed.len == 100);
}

static inline void exports(struct doca_dev *dev)
{
	const uint32_t flags[] = {DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, DOCA_ACCESS_FLAG_PCI_READ_ONLY,
				  DOCA_ACCESS_FLAG_RDMA_WRITE};
	const union doca_data mine = {.u64 = 5};
	struct doca_buf_inventory *inventory = started_inventory(1);
	struct doca_mmap *map, *imported;
	struct doca_devinfo **list;
	static char memory[64];
	unsigned char copy[64];
	union doca_data data;
	struct doca_buf *buf;
	const void *bytes, *again;
	uint32_t count;
	void *addr;
	size_t len, i;
	uint8_t is;

	MUST(doca_devinfo_create_list(&list, &count));
	GIVES(BAD_VALUE, doca_mmap_cap_is_export_pci_supported, list[0], NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_cap_is_export_pci_supported, list[0], &is);
	IS(1, is);
	GIVES(BAD_VALUE, doca_mmap_cap_is_create_from_export_pci_supported, list[0], NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_cap_is_create_from_export_pci_supported, list[0], &is);
	IS(1, is);
	MUST(doca_devinfo_destroy_list(list));

	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		map = started_map(memory, sizeof(memory), flags[i], dev);
		GIVES(i == 1 ? DOCA_SUCCESS : DOCA_ERROR_NOT_PERMITTED, doca_mmap_export_pci, map,
		      dev, &bytes, &len);
		GIVES(i == 2 ? DOCA_SUCCESS : DOCA_ERROR_NOT_PERMITTED, doca_mmap_export_rdma, map,
		      dev, &bytes, &len);
		GIVES(DOCA_SUCCESS, doca_mmap_get_exported, map, &is);
		IS(i != 0, is);
		GIVES(DOCA_SUCCESS, doca_mmap_stop, map);
		GIVES(DOCA_SUCCESS, doca_mmap_get_exported, map, &is);
		IS(0, is);
		GIVES(BAD_STATE, doca_mmap_export_pci, map, dev, &bytes, &len);
		GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
	}

	map = started_map(memory, sizeof(memory), DOCA_ACCESS_FLAG_PCI_READ_WRITE, NULL);
	GIVES(BAD_VALUE, doca_mmap_export_pci, map, dev, &bytes, &len);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);

	map = started_map(memory, sizeof(memory), DOCA_ACCESS_FLAG_PCI_READ_WRITE, dev);
	GIVES(BAD_VALUE, doca_mmap_export_pci, map, NULL, &bytes, &len);
	GIVES(BAD_VALUE, doca_mmap_export_pci, map, dev, NULL, &len);
	GIVES(BAD_VALUE, doca_mmap_export_rdma, map, dev, &bytes, NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_export_pci, map, dev, &bytes, &len);
	GIVES(DOCA_SUCCESS, doca_mmap_export_pci, map, dev, &again, &len);
	IS(1, bytes == again);
	IS(sizeof(copy), len);
	memcpy(copy, bytes, sizeof(copy));
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);

	imported = NULL;
	GIVES(BAD_VALUE, doca_mmap_create_from_export, &mine, NULL, 64, dev, &imported);
	GIVES(BAD_VALUE, doca_mmap_create_from_export, &mine, copy, 63, dev, &imported);
	GIVES(BAD_VALUE, doca_mmap_create_from_export, &mine, copy, SIZE_MAX, dev, &imported);
	GIVES(BAD_VALUE, doca_mmap_create_from_export, &mine, copy, 64, NULL, &imported);
	GIVES(BAD_VALUE, doca_mmap_create_from_export, &mine, copy, 64, dev, NULL);
	copy[40] ^= 1;
	GIVES(BAD_VALUE, doca_mmap_create_from_export, &mine, copy, 64, dev, &imported);
	copy[40] ^= 1;
	IS(1, imported == NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_create_from_export, NULL, copy, 64, dev, &imported);
	GIVES(DOCA_SUCCESS, doca_mmap_get_user_data, imported, &data);
	IS(0, data.u64);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, imported);
	GIVES(DOCA_SUCCESS, doca_mmap_create_from_export, &mine, copy, 64, dev, &imported);
	GIVES(DOCA_SUCCESS, doca_mmap_get_user_data, imported, &data);
	IS(5, data.u64);
	GIVES(DOCA_SUCCESS, doca_mmap_get_from_export, imported, &is);
	IS(1, is);
	GIVES(DOCA_SUCCESS, doca_mmap_get_memrange, imported, &addr, &len);
	IS(1, addr == memory && len == sizeof(memory));
	GIVES(BAD_STATE, doca_mmap_start, imported);
	GIVES(BAD_STATE, doca_mmap_set_permissions, imported, 0);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_mmap_export_pci, imported, dev, &bytes, &len);
	MUST(doca_buf_inventory_buf_get_by_data(inventory, imported, memory + 8, 8, &buf));
	GIVES(DOCA_SUCCESS, doca_buf_get_data, buf, &addr);
	IS(1, addr == memory + 8);
	GIVES(DOCA_ERROR_IN_USE, doca_mmap_destroy, imported);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, buf, NULL);
	GIVES(DOCA_SUCCESS, doca_mmap_stop, imported);
	GIVES(DOCA_SUCCESS, doca_mmap_start, imported);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, imported);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, inventory);
}

static inline void settings_of_inventories(void)
{
	const union doca_data mine = {.u64 = 78};
	struct doca_buf_inventory *inventory = NULL;
	static char memory[64];
	struct doca_mmap *map = started_map(memory, sizeof(memory), 0, NULL), *stopped;
	struct doca_buf *bufs[3], *none = NULL;
	union doca_data data;
	uint32_t count;

	GIVES(BAD_VALUE, doca_buf_inventory_create, 0, &inventory);
	GIVES(BAD_VALUE, doca_buf_inventory_create, SIZE_MAX, &inventory);
	GIVES(BAD_VALUE, doca_buf_inventory_create, 1, NULL);
	IS(1, inventory == NULL);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_create, 1, &inventory);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, inventory);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_create, 1, &inventory);
	GIVES(BAD_STATE, doca_buf_inventory_stop, inventory);
	GIVES(BAD_STATE, doca_buf_inventory_buf_get_by_args, inventory, map, memory, 8, memory, 8,
	      &none);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_set_user_data, inventory, mine);
	GIVES(BAD_VALUE, doca_buf_inventory_expand, inventory, 0);
	GIVES(BAD_VALUE, doca_buf_inventory_expand, inventory, UINT32_MAX);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_expand, inventory, 1);
	IS(2, free_elements(inventory));
	GIVES(DOCA_SUCCESS, doca_buf_inventory_start, inventory);
	GIVES(BAD_STATE, doca_buf_inventory_start, inventory);
	GIVES(BAD_STATE, doca_buf_inventory_set_user_data, inventory, mine);
	GIVES(BAD_VALUE, doca_buf_inventory_get_user_data, inventory, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_get_user_data, inventory, &data);
	IS(78, data.u64);
	GIVES(BAD_VALUE, doca_buf_inventory_get_num_elements, inventory, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_get_num_elements, inventory, &count);
	IS(2, count);
	GIVES(BAD_VALUE, doca_buf_inventory_get_num_free_elements, inventory, NULL);

	bufs[0] = buffer_at(inventory, map, memory, 8);
	bufs[1] = buffer_at(inventory, map, memory + 8, 8);
	GIVES(DOCA_ERROR_NO_MEMORY, doca_buf_inventory_buf_get_by_args, inventory, map, memory, 8,
	      memory, 8, &none);
	GIVES(DOCA_ERROR_NO_MEMORY, doca_buf_inventory_buf_dup, inventory, bufs[0], &none);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_expand, inventory, 1);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_buf_dup, inventory, bufs[1], &bufs[2]);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_get_num_free_elements, inventory, &count);
	IS(0, count);
	GIVES(DOCA_SUCCESS, doca_mmap_get_num_bufs, map, &count);
	IS(3, count);
	GIVES(DOCA_ERROR_IN_USE, doca_buf_inventory_destroy, inventory);
	GIVES(DOCA_ERROR_IN_USE, doca_mmap_stop, map);
	GIVES(DOCA_ERROR_IN_USE, doca_mmap_destroy, map);

	GIVES(DOCA_SUCCESS, doca_buf_inventory_stop, inventory);
	GIVES(BAD_STATE, doca_buf_inventory_stop, inventory);
	GIVES(BAD_STATE, doca_buf_inventory_buf_dup, inventory, bufs[0], &none);
	GIVES(DOCA_SUCCESS, doca_buf_reset_data_len, bufs[0]);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, bufs[0], NULL);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_start, inventory);
	MUST(doca_mmap_create(&stopped));
	GIVES(BAD_STATE, doca_buf_inventory_buf_get_by_args, inventory, stopped, memory, 8, memory,
	      8, &none);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, stopped);
	IS(1, free_elements(inventory));
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, bufs[1], NULL);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, bufs[2], NULL);
	IS(1, none == NULL);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, inventory);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
}

static inline void ranges_of_buffers(void)
{
	struct doca_buf_inventory *inventory = started_inventory(2);
	static char memory[64];
	char *part = memory + 8;
	/* The map lacks the first and the last 8 bytes. */
	struct doca_mmap *map = started_map(part, 48, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, NULL);
	struct doca_buf *buf = NULL, *copy;
	void *head, *data;
	size_t len;

#define GET(code, addr, len, data, data_len)                                                       \
	GIVES(code, doca_buf_inventory_buf_get_by_args, inventory, map, addr, len, data, data_len, \
	      &buf)
	GET(BAD_VALUE, NULL, 8, part, 8);
	GET(BAD_VALUE, part, 8, NULL, 8);
	GET(BAD_VALUE, memory, 8, memory, 8);
	GET(BAD_VALUE, part, 49, part, 8);
	GET(BAD_VALUE, part + 49, 0, part + 49, 0);
	GET(BAD_VALUE, part, SIZE_MAX, part, 8);
	GET(BAD_VALUE, part + 8, 8, part, 8);
	GET(BAD_VALUE, part, 8, part, 9);
	GET(BAD_VALUE, part, 8, part + 8, 1);
	GET(BAD_VALUE, part, 8, part, SIZE_MAX);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_get_by_args, inventory, NULL, part, 8, part, 8,
	      &buf);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_get_by_args, inventory, map, part, 8, part, 8,
	      NULL);
	IS(1, buf == NULL && free_elements(inventory) == 2);
	GET(DOCA_SUCCESS, part, 48, part + 8, 30);
#undef GET

	GIVES(BAD_VALUE, doca_buf_get_head, buf, NULL);
	GIVES(BAD_VALUE, doca_buf_get_len, buf, NULL);
	GIVES(BAD_VALUE, doca_buf_get_data, buf, NULL);
	GIVES(BAD_VALUE, doca_buf_get_data_len, buf, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_get_head, buf, &head);
	GIVES(DOCA_SUCCESS, doca_buf_get_len, buf, &len);
	IS(1, head == part && len == 48);
	GIVES(DOCA_SUCCESS, doca_buf_get_data, buf, &data);
	GIVES(DOCA_SUCCESS, doca_buf_get_data_len, buf, &len);
	IS(1, data == part + 8 && len == 30);
	GIVES(BAD_VALUE, doca_buf_set_data, buf, NULL, 0);
	GIVES(BAD_VALUE, doca_buf_set_data, buf, part - 1, 1);
	GIVES(BAD_VALUE, doca_buf_set_data, buf, part, 49);
	GIVES(BAD_VALUE, doca_buf_set_data, buf, part + 49, 0);
	GIVES(BAD_VALUE, doca_buf_set_data, buf, part + 1, SIZE_MAX);
	GIVES(BAD_VALUE, doca_buf_set_data_len, buf, 41);
	GIVES(BAD_VALUE, doca_buf_set_data_len, buf, SIZE_MAX);
	GIVES(DOCA_SUCCESS, doca_buf_get_data_len, buf, &len);
	IS(30, len);
	GIVES(DOCA_SUCCESS, doca_buf_set_data, buf, part + 48, 0);
	GIVES(DOCA_SUCCESS, doca_buf_set_data, buf, part + 4, 44);
	GIVES(DOCA_SUCCESS, doca_buf_set_data_len, buf, 2);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_dup, inventory, NULL, &copy);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_dup, inventory, buf, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_buf_dup, inventory, buf, &copy);
	GIVES(DOCA_SUCCESS, doca_buf_reset_data_len, buf);
	GIVES(DOCA_SUCCESS, doca_buf_get_data, buf, &data);
	GIVES(DOCA_SUCCESS, doca_buf_get_data_len, buf, &len);
	IS(1, data == part + 4 && len == 0);
	GIVES(DOCA_SUCCESS, doca_buf_get_data, copy, &data);
	GIVES(DOCA_SUCCESS, doca_buf_get_data_len, copy, &len);
	IS(1, data == part + 4 && len == 2);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, buf, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, copy, NULL);

	/* The calls of DOCA's samples. */
	MUST(doca_buf_inventory_buf_get_by_addr(inventory, map, part, 48, &buf));
	GIVES(DOCA_SUCCESS, doca_buf_get_data_len, buf, &len);
	IS(0, len);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, buf, NULL);
	GIVES(BAD_VALUE, doca_buf_dec_refcount, buf, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, inventory);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
}

static inline void buffer_is(struct doca_buf *buf, void *head, size_t len, void *data,
			     size_t data_len)
{
	void *its_head, *its_data;
	size_t its_len, its_data_len;

	GIVES(DOCA_SUCCESS, doca_buf_get_head, buf, &its_head);
	GIVES(DOCA_SUCCESS, doca_buf_get_len, buf, &its_len);
	GIVES(DOCA_SUCCESS, doca_buf_get_data, buf, &its_data);
	GIVES(DOCA_SUCCESS, doca_buf_get_data_len, buf, &its_data_len);
	IS(1, its_head == head && its_len == len);
	IS(1, its_data == data && its_data_len == data_len);
}

static inline void buffers_elsewhere(void)
{
	struct doca_buf_inventory *inventory = started_inventory(2);
	static char memory[64];
	char *part = memory + 8;
	struct doca_mmap *map = started_map(part, 48, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, NULL);
	struct doca_buf *buf = buffer_at(inventory, map, part, 8), *other;

	/* Beyond the earlier buffer, up to the map's end. */
	GIVES(DOCA_SUCCESS, doca_buf_inventory_buf_reuse_by_data, buf, part + 16, 32);
	buffer_is(buf, part + 16, 32, part + 16, 32);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_buf_reuse_by_addr, buf, part, 48);
	buffer_is(buf, part, 48, part, 0);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_buf_reuse_by_addr, buf, part + 48, 0);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_buf_reuse_by_data, buf, part + 4, 4);

	GIVES(BAD_VALUE, doca_buf_inventory_buf_reuse_by_data, buf, NULL, 8);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_reuse_by_addr, buf, NULL, 8);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_reuse_by_data, buf, part - 1, 8);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_reuse_by_addr, buf, part + 1, 48);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_reuse_by_addr, buf, part + 49, 0);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_reuse_by_data, buf, part, SIZE_MAX);

	GIVES(DOCA_SUCCESS, doca_buf_inc_refcount, buf, NULL);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_inventory_buf_reuse_by_data, buf, part, 8);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, buf, NULL);
	other = buffer_at(inventory, map, part, 8);
	GIVES(DOCA_SUCCESS, doca_buf_chain_list, buf, other);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_inventory_buf_reuse_by_data, buf, part, 8);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_inventory_buf_reuse_by_data, other, part, 8);
	GIVES(DOCA_SUCCESS, doca_buf_unchain_list, buf, other);
	buffer_is(buf, part + 4, 4, part + 4, 4);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_buf_reuse_by_data, buf, part, 8);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, other, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, buf, NULL);
	GIVES(BAD_VALUE, doca_buf_inventory_buf_reuse_by_data, buf, part, 8);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, inventory);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
}

static inline void references_to_buffers(void)
{
	struct doca_buf_inventory *inventory = started_inventory(1);
	static char memory[8];
	struct doca_mmap *map = started_map(memory, sizeof(memory), 0, NULL);
	struct doca_buf *buf = buffer_at(inventory, map, memory, 8);
	uint32_t i, failures = 0;
	uint16_t count = 77;

	GIVES(BAD_VALUE, doca_buf_get_refcount, buf, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_get_refcount, buf, &count);
	IS(1, count);
	GIVES(DOCA_SUCCESS, doca_buf_inc_refcount, buf, &count);
	IS(1, count);
	GIVES(DOCA_SUCCESS, doca_buf_inc_refcount, buf, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, buf, &count);
	IS(3, count);
	for (i = 2; i < UINT16_MAX; i++)
		failures += doca_buf_inc_refcount(buf, NULL) != DOCA_SUCCESS;
	GIVES(DOCA_ERROR_TOO_BIG, doca_buf_inc_refcount, buf, &count);
	GIVES(DOCA_SUCCESS, doca_buf_get_refcount, buf, &count);
	IS(UINT16_MAX, count);
	for (i = 1; i < UINT16_MAX; i++)
		failures += doca_buf_dec_refcount(buf, NULL) != DOCA_SUCCESS;
	IS(0, failures);
	IS(0, free_elements(inventory));
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, buf, &count);
	IS(1, count);
	IS(1, free_elements(inventory));
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, inventory);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
}

static inline void is_linked(struct doca_buf *buf, struct doca_buf *next, struct doca_buf *last,
			     uint8_t first, uint32_t len)
{
	struct doca_buf *got_next, *got_last;
	uint8_t is_first, is_last, in_list;
	uint32_t got_len;

	GIVES(DOCA_SUCCESS, doca_buf_get_next_in_list, buf, &got_next);
	GIVES(DOCA_SUCCESS, doca_buf_get_last_in_list, buf, &got_last);
	GIVES(DOCA_SUCCESS, doca_buf_is_first_in_list, buf, &is_first);
	GIVES(DOCA_SUCCESS, doca_buf_is_last_in_list, buf, &is_last);
	GIVES(DOCA_SUCCESS, doca_buf_is_in_list, buf, &in_list);
	GIVES(DOCA_SUCCESS, doca_buf_get_list_len, buf, &got_len);
	IS(1, got_next == next && got_last == last);
	IS(1, is_first == first && is_last == (next == NULL));
	IS(1, in_list == (!first || next != NULL));
	IS(len, got_len);
}

static inline void lists_of_buffers(void)
{
	struct doca_buf_inventory *inventory = started_inventory(4), *other = started_inventory(1);
	static char memory[64];
	struct doca_mmap *map = started_map(memory, sizeof(memory), 0, NULL);
	struct doca_buf *a = buffer_at(inventory, map, memory, 8);
	struct doca_buf *b = buffer_at(other, map, memory + 8, 8);
	struct doca_buf *c = buffer_at(inventory, map, memory + 16, 8);
	struct doca_buf *d = buffer_at(inventory, map, memory + 24, 8);
	struct doca_buf *copy;
	uint16_t count;
	uint32_t bufs;

	is_linked(a, NULL, a, 1, 1);
	GIVES(BAD_VALUE, doca_buf_chain_list, a, NULL);
	GIVES(BAD_VALUE, doca_buf_chain_list, a, a);
	GIVES(DOCA_SUCCESS, doca_buf_chain_list, a, b);
	is_linked(a, b, b, 1, 2);
	is_linked(b, NULL, b, 0, 1);
	GIVES(BAD_VALUE, doca_buf_chain_list, a, b);
	GIVES(BAD_VALUE, doca_buf_chain_list, b, c);
	GIVES(BAD_VALUE, doca_buf_chain_list, c, b);
	GIVES(BAD_VALUE, doca_buf_chain_list, b, a);
	GIVES(DOCA_SUCCESS, doca_buf_chain_list, c, d);
	GIVES(BAD_VALUE, doca_buf_chain_list_tail, a, b, a);
	GIVES(BAD_VALUE, doca_buf_chain_list_tail, a, a, c);
	GIVES(BAD_VALUE, doca_buf_chain_list_tail, a, c, c);
	GIVES(BAD_VALUE, doca_buf_chain_list_tail, a, d, c);
	GIVES(BAD_VALUE, doca_buf_chain_list_tail, b, b, c);
	GIVES(BAD_VALUE, doca_buf_chain_list_tail, a, b, NULL);
	GIVES(BAD_VALUE, doca_buf_chain_list_tail, a, NULL, c);
	GIVES(DOCA_SUCCESS, doca_buf_chain_list_tail, a, b, c);
	is_linked(a, b, d, 1, 4);
	is_linked(c, d, d, 0, 2);
	GIVES(BAD_VALUE, doca_buf_get_next_in_list, a, NULL);
	GIVES(BAD_VALUE, doca_buf_get_last_in_list, a, NULL);
	GIVES(BAD_VALUE, doca_buf_is_first_in_list, a, NULL);
	GIVES(BAD_VALUE, doca_buf_is_last_in_list, a, NULL);
	GIVES(BAD_VALUE, doca_buf_is_in_list, a, NULL);
	GIVES(BAD_VALUE, doca_buf_get_list_len, a, NULL);

	/* Only references to the head count. */
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_inc_refcount, b, &count);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_dec_refcount, d, &count);
	GIVES(DOCA_SUCCESS, doca_buf_inc_refcount, a, &count);

	GIVES(DOCA_SUCCESS, doca_buf_inventory_buf_dup, inventory, b, &copy);
	is_linked(copy, NULL, copy, 1, 1);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, copy, NULL);

	GIVES(BAD_VALUE, doca_buf_unchain_list, a, NULL);
	GIVES(BAD_VALUE, doca_buf_unchain_list, a, a);
	GIVES(BAD_VALUE, doca_buf_unchain_list, b, c);
	GIVES(DOCA_SUCCESS, doca_buf_unchain_list, a, c);
	GIVES(BAD_VALUE, doca_buf_unchain_list, a, c);
	is_linked(a, b, b, 1, 2);
	is_linked(c, d, d, 1, 2);
	GIVES(DOCA_SUCCESS, doca_buf_inc_refcount, c, &count);
	IS(1, count);

	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, a, &count);
	IS(2, count);
	is_linked(a, b, b, 1, 2);
	GIVES(DOCA_ERROR_IN_USE, doca_buf_inventory_destroy, other);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, a, &count);
	GIVES(BAD_VALUE, doca_buf_dec_refcount, b, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, other);
	IS(2, free_elements(inventory));

	/* References to a later element do not keep it. */
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, c, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_unchain_list, c, d);
	GIVES(DOCA_SUCCESS, doca_buf_inc_refcount, d, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_chain_list, c, d);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, c, NULL);
	GIVES(BAD_VALUE, doca_buf_get_refcount, d, &count);
	GIVES(DOCA_SUCCESS, doca_mmap_get_num_bufs, map, &bufs);
	IS(0, bufs);
	GIVES(DOCA_SUCCESS, doca_buf_inventory_destroy, inventory);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
}

static inline void pools_of_buffers(void)
{
	const union doca_data mine = {.u64 = 79};
	static char memory[1024];
	struct doca_mmap *map, *gone;
	struct doca_buf *bufs[3], *none = NULL, *first;
	struct doca_buf_pool *pool = NULL;
	union doca_data data;
	size_t alignment, len;
	uint32_t count, i;
	void *head;

	MUST(doca_mmap_create(&map));
	MUST(doca_mmap_set_memrange(map, memory, sizeof(memory)));
	GIVES(BAD_VALUE, doca_buf_pool_create, 0, 100, map, &pool);
	GIVES(BAD_VALUE, doca_buf_pool_create, SIZE_MAX, 100, map, &pool);
	GIVES(BAD_VALUE, doca_buf_pool_create, 3, 0, map, &pool);
	GIVES(BAD_VALUE, doca_buf_pool_create, 3, 100, map, NULL);
	IS(1, pool == NULL);

	/* Starting a pool checks its map. */
	MUST(doca_mmap_create(&gone));
	GIVES(DOCA_SUCCESS, doca_buf_pool_create, 3, 100, gone, &pool);
	GIVES(BAD_STATE, doca_buf_pool_start, pool);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, gone);
	GIVES(BAD_VALUE, doca_buf_pool_start, pool);
	GIVES(DOCA_SUCCESS, doca_buf_pool_destroy, pool);
	GIVES(DOCA_SUCCESS, doca_mmap_start, map);
	GIVES(DOCA_SUCCESS, doca_buf_pool_create, 11, 100, map, &pool);
	GIVES(BAD_VALUE, doca_buf_pool_start, pool);
	GIVES(DOCA_SUCCESS, doca_buf_pool_destroy, pool);

	GIVES(DOCA_SUCCESS, doca_buf_pool_create, 3, 100, map, &pool);
	GIVES(BAD_STATE, doca_buf_pool_buf_alloc, pool, &none);
	GIVES(BAD_STATE, doca_buf_pool_stop, pool);
	GIVES(DOCA_SUCCESS, doca_buf_pool_get_element_alignment, pool, &alignment);
	IS(1, alignment);
	GIVES(BAD_VALUE, doca_buf_pool_set_element_alignment, pool, 0);
	GIVES(BAD_VALUE, doca_buf_pool_set_element_alignment, pool, 3);
	GIVES(DOCA_SUCCESS, doca_buf_pool_set_element_alignment, pool, 64);
	GIVES(DOCA_SUCCESS, doca_buf_pool_set_user_data, pool, mine);
	GIVES(DOCA_SUCCESS, doca_buf_pool_start, pool);
	GIVES(BAD_STATE, doca_buf_pool_start, pool);
	GIVES(BAD_STATE, doca_buf_pool_set_element_alignment, pool, 8);
	GIVES(BAD_STATE, doca_buf_pool_set_user_data, pool, mine);
	GIVES(BAD_VALUE, doca_buf_pool_get_element_alignment, pool, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_pool_get_element_alignment, pool, &alignment);
	IS(64, alignment);
	GIVES(BAD_VALUE, doca_buf_pool_get_user_data, pool, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_pool_get_user_data, pool, &data);
	IS(79, data.u64);
	GIVES(BAD_VALUE, doca_buf_pool_get_num_elements, pool, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_pool_get_num_elements, pool, &count);
	IS(3, count);

	GIVES(BAD_VALUE, doca_buf_pool_buf_alloc, pool, NULL);
	for (i = 0; i < 3; i++) {
		GIVES(DOCA_SUCCESS, doca_buf_pool_buf_alloc, pool, &bufs[i]);
		GIVES(DOCA_SUCCESS, doca_buf_get_head, bufs[i], &head);
		GIVES(DOCA_SUCCESS, doca_buf_get_len, bufs[i], &len);
		IS(1, len == 100 && (uintptr_t)head % 64 == 0);
		IS(1, (char *)head >= memory && (char *)head + len <= memory + sizeof(memory));
		memset(head, (int)i, len);
	}
	for (i = 0; i < 3; i++) {
		GIVES(DOCA_SUCCESS, doca_buf_get_head, bufs[i], &head);
		IS(1, ((char *)head)[0] == (char)i && ((char *)head)[99] == (char)i);
		GIVES(DOCA_SUCCESS, doca_buf_get_data_len, bufs[i], &len);
		IS(0, len);
	}
	GIVES(DOCA_ERROR_NO_MEMORY, doca_buf_pool_buf_alloc, pool, &none);
	GIVES(BAD_VALUE, doca_buf_pool_get_num_free_elements, pool, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_pool_get_num_free_elements, pool, &count);
	IS(0, count);
	GIVES(DOCA_ERROR_IN_USE, doca_buf_pool_destroy, pool);
	GIVES(DOCA_ERROR_NOT_PERMITTED, doca_buf_inventory_buf_reuse_by_addr, bufs[1], memory, 8);
	/* This head belongs to another buffer. */
	GIVES(BAD_VALUE, doca_buf_set_data, bufs[1], head, 0);
	GIVES(DOCA_SUCCESS, doca_buf_chain_list, bufs[0], bufs[1]);
	GIVES(DOCA_SUCCESS, doca_buf_pool_stop, pool);
	GIVES(BAD_STATE, doca_buf_pool_buf_alloc, pool, &none);
	first = bufs[0];
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, first, NULL);
	GIVES(DOCA_SUCCESS, doca_buf_pool_get_num_free_elements, pool, &count);
	IS(2, count);
	GIVES(DOCA_SUCCESS, doca_buf_dec_refcount, bufs[2], NULL);
	IS(1, none == NULL);
	GIVES(DOCA_ERROR_IN_USE, doca_mmap_stop, map);
	GIVES(DOCA_ERROR_IN_USE, doca_mmap_destroy, map);
	GIVES(DOCA_SUCCESS, doca_buf_pool_destroy, pool);
	GIVES(DOCA_SUCCESS, doca_mmap_destroy, map);
}

static inline void every_memory_call(struct doca_dev *dev)
{
	settings_of_maps(dev);
	exports(dev);
	settings_of_inventories();
	ranges_of_buffers();
	buffers_elsewhere();
	references_to_buffers();
	lists_of_buffers();
	pools_of_buffers();
}

#endif /* TESTS_EVERY_MEMORY_H */
