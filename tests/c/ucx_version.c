/* Uses UCX and DOCA: prints the version of the loaded UCX. */
#include <stdio.h>

#include <doca_error.h>
#include <doca_urom_plugin.h>
#include <ucp/api/ucp.h>

int main(void)
{
	unsigned major, minor, release;

	ucp_get_version(&major, &minor, &release);
	printf("ucx %u.%u.%u\n", major, minor, release);
	return 0;
}
