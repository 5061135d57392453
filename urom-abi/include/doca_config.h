/*
 * Configuration of the other headers for this machine.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef DOCA_CONFIG_H_
#define DOCA_CONFIG_H_

#include <doca_build_config.h>

/* The DOCA_STRUCT_* macros exist except for code on the data path accelerator. */
#if !defined(DOCA_DPA_DEVICE) && !defined(DOCA_COMPAT_HELPERS)
#define DOCA_COMPAT_HELPERS
#endif

#endif /* DOCA_CONFIG_H_ */
