/* A program that is linked only with libdoca_common. */
#include <stdio.h>

#include <doca_buf.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_error.h>
#include <doca_log.h>
#include <doca_pe.h>
#include <doca_version.h>

#include "check.h"

DOCA_LOG_REGISTER(TESTS::COMMON_ALONE);

int main(void)
{
	struct doca_devinfo **list;
	doca_notification_handle_t handle;
	struct doca_pe *pe;
	uint32_t count;

	MUST(doca_log_backend_create_standard());
	DOCA_LOG_INFO("%s of %s", doca_error_get_name(DOCA_ERROR_NOT_FOUND), doca_version());
	INSIST(doca_ctx_start(NULL) == DOCA_ERROR_INVALID_VALUE);
	INSIST(doca_pe_progress(NULL) == 0);
	INSIST(doca_task_get_ctx(NULL) == NULL);
	INSIST(doca_task_try_submit(NULL) == DOCA_ERROR_INVALID_VALUE);
	doca_task_free(NULL);

	MUST(doca_pe_create(&pe));
	MUST(doca_devinfo_create_list(&list, &count));
	for (uint32_t i = 0; i < count; i++) {
		char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];

		MUST(doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)));
		printf("device %s\n", name);
	}
	MUST(doca_devinfo_destroy_list(list));
	MUST(doca_pe_get_notification_handle(pe, &handle));
	MUST(doca_pe_request_notification(pe));
	MUST(doca_pe_clear_notification(pe, handle));
	printf("engine %d\n", doca_pe_progress(pe));
	MUST(doca_pe_destroy(pe));
	return 0;
}
