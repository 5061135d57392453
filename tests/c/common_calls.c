/*
 * Texts of codes, and devices. The environment:
 * UROM_DEVICE=virtual0,virtual1@03:00.1
 */
#include <string.h>

#include <doca_dev.h>

#include "check.h"

static void texts(void)
{
	int code;

	INSIST(strcmp(doca_error_get_name(DOCA_SUCCESS), "DOCA_SUCCESS") == 0);
	INSIST(strcmp(doca_error_get_descr(DOCA_SUCCESS), "success") == 0);
	INSIST(strcmp(doca_error_get_name(DOCA_ERROR_SKIPPED), "DOCA_ERROR_SKIPPED") == 0);
	INSIST(strcmp(doca_error_get_name(DOCA_ERROR_UNSUPPORTED_VERSION),
		      "DOCA_ERROR_UNSUPPORTED_VERSION") == 0);
	for (code = 0; code <= DOCA_ERROR_SKIPPED; code++)
		INSIST(strcmp(doca_error_get_descr((doca_error_t)code),
			      "unrecognized error code") != 0);
	INSIST(strcmp(doca_error_get_descr((doca_error_t)31), "unrecognized error code") == 0);
	INSIST(strcmp(doca_error_get_descr((doca_error_t)-1), "unrecognized error code") == 0);
	INSIST(strcmp(doca_error_get_name((doca_error_t)31), "DOCA_ERROR_UNRECOGNIZED") == 0);
}

static void address(const struct doca_devinfo *info, const char *expected)
{
	char text[DOCA_DEVINFO_PCI_ADDR_SIZE];
	uint8_t is_equal = 7;

	memset(text, 'x', sizeof(text));
	MUST(doca_devinfo_get_pci_addr_str(info, text));
	INSIST(memchr(text, 0, sizeof(text)) != NULL);
	if (expected != NULL)
		INSIST(strcmp(text, expected) == 0);
	MUST(doca_devinfo_is_equal_pci_addr(info, text, &is_equal));
	INSIST(is_equal == 1);
	is_equal = 7;
	MUST(doca_devinfo_is_equal_pci_addr(info, "ffff:ff:1f.7", &is_equal));
	INSIST(is_equal == 0);
	if (strncmp(text, "0000:", 5) == 0) {
		MUST(doca_devinfo_is_equal_pci_addr(info, text + 5, &is_equal));
		INSIST(is_equal == 1);
	}
}

static void devices(void)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	uint32_t count, i, found = 0;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	char interface[DOCA_DEVINFO_IFACE_NAME_SIZE];

	MUST(doca_devinfo_create_list(&list, &count));
	INSIST(count >= 2);
	for (i = 0; i < count; i++) {
		const char *expected = NULL;

		MUST(doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)));
		memset(interface, 'x', sizeof(interface));
		if (strncmp(name, "virtual", 7) == 0) {
			found++;
			expected = strcmp(name, "virtual0") == 0 ? "0000:00:00.0" : "0000:03:00.1";
			EXPECT(DOCA_ERROR_NOT_FOUND,
			       doca_devinfo_get_iface_name(list[i], interface, sizeof(interface)));
			INSIST(interface[0] == 'x');
		} else if (doca_devinfo_get_iface_name(list[i], interface, sizeof(interface)) ==
			   DOCA_SUCCESS) {
			INSIST(memchr(interface, 0, sizeof(interface)) != NULL &&
			       interface[0] != 0);
		}
		address(list[i], expected);
	}
	INSIST(found == 2);
	MUST(doca_dev_open(list[count - 1], &dev));
	MUST(doca_devinfo_destroy_list(list));
	MUST(doca_dev_close(dev));
}

int main(void)
{
	texts();
	devices();
	puts("done");
	return 0;
}
