/*
 * Devices: finding one and opening it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Any thread may call these. NULL gives INVALID_VALUE.
 */
#ifndef DOCA_DEV_H_
#define DOCA_DEV_H_

#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_dev;     /* a device that was opened */
struct doca_devinfo; /* one that could be */
struct doca_dev_rep; /* the representor of a host's device on a DPU, opened */
struct doca_devinfo_rep;

/* Room for the texts below, with their NUL. */
#define DOCA_DEVINFO_PCI_ADDR_SIZE 13 /* "dddd:bb:dd.f" */
#define DOCA_DEVINFO_PCI_BDF_SIZE 8   /* "bb:dd.f" */
#define DOCA_DEVINFO_IFACE_NAME_SIZE 256
#define DOCA_DEVINFO_IBDEV_NAME_SIZE 64
#define DOCA_DEVINFO_REP_VUID_SIZE 128

/* Which representors to list. */
enum doca_devinfo_rep_filter {
	DOCA_DEVINFO_REP_FILTER_ALL = 0,
	DOCA_DEVINFO_REP_FILTER_NET = 1 << 1,
	DOCA_DEVINFO_REP_FILTER_EMULATED = 1 << 2
};

/* ---- Devices ---- */

/* Lists the devices there are now. The caller destroys the list. NOT_FOUND when there is none;
 * NO_MEMORY. */
DOCA_STABLE
doca_error_t doca_devinfo_create_list(struct doca_devinfo ***dev_list, uint32_t *nb_devs);

/* Frees a list and all its elements. Devices that were opened stay open. */
DOCA_STABLE
doca_error_t doca_devinfo_destroy_list(struct doca_devinfo **dev_list);

/* Opens a device of a list; opening it again gives the same device and counts. */
DOCA_STABLE
doca_error_t doca_dev_open(struct doca_devinfo *devinfo, struct doca_dev **dev);

/* Closes it once. IN_USE while a context uses it. */
DOCA_STABLE
doca_error_t doca_dev_close(struct doca_dev *dev);

/* The PCI address, "dddd:bb:dd.f", in room for DOCA_DEVINFO_PCI_ADDR_SIZE bytes. */
DOCA_STABLE
doca_error_t doca_devinfo_get_pci_addr_str(const struct doca_devinfo *devinfo, char *pci_addr_str);

/* Stores 1 when the device has this PCI address, else 0. Without a domain, "bb:dd.f", domain 0 is
 * meant. */
DOCA_STABLE
doca_error_t doca_devinfo_is_equal_pci_addr(const struct doca_devinfo *devinfo,
					    const char *pci_addr_str, uint8_t *is_equal);

/* The name of the network interface; `size` is at least DOCA_DEVINFO_IFACE_NAME_SIZE. */
DOCA_STABLE
doca_error_t doca_devinfo_get_iface_name(const struct doca_devinfo *devinfo, char *iface_name,
					 uint32_t size);

/* The name of the InfiniBand device, such as "mlx5_0"; `size` is at least
 * DOCA_DEVINFO_IBDEV_NAME_SIZE. */
DOCA_STABLE
doca_error_t doca_devinfo_get_ibdev_name(const struct doca_devinfo *devinfo, char *ibdev_name,
					 uint32_t size);

/* What kind of PCI function the device is. */
DOCA_EXPERIMENTAL
doca_error_t doca_devinfo_get_pci_func_type(const struct doca_devinfo *devinfo,
					    enum doca_pci_func_type *pci_func_type);

/* The index of a scalable function. */
DOCA_EXPERIMENTAL
doca_error_t doca_devinfo_get_sf_index(const struct doca_devinfo *devinfo, uint32_t *sf_index);

/* ---- Representors ---- */

/* They exist on a DPU only: this project's library gives NOT_SUPPORTED for all of them. */

/* Lists the representors of a device; `filter` is a doca_devinfo_rep_filter. The caller destroys
 * the list. */
DOCA_STABLE
doca_error_t doca_devinfo_rep_create_list(struct doca_dev *dev, int filter,
					  struct doca_devinfo_rep ***dev_list_rep,
					  uint32_t *nb_devs_rep);

/* Frees a list. */
DOCA_STABLE
doca_error_t doca_devinfo_rep_destroy_list(struct doca_devinfo_rep **dev_list_rep);

/* The unique id, as text; `size` is at least DOCA_DEVINFO_REP_VUID_SIZE. */
DOCA_STABLE
doca_error_t doca_devinfo_rep_get_vuid(const struct doca_devinfo_rep *devinfo_rep, char *rep_vuid,
				       uint32_t size);

/* Stores 1 when the representor's device has this PCI address, else 0. */
DOCA_STABLE
doca_error_t doca_devinfo_rep_is_equal_pci_addr(const struct doca_devinfo_rep *devinfo_rep,
						const char *pci_addr_str, uint8_t *is_equal);

/* Opens a representor. */
DOCA_STABLE
doca_error_t doca_dev_rep_open(struct doca_devinfo_rep *devinfo_rep, struct doca_dev_rep **dev_rep);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_DEV_H_ */
