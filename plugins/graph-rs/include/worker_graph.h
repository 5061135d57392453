/*
 * The messages of the plugin worker_graph, version 1, for C and C++.
 *
 * Made from the protocol's Rust definition: change that, not this file.
 *
 * A message is the whole struct of its direction, whatever its type, and behind it the payloads of
 * its type in the order given below, without padding between them. It is exactly that long, or it
 * is refused.
 *  - Set all bytes of the struct to zero first: unset bytes are zero.
 *  - An address word is not 0 if its payload has bytes, or is optional and present; otherwise it is
 *    0. The receiver does not use it as an address, except for words of registered memory: payloads
 *    follow the struct.
 *  - Lengths count bytes where the elements are bytes, and else elements.
 *  - Numbers are little-endian. Payloads may lie at any address: copy values that need alignment.
 *  - Where a condition or a length is given as an expression, it is Rust's.
 */
#ifndef UROM_PLUGIN_WORKER_GRAPH_H
#define UROM_PLUGIN_WORKER_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WORKER_GRAPH_ASSERT(condition) static_assert(condition, #condition)
#else
#define WORKER_GRAPH_ASSERT(condition) _Static_assert(condition, #condition)
#endif

/** The plugin's name: its file's name without .so. */
#define WORKER_GRAPH_PLUGIN_NAME "worker_graph"
/** The return value of its urom_plugin_get_version. */
#define WORKER_GRAPH_PLUGIN_VERSION UINT64_C(1)

/** The kinds of a command: its `type`. */
enum worker_graph_command_type {
	/**
	 * Requests `data` back.
	 *
	 * Answered by WORKER_GRAPH_NOTIFICATION_LOOPBACK_DONE.
	 */
	WORKER_GRAPH_COMMAND_LOOPBACK = 0,
};

/** The kinds of a notification: its `type`. */
enum worker_graph_notification_type {
	/** Answers a loopback. */
	WORKER_GRAPH_NOTIFICATION_LOOPBACK_DONE = 0,
};

/** The fields of WORKER_GRAPH_COMMAND_LOOPBACK. */
struct worker_graph_command_loopback {
	/** Any value. */
	uint64_t data;
};
WORKER_GRAPH_ASSERT(sizeof(struct worker_graph_command_loopback) == 8);
WORKER_GRAPH_ASSERT(offsetof(struct worker_graph_command_loopback, data) == 0);

/**
 * The commands of the graph plugin.
 *
 * Every command begins with all of this, 16 bytes.
 */
struct worker_graph_command {
	/** Which command this is. */
	uint64_t type;
	/** The fields of that command. */
	union {
		struct worker_graph_command_loopback loopback;
	};
};
WORKER_GRAPH_ASSERT(sizeof(struct worker_graph_command) == 16);
WORKER_GRAPH_ASSERT(offsetof(struct worker_graph_command, type) == 0);
WORKER_GRAPH_ASSERT(offsetof(struct worker_graph_command, loopback) == 8);

/** The fields of WORKER_GRAPH_NOTIFICATION_LOOPBACK_DONE. */
struct worker_graph_notification_loopback_done {
	/** The command's value. */
	uint64_t data;
};
WORKER_GRAPH_ASSERT(sizeof(struct worker_graph_notification_loopback_done) == 8);
WORKER_GRAPH_ASSERT(offsetof(struct worker_graph_notification_loopback_done, data) == 0);

/**
 * The answers of the graph plugin.
 *
 * Every notification begins with all of this, 16 bytes.
 */
struct worker_graph_notification {
	/** Which notification this is. */
	uint64_t type;
	/** The fields of that notification. */
	union {
		struct worker_graph_notification_loopback_done loopback_done;
	};
};
WORKER_GRAPH_ASSERT(sizeof(struct worker_graph_notification) == 16);
WORKER_GRAPH_ASSERT(offsetof(struct worker_graph_notification, type) == 0);
WORKER_GRAPH_ASSERT(offsetof(struct worker_graph_notification, loopback_done) == 8);

#undef WORKER_GRAPH_ASSERT

#endif
