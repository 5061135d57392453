/* A host that leaks memory, to test the leak checks. */
#include "host.h"

static void *volatile kept;

int main(void)
{
	struct host host;

	open_host(&host, "mlx5_0", 2);
	kept = malloc(100);
	kept = NULL;
	close_host(&host);
	return 0;
}
