/*
 * Texts of codes, the version, devices, and what is not supported. The environment:
 * UROM_DEVICE=virtual0,virtual1@03:00.1
 */
#include <string.h>

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_dev.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <doca_version.h>

#include "check.h"

static void texts(void)
{
	int code;

	INSIST(strcmp(doca_error_get_name(DOCA_SUCCESS), "DOCA_SUCCESS") == 0);
	INSIST(strcmp(doca_error_get_descr(DOCA_SUCCESS), "success") == 0);
	INSIST(strcmp(doca_error_get_name(DOCA_ERROR_SKIPPED), "DOCA_ERROR_SKIPPED") == 0);
	INSIST(strcmp(doca_error_get_name(DOCA_ERROR_UNSUPPORTED_VERSION), "DOCA_ERROR_UNSUPPORTED_VERSION") == 0);
	for (code = 0; code <= DOCA_ERROR_SKIPPED; code++) {
		INSIST(strncmp(doca_error_get_name((doca_error_t)code), "DOCA_", 5) == 0);
		INSIST(strcmp(doca_error_get_descr((doca_error_t)code), "unrecognized error code") != 0);
	}
	INSIST(strcmp(doca_error_get_descr((doca_error_t)31), "unrecognized error code") == 0);
	INSIST(strcmp(doca_error_get_descr((doca_error_t)-1), "unrecognized error code") == 0);
	INSIST(strcmp(doca_error_get_name((doca_error_t)31), "DOCA_ERROR_UNRECOGNIZED") == 0);
	INSIST(strcmp(doca_version_runtime(), DOCA_VERSION_STRING) == 0);
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

static void unsupported_questions(const struct doca_devinfo *info)
{
	enum doca_pci_func_type kind = (enum doca_pci_func_type)7;
	uint32_t index = 7;

	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_devinfo_get_pci_func_type(info, &kind));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_pci_func_type(NULL, &kind));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_pci_func_type(info, NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_devinfo_get_sf_index(info, &index));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_sf_index(NULL, &index));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_sf_index(info, NULL));
	INSIST((int)kind == 7 && index == 7);
}

static void bad_questions(struct doca_devinfo *info, const struct doca_devinfo *gone)
{
	char name[DOCA_DEVINFO_IFACE_NAME_SIZE] = "untouched";
	char text[DOCA_DEVINFO_PCI_ADDR_SIZE];
	uint8_t is_equal = 7;

	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_pci_addr_str(info, NULL));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_pci_addr_str(NULL, text));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_is_equal_pci_addr(NULL, "03:00.0", &is_equal));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_is_equal_pci_addr(info, NULL, &is_equal));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_is_equal_pci_addr(info, "03:00.0", NULL));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_is_equal_pci_addr(info, "", &is_equal));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_is_equal_pci_addr(info, "0000:03:00", &is_equal));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_is_equal_pci_addr(info, "\xff\xfe:03.0", &is_equal));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_iface_name(NULL, name, sizeof(name)));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_iface_name(info, NULL, sizeof(name)));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_iface_name(info, name, sizeof(name) - 1));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_get_iface_name(gone, name, sizeof(name)));
	INSIST(is_equal == 7 && strcmp(name, "untouched") == 0);
}

static void devices(void)
{
	struct doca_devinfo **list, **other;
	const struct doca_devinfo *gone;
	struct doca_dev *dev;
	uint32_t count, i, found = 0;
	char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	char interface[DOCA_DEVINFO_IFACE_NAME_SIZE];

	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_create_list(NULL, &count));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_create_list(&list, NULL));
	MUST(doca_devinfo_create_list(&other, &count));
	gone = other[0];
	MUST(doca_devinfo_create_list(&list, &count));
	MUST(doca_devinfo_destroy_list(other));
	INSIST(count >= 2);
	for (i = 0; i < count; i++) {
		const char *expected = NULL;

		MUST(doca_devinfo_get_ibdev_name(list[i], name, sizeof(name)));
		memset(interface, 'x', sizeof(interface));
		if (strncmp(name, "virtual", 7) == 0) {
			found++;
			expected = strcmp(name, "virtual0") == 0 ? "0000:00:00.0" : "0000:03:00.1";
			EXPECT(DOCA_ERROR_NOT_FOUND, doca_devinfo_get_iface_name(list[i], interface, sizeof(interface)));
			INSIST(interface[0] == 'x');
		} else if (doca_devinfo_get_iface_name(list[i], interface, sizeof(interface)) == DOCA_SUCCESS) {
			INSIST(memchr(interface, 0, sizeof(interface)) != NULL && interface[0] != 0);
		}
		address(list[i], expected);
		unsupported_questions(list[i]);
		bad_questions(list[i], gone);
	}
	INSIST(found == 2);
	MUST(doca_dev_open(list[count - 1], &dev));
	MUST(doca_devinfo_destroy_list(list));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_destroy_list(list));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_destroy_list(NULL));
	MUST(doca_dev_close(dev));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_dev_close(dev));
}

static void absent(void)
{
	/* Nothing is behind these; nothing looks. */
	void *some = &some;
	void *left = NULL;
	uint32_t count = 7;
	uint8_t is_equal = 7;
	char vuid[DOCA_DEVINFO_REP_VUID_SIZE] = "untouched";

	EXPECT(DOCA_ERROR_NOT_SUPPORTED,
	       doca_devinfo_rep_create_list(some, DOCA_DEVINFO_REP_FILTER_ALL, (void *)&left, &count));
	EXPECT(DOCA_ERROR_INVALID_VALUE,
	       doca_devinfo_rep_create_list(NULL, DOCA_DEVINFO_REP_FILTER_ALL, (void *)&left, &count));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_rep_create_list(some, 0, NULL, &count));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_rep_create_list(some, 0, (void *)&left, NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_devinfo_rep_destroy_list(some));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_rep_destroy_list(NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_devinfo_rep_get_vuid(some, vuid, sizeof(vuid)));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_rep_get_vuid(some, NULL, sizeof(vuid)));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_devinfo_rep_is_equal_pci_addr(some, "03:00.0", &is_equal));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_devinfo_rep_is_equal_pci_addr(some, NULL, &is_equal));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_dev_rep_open(some, (void *)&left));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_dev_rep_open(NULL, (void *)&left));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_mmap_create((void *)&left));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_mmap_create(NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_mmap_destroy(some));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_mmap_destroy(NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_mmap_add_dev(some, some));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_mmap_add_dev(some, NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_buf_inventory_create(0, (void *)&left));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_buf_inventory_create(4, NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_buf_inventory_start(some));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_buf_inventory_start(NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_buf_inventory_destroy(some));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_buf_inventory_destroy(NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_buf_inventory_buf_get_by_args(some, some, some, 1, some, 1, (void *)&left));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_buf_inventory_buf_get_by_args(some, some, some, 1, some, 1, NULL));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_buf_chain_list(some, some));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_buf_chain_list(NULL, some));
	INSIST(left == NULL && count == 7 && is_equal == 7 && strcmp(vuid, "untouched") == 0);
}

int main(void)
{
	texts();
	devices();
	absent();
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_task_try_submit(NULL));
	doca_task_free(NULL);
	puts("done");
	return 0;
}
