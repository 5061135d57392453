/*
 * Starts a service on the device of the first argument; prints its plugins and the mapped files for
 * the tests of an installed prefix.
 */
#include <stdio.h>
#include <string.h>

#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_error.h>
#include <doca_pe.h>
#include <doca_urom.h>
#include <doca_urom_plugin.h>

#include "check.h"

static struct doca_dev *open_device(const char *wanted)
{
	struct doca_devinfo **list;
	struct doca_dev *found = NULL;
	uint32_t count;

	if (doca_devinfo_create_list(&list, &count) != DOCA_SUCCESS)
		return NULL;
	for (uint32_t i = 0; i < count && found == NULL; i++) {
		char name[DOCA_DEVINFO_IBDEV_NAME_SIZE] = "";

		if (doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)) == DOCA_SUCCESS &&
		    strcmp(name, wanted) == 0 && doca_dev_open(list[i], &found) != DOCA_SUCCESS)
			found = NULL;
	}
	doca_devinfo_destroy_list(list);
	return found;
}

static int print_mapped_files(void)
{
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "r");

	if (maps == NULL)
		return 1;
	while (fgets(line, sizeof(line), maps) != NULL) {
		const char *path = strchr(line, '/');

		if (path != NULL)
			printf("mapped %s", path);
	}
	return fclose(maps);
}

int main(int argc, char **argv)
{
	const struct doca_urom_service_plugin_info *plugins;
	struct doca_urom_service *service;
	struct doca_dev *device;
	struct doca_pe *pe;
	size_t count;

	device = open_device(argc > 1 ? argv[1] : "");
	if (device == NULL) {
		fprintf(stderr, "no such device\n");
		return 1;
	}
	MUST(doca_pe_create(&pe));
	MUST(doca_urom_service_create(&service));
	MUST(doca_pe_connect_ctx(pe, doca_urom_service_as_ctx(service)));
	MUST(doca_urom_service_set_dev(service, device));
	MUST(doca_ctx_start(doca_urom_service_as_ctx(service)));
	MUST(doca_urom_service_get_plugins_list(service, &plugins, &count));
	for (size_t i = 0; i < count; i++)
		printf("plugin %s\n", plugins[i].plugin_name);
	MUST(doca_ctx_stop(doca_urom_service_as_ctx(service)));
	MUST(doca_urom_service_destroy(service));
	MUST(doca_pe_destroy(pe));
	MUST(doca_dev_close(device));
	return print_mapped_files();
}
