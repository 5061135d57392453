/*
 * A C host with the plugin's header: packs a LOOPBACK of the first argument, prints it in
 * hexadecimal, reads the notification in the second argument, and prints its data.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker_graph.h"

int main(int argc, char **argv)
{
	struct worker_graph_command command;
	struct worker_graph_notification notification;
	unsigned char bytes[sizeof(command)];
	size_t i;

	if (argc != 3)
		return 2;

	memset(&command, 0, sizeof(command));
	command.type = WORKER_GRAPH_COMMAND_LOOPBACK;
	command.loopback.data = strtoull(argv[1], NULL, 10);
	memcpy(bytes, &command, sizeof(command));
	for (i = 0; i < sizeof(bytes); i++)
		printf("%02x", bytes[i]);

	if (strlen(argv[2]) != 2 * sizeof(notification))
		return 3;
	for (i = 0; i < sizeof(notification); i++) {
		unsigned int byte;

		if (sscanf(argv[2] + 2 * i, "%2x", &byte) != 1)
			return 4;
		bytes[i] = (unsigned char)byte;
	}
	memcpy(&notification, bytes, sizeof(notification));
	if (notification.type != WORKER_GRAPH_NOTIFICATION_LOOPBACK_DONE)
		return 5;
	printf(" %" PRIu64 " %s %d\n", notification.loopback_done.data, WORKER_GRAPH_PLUGIN_NAME,
	       (int)WORKER_GRAPH_PLUGIN_VERSION);
	return 0;
}
