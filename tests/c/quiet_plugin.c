/* A plugin that only logs its open call, for tests from outside. */
#include <doca_log.h>

#include "quiet.h"

DOCA_LOG_REGISTER(WORKER::QUIET);

static doca_error_t quiet_open(struct urom_worker_ctx *ctx)
{
	(void)ctx;
	DOCA_LOG_INFO("opened");
	return DOCA_SUCCESS;
}

doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	return quiet_get_iface(iface, quiet_open);
}

doca_error_t urom_plugin_get_version(uint64_t *version)
{
	return quiet_get_version(version);
}
