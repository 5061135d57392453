/*
 * What this project's library can do beyond DOCA's interface. NVIDIA's has none of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UROM_EXTENSIONS_H_
#define UROM_EXTENSIONS_H_

#include <stddef.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_urom_service;

/*
 * Names the service's address, "host:port", instead of the environment. `origin` says where it came from, for messages;
 * it may be NULL. Texts are copied. BAD_STATE when the service is not idle.
 */
DOCA_STABLE
doca_error_t urom_service_set_address(struct doca_urom_service *service, const char *address, const char *origin);

/*
 * Asks for the embedded service: workers are threads of this process. `plugin_path` is as in UROM_PLUGIN_PATH; NULL:
 * that variable, else the directory of the running program. BAD_STATE when the service is not idle.
 */
DOCA_STABLE
doca_error_t urom_service_set_embedded(struct doca_urom_service *service, const char *plugin_path);

/*
 * Lets a service start without a device: any line of the service file that is for this host will do. BAD_STATE when the
 * service is not idle.
 */
DOCA_STABLE
doca_error_t urom_service_set_any_device(struct doca_urom_service *service);

/* Why a context failed to start, stopped by itself or refused a setting; SUCCESS when nothing failed since its start. */
DOCA_STABLE
doca_error_t urom_ctx_get_failure_code(const struct doca_ctx *ctx);

/*
 * The same in words: writes at most `capacity` bytes without a NUL, and returns the whole text's length; 0 when nothing
 * failed.
 */
DOCA_STABLE
size_t urom_ctx_get_failure(const struct doca_ctx *ctx, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* UROM_EXTENSIONS_H_ */
