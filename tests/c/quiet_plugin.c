/* A plugin that takes commands and does nothing with them, and says so in the log. For what can be seen of it from outside. */
#include <stdlib.h>

#include <doca_error.h>
#include <doca_log.h>
#include <doca_urom_plugin.h>

DOCA_LOG_REGISTER(WORKER::QUIET);

static doca_error_t quiet_open(struct urom_worker_ctx *ctx)
{
	(void)ctx;
	DOCA_LOG_INFO("opened");
	return DOCA_SUCCESS;
}

static void quiet_close(struct urom_worker_ctx *ctx)
{
	(void)ctx;
}

static doca_error_t quiet_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

static doca_error_t quiet_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	(void)ctx;
	(void)cmd_list;
	return DOCA_SUCCESS;
}

static doca_error_t quiet_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	(void)ctx;
	(void)notif_list;
	return DOCA_ERROR_EMPTY;
}

static doca_error_t quiet_notif_pack(struct urom_worker_notify *notif, size_t *packed_notif_len, void *packed_notif)
{
	(void)notif;
	(void)packed_notif_len;
	(void)packed_notif;
	return DOCA_ERROR_NOT_SUPPORTED;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	if (iface == NULL)
		return DOCA_ERROR_INVALID_VALUE;
	iface->open = quiet_open;
	iface->close = quiet_close;
	iface->addr = quiet_addr;
	iface->worker_cmd = quiet_worker_cmd;
	iface->progress = quiet_progress;
	iface->notif_pack = quiet_notif_pack;
	DOCA_STRUCT_CTOR(*iface);
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	if (version == NULL)
		return DOCA_ERROR_INVALID_VALUE;
	*version = 1;
	return DOCA_SUCCESS;
}
