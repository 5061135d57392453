/*
 * Small types for several headers.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_TYPES_H_
#define DOCA_TYPES_H_

#include <stdint.h>

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Eight bytes of user data, passed by value. The library never interprets them. */
union doca_data {
	void *ptr;
	uint64_t u64;
};

typedef int doca_event_handle_t;

#define doca_event_invalid_handle (-1)

/* Numbers in network byte order (big-endian). */
typedef __be16 doca_be16_t;
typedef __be32 doca_be32_t;
typedef __be64 doca_be64_t;

/* Permissions for memory, or-ed together. */
enum doca_access_flag {
	DOCA_ACCESS_FLAG_LOCAL_READ_ONLY = 0,
	DOCA_ACCESS_FLAG_LOCAL_READ_WRITE = 1 << 0,
	DOCA_ACCESS_FLAG_RDMA_READ = 1 << 1,
	DOCA_ACCESS_FLAG_RDMA_WRITE = 1 << 2,
	DOCA_ACCESS_FLAG_RDMA_ATOMIC = 1 << 3,
	DOCA_ACCESS_FLAG_PCI_READ_ONLY = 1 << 4,
	DOCA_ACCESS_FLAG_PCI_READ_WRITE = 1 << 5,
	DOCA_ACCESS_FLAG_PCI_RELAXED_ORDERING = 1 << 6
};

/* A PCI function: physical, virtual, or scalable. */
enum doca_pci_func_type {
	DOCA_PCI_FUNC_TYPE_PF = 0,
	DOCA_PCI_FUNC_TYPE_VF = 1,
	DOCA_PCI_FUNC_TYPE_SF = 2
};

#ifdef __cplusplus
}
#endif

#endif /* DOCA_TYPES_H_ */
