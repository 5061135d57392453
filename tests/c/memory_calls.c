/*
 * Memory maps, buffers, inventories and pools without a service. Environment: UROM_DEVICE=virtual0
 */
#include "every_memory.h"

int main(void)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	uint32_t count;
	int round;

	MUST(doca_devinfo_create_list(&list, &count));
	MUST(doca_dev_open(list[count - 1], &dev));
	MUST(doca_devinfo_destroy_list(list));
	/* The second round reuses memory of the first. */
	for (round = 0; round < 2; round++)
		every_memory_call(dev);
	MUST(doca_dev_close(dev));
	puts("done");
	return conclusion();
}
