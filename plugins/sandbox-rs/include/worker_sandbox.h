/*
 * The messages of the plugin worker_sandbox, version 1, for C and C++.
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
#ifndef UROM_PLUGIN_WORKER_SANDBOX_H
#define UROM_PLUGIN_WORKER_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WORKER_SANDBOX_ASSERT(condition) static_assert(condition, #condition)
#else
#define WORKER_SANDBOX_ASSERT(condition) _Static_assert(condition, #condition)
#endif

/** The plugin's name: its file's name without .so. */
#define WORKER_SANDBOX_PLUGIN_NAME "worker_sandbox"
/** The return value of its urom_plugin_get_version. */
#define WORKER_SANDBOX_PLUGIN_VERSION UINT64_C(1)

/** The kinds of a command: its `type`. */
enum worker_sandbox_command_type {
	/**
	 * Registers memory for later sends and receives of this host, until it leaves.
	 *
	 * Payloads, in this order:
	 *  1. `exported_memh`: `exported_memh_len` bytes;
	 *     their address word is `map_params.exported_memh_buffer`.
	 *     The exported handle of the host's memory; empty for memory that the plugin allocates.
	 *     The Rust plugin also accepts the result of `Mmap::export` of `urom_host`.
	 *
	 * Answered by WORKER_SANDBOX_NOTIFICATION_MEM_MAPPED.
	 */
	WORKER_SANDBOX_COMMAND_MEM_MAP = 0,
	/**
	 * Sends `data` to worker `dest` of the domain.
	 *
	 * Payloads, in this order:
	 *  1. `data`: `data_len` bytes if `memh_id` is 0;
	 *     else none here, and `data_addr` is where they lie in registered memory.
	 *     Inline or in registered memory; empty by default. Any number of sends may share
	 *     registered bytes.
	 *
	 * Answered by WORKER_SANDBOX_NOTIFICATION_TAG_SENT.
	 */
	WORKER_SANDBOX_COMMAND_TAG_SEND = 1,
	/**
	 * Receives the first message whose tag matches.
	 *
	 * Answered by WORKER_SANDBOX_NOTIFICATION_TAG_RECEIVED.
	 */
	WORKER_SANDBOX_COMMAND_TAG_RECV = 2,
};

/** The kinds of a notification: its `type`. */
enum worker_sandbox_notification_type {
	/**
	 * The memory is registered. C's plugin sends the tag of the next variant.
	 *
	 * A host takes 1 for it too when it is the answer that is due.
	 */
	WORKER_SANDBOX_NOTIFICATION_MEM_MAPPED = 0,
	/** The data may be reused; it may not have been received yet. */
	WORKER_SANDBOX_NOTIFICATION_TAG_SENT = 1,
	/**
	 * A message was received.
	 *
	 * Payloads, in this order:
	 *  1. `data`: `data_len` bytes if `data_addr` is not 0;
	 *     else none here, they lie in the command's registered memory.
	 *     The message, or its length in registered memory. Empty on an error.
	 */
	WORKER_SANDBOX_NOTIFICATION_TAG_RECEIVED = 2,
};

/** The memory to map: `ucp_mem_map_params_t` of UCX 1.16 and newer, 48 bytes. */
struct worker_sandbox_map_params {
	/** The other fields that are set: a bit for each, in UCX's order, `ADDRESS` first. */
	uint64_t field_mask;
	/** The start address that later commands use for the memory. */
	uint64_t address;
	/** The length in bytes. */
	uint64_t length;
	/** 2 (`UCP_MEM_MAP_ALLOCATE`) for memory that the plugin allocates. */
	uint32_t flags;
	/** Not used by the plugin. */
	uint32_t prot;
	/** Not used by the plugin. */
	uint32_t memory_type;
	/** C's padding. */
	uint32_t pad;
	/** The address of the exported handle, in C. */
	uint64_t exported_memh_buffer;
};
WORKER_SANDBOX_ASSERT(sizeof(struct worker_sandbox_map_params) == 48);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_map_params, field_mask) == 0);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_map_params, address) == 8);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_map_params, length) == 16);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_map_params, flags) == 24);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_map_params, prot) == 28);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_map_params, memory_type) == 32);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_map_params, pad) == 36);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_map_params, exported_memh_buffer) == 40);

/** The fields of WORKER_SANDBOX_COMMAND_MEM_MAP. */
struct worker_sandbox_command_mem_map {
	/**
	 * Any value; the answer repeats it.
	 *
	 * The answer repeats it.
	 */
	uint64_t context;
	/** The memory. */
	struct worker_sandbox_map_params map_params;
	/** The length of payload `exported_memh`. */
	uint64_t exported_memh_len;
};
WORKER_SANDBOX_ASSERT(sizeof(struct worker_sandbox_command_mem_map) == 64);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_mem_map, context) == 0);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_mem_map, map_params) == 8);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_mem_map, exported_memh_len) == 56);

