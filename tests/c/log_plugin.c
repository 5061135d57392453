/* A plugin that logs a line of each level when it is loaded and when it is opened, and that has no other use. */
#include <stdlib.h>

#include <doca_error.h>
#define DOCA_LOGGING_ALLOW_TRACE
#include <doca_log.h>
#include <doca_urom_plugin.h>

DOCA_LOG_REGISTER(LOG::PLUGIN);

/* Of the priority of DOCA_LOG_REGISTER's, and before main in a program that is linked to it. */
__attribute__((constructor(101))) static void loaded(void)
{
	DOCA_LOG_WARN("loaded, as source %s", log_source > 0 ? "of its own" : "unknown");
}

static doca_error_t plugin_open(struct urom_worker_ctx *ctx)
{
	(void)ctx;
	DOCA_LOG_CRIT("this is %s", "crit");
	DOCA_LOG_ERR("this is %s", "err");
	DOCA_LOG_WARN("this is %s", "warn");
	DOCA_LOG_INFO("this is %s", "info");
	DOCA_LOG_DBG("this is %s", "dbg");
	DOCA_LOG_TRC("this is %s", "trc");
	return DOCA_SUCCESS;
}

static void plugin_close(struct urom_worker_ctx *ctx)
{
	(void)ctx;
}

static doca_error_t plugin_addr(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len)
{
	(void)ctx;
	(void)addr;
	*addr_len = 0;
	return DOCA_SUCCESS;
}

static doca_error_t plugin_worker_cmd(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list)
{
	(void)ctx;
	(void)cmd_list;
	return DOCA_SUCCESS;
}

static doca_error_t plugin_progress(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list)
{
	(void)ctx;
	(void)notif_list;
	return DOCA_ERROR_EMPTY;
}

static doca_error_t plugin_notif_pack(struct urom_worker_notify *notif, size_t *packed_notif_len, void *packed_notif)
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
	iface->open = plugin_open;
	iface->close = plugin_close;
	iface->addr = plugin_addr;
	iface->worker_cmd = plugin_worker_cmd;
	iface->progress = plugin_progress;
	iface->notif_pack = plugin_notif_pack;
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
