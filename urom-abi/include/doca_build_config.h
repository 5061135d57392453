/*
 * Build configuration of the headers; empty here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * DOCA generates a file of this name with its headers; doca_config.h includes it.
 */
#ifndef DOCA_BUILD_CONFIG_H_
#define DOCA_BUILD_CONFIG_H_
#endif /* DOCA_BUILD_CONFIG_H_ */
