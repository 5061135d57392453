/*
 * A C host with the plugin's header: packs an inline TAG_SEND of the arguments context, dest, tag
 * and data (hexadecimal), prints it in hexadecimal, reads the inline TAG_RECEIVED in the last
 * argument, and prints its fields.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker_sandbox.h"

/* Returns the number of bytes, or -1. */
static long read_hex(const char *text, unsigned char *bytes, size_t capacity)
{
	size_t i, len = strlen(text) / 2;

	if (len > capacity)
		return -1;
	for (i = 0; i < len; i++) {
		unsigned int byte;

		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			return -1;
		bytes[i] = (unsigned char)byte;
	}
	return (long)len;
}

static void print_hex(const void *memory, size_t len)
{
	const unsigned char *bytes = (const unsigned char *)memory;
	size_t i;

	for (i = 0; i < len; i++)
		printf("%02x", bytes[i]);
}

int main(int argc, char **argv)
{
	static unsigned char data[4096];
	struct worker_sandbox_command command;
	struct worker_sandbox_notification notification;
	long len;

	if (argc != 6)
		return 2;

	len = read_hex(argv[4], data, sizeof(data));
	if (len < 0)
		return 3;
	memset(&command, 0, sizeof(command));
	command.type = WORKER_SANDBOX_COMMAND_TAG_SEND;
	command.tag_send.context = strtoull(argv[1], NULL, 10);
	command.tag_send.dest = strtoull(argv[2], NULL, 10);
	command.tag_send.data_addr = len != 0;
	command.tag_send.data_len = (uint64_t)len;
	command.tag_send.tag = strtoull(argv[3], NULL, 10);
	print_hex(&command, sizeof(command));
	print_hex(data, (size_t)len);

	len = read_hex(argv[5], data, sizeof(data));
	if (len < (long)sizeof(notification))
		return 4;
	memcpy(&notification, data, sizeof(notification));
	if (notification.type != WORKER_SANDBOX_NOTIFICATION_TAG_RECEIVED)
		return 5;
	if ((uint64_t)len != sizeof(notification) + notification.tag_received.data_len)
		return 6;
	printf(" %" PRIu64 " %" PRIu64 " %d ", notification.tag_received.context,
	       notification.tag_received.sender_tag, notification.tag_received.status);
	print_hex(data + sizeof(notification), (size_t)notification.tag_received.data_len);
	printf(" %s %d\n", WORKER_SANDBOX_PLUGIN_NAME, (int)WORKER_SANDBOX_PLUGIN_VERSION);
	return 0;
}
