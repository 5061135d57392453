/* A plugin that logs when it is loaded, and a line of each level when it is opened. */
#define DOCA_LOGGING_ALLOW_TRACE
#include <doca_log.h>

#include "quiet.h"

DOCA_LOG_REGISTER(LOG::PLUGIN);

/* The priority of DOCA_LOG_REGISTER; before main if linked to the program. */
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

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	return quiet_get_iface(iface, plugin_open);
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	return quiet_get_version(version);
}
