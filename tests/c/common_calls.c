/* Error texts and devices. Environment: UROM_DEVICE=virtual0,virtual1@03:00.1 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netpacket/packet.h>
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

/* Copies the first address of a system interface; returns its length, or 0. */
static size_t system_address(const char *interface, int family, uint8_t *bytes)
{
	struct ifaddrs *all, *at;
	size_t len = 0;

	INSIST(getifaddrs(&all) == 0);
	for (at = all; at != NULL && len == 0; at = at->ifa_next) {
		const void *from = at->ifa_addr;

		if (from == NULL || at->ifa_addr->sa_family != family ||
		    strcmp(at->ifa_name, interface) != 0)
			continue;
		if (family == AF_INET) {
			len = 4;
			from = &((const struct sockaddr_in *)from)->sin_addr;
		} else if (family == AF_INET6) {
			len = 16;
			from = &((const struct sockaddr_in6 *)from)->sin6_addr;
		} else {
			len = ((const struct sockaddr_ll *)from)->sll_halen;
			from = ((const struct sockaddr_ll *)from)->sll_addr;
		}
		memcpy(bytes, from, len < 8 || family == AF_INET6 ? len : 8);
	}
	freeifaddrs(all);
	return len;
}

typedef doca_error_t address_function(const struct doca_devinfo *info, uint8_t *bytes,
				      uint32_t size);

static int same_address(const struct doca_devinfo *info, const char *interface, int family,
			address_function *function, uint32_t size)
{
	uint8_t expected[16], got[16];
	size_t len = interface != NULL ? system_address(interface, family, expected) : 0;

	memset(got, 0xab, sizeof(got));
	if (len != size) {
		doca_error_t none = DOCA_ERROR_NOT_FOUND;

		if (interface == NULL || family == AF_PACKET)
			none = DOCA_ERROR_NOT_SUPPORTED;
		EXPECT(none, function(info, got, sizeof(got)));
		INSIST(got[0] == 0xab && got[size - 1] == 0xab);
		return 0;
	}
	EXPECT(DOCA_ERROR_INVALID_VALUE, function(info, got, size - 1));
	INSIST(got[0] == 0xab);
	MUST(function(info, got, size));
	INSIST(memcmp(got, expected, size) == 0);
	INSIST(size == sizeof(got) || got[size] == 0xab);
	return 1;
}

static int addresses(const struct doca_devinfo *info, const char *interface)
{
	return same_address(info, interface, AF_PACKET, doca_devinfo_get_mac_addr,
			    DOCA_DEVINFO_MAC_ADDR_SIZE) +
	       same_address(info, interface, AF_INET, doca_devinfo_get_ipv4_addr,
			    DOCA_DEVINFO_IPV4_ADDR_SIZE) +
	       same_address(info, interface, AF_INET6, doca_devinfo_get_ipv6_addr,
			    DOCA_DEVINFO_IPV6_ADDR_SIZE);
}

/* The description of an open device equals the list's until the device is closed. */
static void description(struct doca_devinfo *info, const char *name)
{
	char text[DOCA_DEVINFO_IBDEV_NAME_SIZE];
	struct doca_devinfo *of_device;
	struct doca_dev *dev, *again;

	MUST(doca_dev_open(info, &dev));
	of_device = doca_dev_as_devinfo(dev);
	INSIST(of_device != NULL && of_device == doca_dev_as_devinfo(dev));
	MUST(doca_devinfo_get_ibdev_name(of_device, text, sizeof(text)));
	INSIST(strcmp(text, name) == 0);
	MUST(doca_dev_open(of_device, &again));
	INSIST(again == dev);
	MUST(doca_dev_close(again));
	MUST(doca_devinfo_get_ibdev_name(of_device, text, sizeof(text)));
	MUST(doca_dev_close(dev));
	INSIST(doca_dev_as_devinfo(NULL) == NULL);
}

static void devices(void)
{
	struct doca_devinfo **list;
	struct doca_dev *dev;
	uint32_t count, i, found = 0, interfaces = 0, with_address = 0;
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
			INSIST(addresses(list[i], NULL) == 0);
		} else if (doca_devinfo_get_iface_name(list[i], interface, sizeof(interface)) ==
			   DOCA_SUCCESS) {
			INSIST(memchr(interface, 0, sizeof(interface)) != NULL &&
			       interface[0] != 0);
			interfaces++;
			with_address += addresses(list[i], interface) != 0;
		}
		address(list[i], expected);
		description(list[i], name);
	}
	INSIST(found == 2 && with_address == interfaces);
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
