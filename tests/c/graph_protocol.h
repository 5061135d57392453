/* Messages of worker_graph, version 1: one loopback. */
#ifndef TESTS_GRAPH_PROTOCOL_H
#define TESTS_GRAPH_PROTOCOL_H

#include <stdint.h>

#define GRAPH_PLUGIN "worker_graph"
#define GRAPH_VERSION 1

enum graph_type {
	GRAPH_LOOPBACK = 0,
};

struct graph_command {
	uint64_t type;
	uint64_t data;
};

struct graph_notification {
	uint64_t type;
	uint64_t data;
};

_Static_assert(sizeof(struct graph_command) == 16, "a command has 16 bytes");
_Static_assert(sizeof(struct graph_notification) == 16, "a notification has 16 bytes");

#endif /* TESTS_GRAPH_PROTOCOL_H */
