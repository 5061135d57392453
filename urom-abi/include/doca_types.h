/*
 * Small types that several of the headers use.
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

/* Eight bytes of the caller's, kept for it and never looked at. Passed by value. */
union doca_data {
	void *ptr;
	uint64_t u64;
};

/* What poll() and epoll can wait for. */
typedef int doca_event_handle_t;

/* A handle that stands for nothing. */
#define doca_event_invalid_handle (-1)

/* Numbers in the byte order of the network: the most significant byte first. */
typedef __be16 doca_be16_t;
typedef __be32 doca_be32_t;
typedef __be64 doca_be64_t;

/* What may be done to memory, and by whom; or-ed together. */
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

/* What a PCI function is: physical, virtual, or a scalable one. */
enum doca_pci_func_type {
	DOCA_PCI_FUNC_TYPE_PF = 0,
	DOCA_PCI_FUNC_TYPE_VF = 1,
	DOCA_PCI_FUNC_TYPE_SF = 2
};

#ifdef __cplusplus
}
#endif

#endif /* DOCA_TYPES_H_ */
