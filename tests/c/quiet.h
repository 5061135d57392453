/* Methods of a plugin that ignores commands; the plugin supplies `open`. */
#ifndef TESTS_QUIET_H
#define TESTS_QUIET_H

#include <doca_error.h>
#include <doca_urom_plugin.h>

static inline void quiet_close(struct urom_worker_ctx *ctx)
{
	(void)ctx;
}

static inline doca_error_t quiet_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

static inline doca_error_t quiet_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	(void)ctx;
	(void)cmd_list;
	return DOCA_SUCCESS;
}

static inline doca_error_t quiet_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	(void)ctx;
	(void)notif_list;
	return DOCA_ERROR_EMPTY;
}

static inline doca_error_t quiet_notif_pack(struct urom_worker_notify *notif,
					    size_t *packed_notif_len, void *packed_notif)
{
	(void)notif;
	(void)packed_notif_len;
	(void)packed_notif;
	return DOCA_ERROR_NOT_SUPPORTED;
}

static inline doca_error_t quiet_get_iface(struct urom_plugin_iface *iface,
					   doca_error_t (*open)(struct urom_worker_ctx *ctx))
{
	if (iface == NULL)
		return DOCA_ERROR_INVALID_VALUE;
	DOCA_STRUCT_CTOR(*iface);
	iface->open = open;
	iface->close = quiet_close;
	iface->addr = quiet_addr;
	iface->worker_cmd = quiet_worker_cmd;
	iface->progress = quiet_progress;
	iface->notif_pack = quiet_notif_pack;
	return DOCA_SUCCESS;
}

static inline doca_error_t quiet_get_version(uint64_t *version)
{
	if (version == NULL)
		return DOCA_ERROR_INVALID_VALUE;
	*version = 1;
	return DOCA_SUCCESS;
}

#endif /* TESTS_QUIET_H */
