/* Registers a log source before main, creates a progress engine, and logs. */
#include <doca_error.h>
#include <doca_log.h>
#include <doca_pe.h>

DOCA_LOG_REGISTER(TESTS::LOG_SOURCE);

int main(void)
{
	struct doca_pe *pe;
	doca_error_t result;

	doca_log_backend_create_standard();
	result = doca_pe_create(&pe);
	if (result == DOCA_SUCCESS)
		result = doca_pe_destroy(pe);
	DOCA_LOG_INFO("a progress engine came and went: %s", doca_error_get_name(result));
	return result == DOCA_SUCCESS ? 0 : 1;
}
