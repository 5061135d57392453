/*
 * Memory maps: memory of the program, with permissions, that buffers lie in and that others may be
 * given.
 *
 * A map is created, configured, started and used, then stopped and destroyed. A setter gives
 * BAD_STATE once the map was started. Every function gives INVALID_VALUE for a pointer that is NULL
 * or stands for something else.
 *
 * This project has no RDMA device of its own. What a map exports names the memory, and gives nobody
 * access to it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_MMAP_H_
#define DOCA_MMAP_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;
struct doca_devinfo;
struct doca_dpa;
struct doca_mmap;

/* What a DPA calls a map. */
typedef uint64_t doca_dpa_dev_mmap_t;

/* Gives the memory back: called once when the map is destroyed, which is after its last buffer. */
typedef void(doca_mmap_memrange_free_cb_t)(void *addr, size_t len, void *cookie);

/* Makes a map without memory and devices. The caller destroys it. */
DOCA_STABLE
doca_error_t doca_mmap_create(struct doca_mmap **mmap);

/* Ends it, and calls what doca_mmap_set_free_cb set. IN_USE while buffers lie in it or a pool uses
 * it. */
DOCA_STABLE
doca_error_t doca_mmap_destroy(struct doca_mmap *mmap);

/* From now on buffers can lie in it. BAD_CONFIG without memory, BAD_STATE when it is started. */
DOCA_STABLE
doca_error_t doca_mmap_start(struct doca_mmap *mmap);

/* Ends its use, and what it exported. IN_USE while buffers lie in it or a pool uses it. */
DOCA_STABLE
doca_error_t doca_mmap_stop(struct doca_mmap *mmap);

/* Adds a device that may use the memory, and stays open meanwhile. ALREADY_EXIST for one that was
 * added, FULL when there are as many as the map may have. */
DOCA_STABLE
doca_error_t doca_mmap_add_dev(struct doca_mmap *mmap, struct doca_dev *dev);

/* Removes a device. NOT_FOUND for one that was not added. */
DOCA_STABLE
doca_error_t doca_mmap_rm_dev(struct doca_mmap *mmap, struct doca_dev *dev);

/* Describes the map for the DPU: 64 bytes of the map's own, which stay until it is stopped or
 * destroyed. `dev` was added. NOT_PERMITTED without a permission that begins with PCI_READ,
 * BAD_STATE unless it is started. */
DOCA_STABLE
doca_error_t doca_mmap_export_pci(struct doca_mmap *mmap, const struct doca_dev *dev,
				  const void **export_desc, size_t *export_desc_len);

/* The same for a peer in the network, with a permission that begins with RDMA. */
DOCA_STABLE
doca_error_t doca_mmap_export_rdma(struct doca_mmap *mmap, const struct doca_dev *dev,
				   const void **export_desc, size_t *export_desc_len);

/* What a DPA calls the map. There is no DPA: NOT_SUPPORTED. */
DOCA_EXPERIMENTAL
doca_error_t doca_mmap_dev_get_dpa_handle(struct doca_mmap *mmap, const struct doca_dev *dev,
					  doca_dpa_dev_mmap_t *dpa_mmap_handle);

/* Makes a map of what another process exported, which is started. Its addresses are those of the
 * owner's process: this one cannot use them as pointers. `user_data` may be NULL. INVALID_VALUE for
 * other bytes, UNSUPPORTED_VERSION for those of another release. */
DOCA_STABLE
doca_error_t doca_mmap_create_from_export(const union doca_data *user_data, const void *export_desc,
					  size_t export_desc_len, struct doca_dev *dev,
					  struct doca_mmap **mmap);

/* Sets the memory, which stays the caller's and there as long as the map is started. */
DOCA_STABLE
doca_error_t doca_mmap_set_memrange(struct doca_mmap *mmap, void *addr, size_t len);

/* Memory of another driver: NOT_SUPPORTED. */
DOCA_STABLE
doca_error_t doca_mmap_set_dmabuf_memrange(struct doca_mmap *mmap, int dmabuf_fd, void *addr,
					   size_t dmabuf_offset, size_t len);

/* Memory of a DPA: NOT_SUPPORTED. */
DOCA_EXPERIMENTAL
doca_error_t doca_mmap_set_dpa_memrange(struct doca_mmap *mmap, struct doca_dpa *dpa,
					uint64_t dpa_addr, size_t len);

/* The memory. BAD_STATE when there is none so far. */
DOCA_STABLE
doca_error_t doca_mmap_get_memrange(const struct doca_mmap *mmap, void **addr, size_t *len);

/* Sets what is called when the map is destroyed. */
DOCA_STABLE
doca_error_t doca_mmap_set_free_cb(struct doca_mmap *mmap, doca_mmap_memrange_free_cb_t *free_cb,
				   void *opaque);

/* Sets the caller's own eight bytes. */
DOCA_STABLE
doca_error_t doca_mmap_set_user_data(struct doca_mmap *mmap, union doca_data user_data);

/* The caller's own eight bytes; 0 unless they were set. */
DOCA_STABLE
doca_error_t doca_mmap_get_user_data(const struct doca_mmap *mmap, union doca_data *user_data);

/* Sets how many devices it may have: at least one, and as many as were added. */
DOCA_STABLE
doca_error_t doca_mmap_set_max_num_devices(struct doca_mmap *mmap, uint32_t max_num_devices);

/* How many devices it may have; 8 unless that was set. */
DOCA_STABLE
doca_error_t doca_mmap_get_max_num_devices(const struct doca_mmap *mmap, uint32_t *max_num_devices);

/* How many buffers lie in it. */
DOCA_STABLE
doca_error_t doca_mmap_get_num_bufs(const struct doca_mmap *mmap, uint32_t *num_bufs);

/* 1 once the map was exported, until it is stopped; else 0. */
DOCA_STABLE
doca_error_t doca_mmap_get_exported(const struct doca_mmap *mmap, uint8_t *exported);

/* 1 for a map of doca_mmap_create_from_export, else 0. */
DOCA_STABLE
doca_error_t doca_mmap_get_from_export(const struct doca_mmap *mmap, uint8_t *from_export);

/* Sets who may do what: bits of enum doca_access_flag. The owner reads, unless this was called. */
DOCA_STABLE
doca_error_t doca_mmap_set_permissions(struct doca_mmap *mmap, uint32_t access_mask);

/* Whether maps with this device can be exported for the DPU: 1. */
DOCA_STABLE
doca_error_t doca_mmap_cap_is_export_pci_supported(const struct doca_devinfo *devinfo,
						   uint8_t *mmap_export);

/* Whether maps can be made with this device of what was exported: 1. */
DOCA_STABLE
doca_error_t doca_mmap_cap_is_create_from_export_pci_supported(const struct doca_devinfo *devinfo,
							       uint8_t *from_export);

/* Lets several threads have buffers of the map at once, which is always allowed here. */
DOCA_EXPERIMENTAL
doca_error_t doca_mmap_enable_thread_safety(struct doca_mmap *mmap);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_MMAP_H_ */