/** The fields of WORKER_SANDBOX_COMMAND_TAG_SEND. */
struct worker_sandbox_command_tag_send {
	/**
	 * Any value; the answer repeats it.
	 *
	 * The answer repeats it.
	 */
	uint64_t context;
	/** The receiver's id in the domain. */
	uint64_t dest;
	/** The address word of payload `data`. */
	uint64_t data_addr;
	/** The length of payload `data`. */
	uint64_t data_len;
	/** The tag to send with. */
	uint64_t tag;
	/**
	 * The handle of the registered memory; 0 for inline data.
	 *
	 * 0 when payload `data` is inline, else the registered memory that it lies in.
	 */
	uint64_t memh_id;
};
WORKER_SANDBOX_ASSERT(sizeof(struct worker_sandbox_command_tag_send) == 48);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_send, context) == 0);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_send, dest) == 8);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_send, data_addr) == 16);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_send, data_len) == 24);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_send, tag) == 32);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_send, memh_id) == 40);

/** The fields of WORKER_SANDBOX_COMMAND_TAG_RECV. */
struct worker_sandbox_command_tag_recv {
	/**
	 * Any value; the answer repeats it.
	 *
	 * The answer repeats it.
	 */
	uint64_t context;
	/** The destination in registered memory; not used without `memh_id`. */
	uint64_t buffer;
	/** The size of the destination in bytes. */
	uint64_t count;
	/** The tag to match. */
	uint64_t tag;
	/** The bits of the tag that must match. */
	uint64_t tag_mask;
	/**
	 * The handle of the registered memory to receive into, if no other command uses these
	 * bytes (`UCS_ERR_BUSY`); 0, the default, receives into the answer.
	 */
	uint64_t memh_id;
};
WORKER_SANDBOX_ASSERT(sizeof(struct worker_sandbox_command_tag_recv) == 48);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_recv, context) == 0);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_recv, buffer) == 8);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_recv, count) == 16);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_recv, tag) == 24);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_recv, tag_mask) == 32);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command_tag_recv, memh_id) == 40);

/**
 * The commands of the sandbox plugin.
 *
 * Every command begins with all of this, 72 bytes.
 */
struct worker_sandbox_command {
	/** Which command this is. */
	uint64_t type;
	/** The fields of that command. */
	union {
		struct worker_sandbox_command_mem_map mem_map;
		struct worker_sandbox_command_tag_send tag_send;
		struct worker_sandbox_command_tag_recv tag_recv;
	};
};
WORKER_SANDBOX_ASSERT(sizeof(struct worker_sandbox_command) == 72);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command, type) == 0);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command, mem_map) == 8);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command, tag_send) == 8);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_command, tag_recv) == 8);

/** The fields of WORKER_SANDBOX_NOTIFICATION_MEM_MAPPED. */
struct worker_sandbox_notification_mem_mapped {
	/**
	 * The command's value.
	 *
	 * Repeats the command's.
	 */
	uint64_t context;
	/** The handle for later commands, never 0. */
	uint64_t memh_id;
};
WORKER_SANDBOX_ASSERT(sizeof(struct worker_sandbox_notification_mem_mapped) == 16);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification_mem_mapped, context) == 0);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification_mem_mapped, memh_id) == 8);

/** The fields of WORKER_SANDBOX_NOTIFICATION_TAG_SENT. */
struct worker_sandbox_notification_tag_sent {
	/**
	 * The command's value.
	 *
	 * Repeats the command's.
	 */
	uint64_t context;
	/** The result of the send. */
	int8_t status;
};
WORKER_SANDBOX_ASSERT(sizeof(struct worker_sandbox_notification_tag_sent) == 16);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification_tag_sent, context) == 0);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification_tag_sent, status) == 8);

/** The fields of WORKER_SANDBOX_NOTIFICATION_TAG_RECEIVED. */
struct worker_sandbox_notification_tag_received {
	/**
	 * The command's value.
	 *
	 * Repeats the command's.
	 */
	uint64_t context;
	/** The address word of payload `data`. */
	uint64_t data_addr;
	/** The length of payload `data`. */
	uint64_t data_len;
	/** The sender's tag; 0 on an error. */
	uint64_t sender_tag;
	/**
	 * The result of the receive; `UCS_ERR_MESSAGE_TRUNCATED` if the message was too long and
	 * was dropped.
	 */
	int8_t status;
};
WORKER_SANDBOX_ASSERT(sizeof(struct worker_sandbox_notification_tag_received) == 40);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification_tag_received, context) == 0);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification_tag_received, data_addr) == 8);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification_tag_received, data_len) == 16);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification_tag_received, sender_tag) == 24);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification_tag_received, status) == 32);

/**
 * The answers of the sandbox plugin. A `status` is UCX's (`ucs_status_t`): 0 on success, negative
 * otherwise.
 *
 * Every notification begins with all of this, 48 bytes.
 */
struct worker_sandbox_notification {
	/** Which notification this is. */
	uint64_t type;
	/** The fields of that notification. */
	union {
		struct worker_sandbox_notification_mem_mapped mem_mapped;
		struct worker_sandbox_notification_tag_sent tag_sent;
		struct worker_sandbox_notification_tag_received tag_received;
	};
};
WORKER_SANDBOX_ASSERT(sizeof(struct worker_sandbox_notification) == 48);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification, type) == 0);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification, mem_mapped) == 8);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification, tag_sent) == 8);
WORKER_SANDBOX_ASSERT(offsetof(struct worker_sandbox_notification, tag_received) == 8);

#undef WORKER_SANDBOX_ASSERT

#endif
