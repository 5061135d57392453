/*
 * What the other headers offer on this machine.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_CONFIG_H_
#define DOCA_CONFIG_H_

#include <doca_build_config.h>

/* The DOCA_STRUCT_* macros of doca_compat.h are there, except for code that runs on the data path
 * accelerator. */
#if !defined(DOCA_DPA_DEVICE) && !defined(DOCA_COMPAT_HELPERS)
#define DOCA_COMPAT_HELPERS
#endif

#endif /* DOCA_CONFIG_H_ */
