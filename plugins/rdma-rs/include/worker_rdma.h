/*
 * The messages of the plugin worker_rdma, version 1, for C and C++.
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
#ifndef UROM_PLUGIN_WORKER_RDMA_H
#define UROM_PLUGIN_WORKER_RDMA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WORKER_RDMA_ASSERT(condition) static_assert(condition, #condition)
#else
#define WORKER_RDMA_ASSERT(condition) _Static_assert(condition, #condition)
#endif

/** The plugin's name: its file's name without .so. */
#define WORKER_RDMA_PLUGIN_NAME "worker_rdma"
/** The return value of its urom_plugin_get_version. */
#define WORKER_RDMA_PLUGIN_VERSION UINT64_C(1)

/** The kinds of a command: its `type`. */
enum worker_rdma_command_type {
	/**
	 * Creates an instance in the state RESET (`doca_rdma_create`).
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_CREATED.
	 */
	WORKER_RDMA_COMMAND_CREATE = 0,
	/**
	 * Destroys an instance in any state (`doca_rdma_destroy`).
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_DESTROYED.
	 */
	WORKER_RDMA_COMMAND_DESTROY = 1,
	/**
	 * Brings an instance from RESET to INIT (`doca_ctx_start`).
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_STARTED.
	 */
	WORKER_RDMA_COMMAND_START = 2,
	/**
	 * Brings an instance to RESET (`doca_ctx_stop`). Pending operations end with `SHUTDOWN`.
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_STOPPED.
	 */
	WORKER_RDMA_COMMAND_STOP = 3,
	/**
	 * Returns the details with which the other end connects (`doca_rdma_export`), in the state
	 * INIT.
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_EXPORTED.
	 */
	WORKER_RDMA_COMMAND_EXPORT = 4,
	/**
	 * Connects to the other end, and brings an instance from INIT to CONNECTED
	 * (`doca_rdma_connect`). Operations wait until the other end has connected, too.
	 *
	 * Payloads, in this order:
	 *  1. `details`: `details_len` bytes;
	 *     their address word is `details_addr`.
	 *     The other end's answer to `Export`.
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_CONNECTED.
	 */
	WORKER_RDMA_COMMAND_CONNECT = 5,
	/**
	 * Returns an instance's state (`doca_ctx_get_state`).
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_STATE_IS.
	 */
	WORKER_RDMA_COMMAND_QUERY = 6,
	/**
	 * Receives a message of the other end (`doca_rdma_task_receive`), in INIT and CONNECTED.
	 *
	 * Payloads, in this order:
	 *  1. `places`: `places_len` elements of `struct worker_rdma_memory_range`;
	 *     their address word is `places_addr`.
	 *     The destination of the message; empty for a message without bytes.
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_RECEIVE_DONE.
	 */
	WORKER_RDMA_COMMAND_RECEIVE = 7,
	/**
	 * Sends a message to a receive of the other end (`doca_rdma_task_send`).
	 *
	 * Payloads, in this order:
	 *  1. `pieces`: `pieces_len` elements of `struct worker_rdma_memory_range`;
	 *     their address word is `pieces_addr`.
	 *     The message.
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_SENT.
	 */
	WORKER_RDMA_COMMAND_SEND = 8,
	/**
	 * Like `Send`, with an immediate value (`doca_rdma_task_send_imm`).
	 *
	 * Payloads, in this order:
	 *  1. `pieces`: `pieces_len` elements of `struct worker_rdma_memory_range`;
	 *     their address word is `pieces_addr`.
	 *     The message.
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_SENT.
	 */
	WORKER_RDMA_COMMAND_SEND_IMM = 9,
	/**
	 * Writes to the other end's memory (`doca_rdma_task_write`).
	 *
	 * Payloads, in this order:
	 *  1. `pieces`: `pieces_len` elements of `struct worker_rdma_memory_range`;
	 *     their address word is `pieces_addr`.
	 *     The bytes.
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_WRITTEN.
	 */
	WORKER_RDMA_COMMAND_WRITE = 10,
	/**
	 * Like `Write`, and then completes a receive of the other end with an immediate value
	 * (`doca_rdma_task_write_imm`).
	 *
	 * Payloads, in this order:
	 *  1. `pieces`: `pieces_len` elements of `struct worker_rdma_memory_range`;
	 *     their address word is `pieces_addr`.
	 *     The bytes.
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_WRITTEN.
	 */
	WORKER_RDMA_COMMAND_WRITE_IMM = 11,
	/**
	 * Reads from the other end's memory (`doca_rdma_task_read`): as many bytes as the ranges have.
	 *
	 * Payloads, in this order:
	 *  1. `places`: `places_len` elements of `struct worker_rdma_memory_range`;
	 *     their address word is `places_addr`.
	 *     The destination.
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_READ_DONE.
	 */
	WORKER_RDMA_COMMAND_READ = 12,
	/**
	 * Replaces eight bytes of the other end's memory, if they equal `compare`
	 * (`doca_rdma_task_atomic_cmp_swp`).
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_SWAPPED.
	 */
	WORKER_RDMA_COMMAND_COMPARE_SWAP = 13,
	/**
	 * Adds to eight bytes of the other end's memory (`doca_rdma_task_atomic_fetch_add`).
	 *
	 * Answered by WORKER_RDMA_NOTIFICATION_ADDED.
	 */
	WORKER_RDMA_COMMAND_FETCH_ADD = 14,
};

/** The kinds of a notification: its `type`. */
enum worker_rdma_notification_type {
	/** The instance exists. */
	WORKER_RDMA_NOTIFICATION_CREATED = 0,
	/** The instance is destroyed. */
	WORKER_RDMA_NOTIFICATION_DESTROYED = 1,
	/** The instance is in the state INIT. */
	WORKER_RDMA_NOTIFICATION_STARTED = 2,
	/** The instance is in the state RESET. */
	WORKER_RDMA_NOTIFICATION_STOPPED = 3,
	/**
	 * The details of the instance.
	 *
	 * Payloads, in this order:
	 *  1. `details`: `details_len` bytes;
	 *     their address word is `details_addr`.
	 *     For the other end. Valid until the instance stops.
	 */
	WORKER_RDMA_NOTIFICATION_EXPORTED = 4,
	/** The instance is in the state CONNECTED. */
	WORKER_RDMA_NOTIFICATION_CONNECTED = 5,
	/**
	 * The state of the instance.
	 *
	 * Payloads, in this order:
	 *  1. `why`: `why_len` bytes;
	 *     their address word is `why_addr`.
	 *     The reason of the failure, in the state ERROR.
	 */
	WORKER_RDMA_NOTIFICATION_STATE_IS = 6,
	/** A message has arrived. */
	WORKER_RDMA_NOTIFICATION_RECEIVE_DONE = 7,
	/** The message is in the ranges of the other end's receive. */
	WORKER_RDMA_NOTIFICATION_SENT = 8,
	/** The bytes are in the other end's memory. */
	WORKER_RDMA_NOTIFICATION_WRITTEN = 9,
	/** The bytes are in the local ranges. */
	WORKER_RDMA_NOTIFICATION_READ_DONE = 10,
	/** The comparison was made. The local range has the eight bytes from before, too. */
	WORKER_RDMA_NOTIFICATION_SWAPPED = 11,
	/** The addition was made. The local range has the eight bytes from before, too. */
	WORKER_RDMA_NOTIFICATION_ADDED = 12,
};

/** An address in the other end's memory. The owner shares this memory with its own worker. */
struct worker_rdma_remote {
	/** The number of the memory map; 0 for operations without bytes. */
	uint64_t memory;
	/** The offset in bytes from the start of the map. */
	uint64_t offset;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_remote) == 16);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_remote, memory) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_remote, offset) == 8);

/**
 * A part of a memory map in a command. The receiver checks it: it does not grant access.
 *
 * ```
 * use urom_abi::memory::MemoryRange;
 *
 * let whole = MemoryRange { memory: 7, offset: 0, len: 4096 };
 * let last = whole.slice(4000..);
 * assert_eq!((last.memory, last.offset, last.len), (7, 4000, 96));
 * assert_eq!(last.get(..97), None);
 * ```
 */
struct worker_rdma_memory_range {
	/** The number of the memory map. */
	uint64_t memory;
	/** Offset of the range in the map, in bytes. */
	uint64_t offset;
	/** Length of the range in bytes. */
	uint64_t len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_memory_range) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_memory_range, memory) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_memory_range, offset) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_memory_range, len) == 16);

/** The fields of WORKER_RDMA_COMMAND_CREATE. */
struct worker_rdma_command_create {
	/**
	 * The other end's permissions (`doca_rdma_set_permissions`): bits of `enum
	 * doca_access_flag`. None by default.
	 */
	uint32_t permissions;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_create) == 4);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_create, permissions) == 0);

/** The fields of WORKER_RDMA_COMMAND_DESTROY. */
struct worker_rdma_command_destroy {
	/** The instance. */
	uint64_t rdma;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_destroy) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_destroy, rdma) == 0);

/** The fields of WORKER_RDMA_COMMAND_START. */
struct worker_rdma_command_start {
	/** The instance. */
	uint64_t rdma;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_start) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_start, rdma) == 0);

/** The fields of WORKER_RDMA_COMMAND_STOP. */
struct worker_rdma_command_stop {
	/** The instance. */
	uint64_t rdma;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_stop) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_stop, rdma) == 0);

/** The fields of WORKER_RDMA_COMMAND_EXPORT. */
struct worker_rdma_command_export {
	/** The instance. */
	uint64_t rdma;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_export) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_export, rdma) == 0);

/** The fields of WORKER_RDMA_COMMAND_CONNECT. */
struct worker_rdma_command_connect {
	/** The instance. */
	uint64_t rdma;
	/** The address word of payload `details`. */
	uint64_t details_addr;
	/** The length of payload `details`. */
	uint64_t details_len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_connect) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_connect, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_connect, details_addr) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_connect, details_len) == 16);

/** The fields of WORKER_RDMA_COMMAND_QUERY. */
struct worker_rdma_command_query {
	/** The instance. */
	uint64_t rdma;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_query) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_query, rdma) == 0);

/** The fields of WORKER_RDMA_COMMAND_RECEIVE. */
struct worker_rdma_command_receive {
	/** The instance. */
	uint64_t rdma;
	/** The address word of payload `places`. */
	uint64_t places_addr;
	/** The length of payload `places`. */
	uint64_t places_len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_receive) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_receive, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_receive, places_addr) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_receive, places_len) == 16);

/** The fields of WORKER_RDMA_COMMAND_SEND. */
struct worker_rdma_command_send {
	/** The instance. */
	uint64_t rdma;
	/** The address word of payload `pieces`. */
	uint64_t pieces_addr;
	/** The length of payload `pieces`. */
	uint64_t pieces_len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_send) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_send, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_send, pieces_addr) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_send, pieces_len) == 16);

/** The fields of WORKER_RDMA_COMMAND_SEND_IMM. */
struct worker_rdma_command_send_imm {
	/** The instance. */
	uint64_t rdma;
	/** The value, big-endian. */
	uint8_t immediate[4];
	/** The address word of payload `pieces`. */
	uint64_t pieces_addr;
	/** The length of payload `pieces`. */
	uint64_t pieces_len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_send_imm) == 32);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_send_imm, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_send_imm, immediate) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_send_imm, pieces_addr) == 16);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_send_imm, pieces_len) == 24);

/** The fields of WORKER_RDMA_COMMAND_WRITE. */
struct worker_rdma_command_write {
	/** The instance. */
	uint64_t rdma;
	/** The destination. */
	struct worker_rdma_remote target;
	/** The address word of payload `pieces`. */
	uint64_t pieces_addr;
	/** The length of payload `pieces`. */
	uint64_t pieces_len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_write) == 40);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_write, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_write, target) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_write, pieces_addr) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_write, pieces_len) == 32);

/** The fields of WORKER_RDMA_COMMAND_WRITE_IMM. */
struct worker_rdma_command_write_imm {
	/** The instance. */
	uint64_t rdma;
	/** The destination. */
	struct worker_rdma_remote target;
	/** The value, big-endian. */
	uint8_t immediate[4];
	/** The address word of payload `pieces`. */
	uint64_t pieces_addr;
	/** The length of payload `pieces`. */
	uint64_t pieces_len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_write_imm) == 48);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_write_imm, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_write_imm, target) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_write_imm, immediate) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_write_imm, pieces_addr) == 32);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_write_imm, pieces_len) == 40);

/** The fields of WORKER_RDMA_COMMAND_READ. */
struct worker_rdma_command_read {
	/** The instance. */
	uint64_t rdma;
	/** The source. */
	struct worker_rdma_remote source;
	/** The address word of payload `places`. */
	uint64_t places_addr;
	/** The length of payload `places`. */
	uint64_t places_len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_read) == 40);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_read, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_read, source) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_read, places_addr) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_read, places_len) == 32);

/** The fields of WORKER_RDMA_COMMAND_COMPARE_SWAP. */
struct worker_rdma_command_compare_swap {
	/** The instance. */
	uint64_t rdma;
	/** The address of the eight bytes, a multiple of eight. */
	struct worker_rdma_remote target;
	/** The expected value, little-endian in memory. */
	uint64_t compare;
	/** The new value. */
	uint64_t swap;
	/** The destination of the eight bytes before the operation. */
	struct worker_rdma_memory_range result;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_compare_swap) == 64);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_compare_swap, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_compare_swap, target) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_compare_swap, compare) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_compare_swap, swap) == 32);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_compare_swap, result) == 40);

/** The fields of WORKER_RDMA_COMMAND_FETCH_ADD. */
struct worker_rdma_command_fetch_add {
	/** The instance. */
	uint64_t rdma;
	/** The address of the eight bytes, a multiple of eight. */
	struct worker_rdma_remote target;
	/** The number to add; overflow wraps. */
	uint64_t add;
	/** The destination of the eight bytes before the operation. */
	struct worker_rdma_memory_range result;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command_fetch_add) == 56);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_fetch_add, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_fetch_add, target) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_fetch_add, add) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command_fetch_add, result) == 32);

/**
 * The commands of the RDMA plugin.
 *
 * Every command begins with all of this, 72 bytes.
 */
struct worker_rdma_command {
	/** Which command this is. */
	uint64_t type;
	/** The fields of that command. */
	union {
		struct worker_rdma_command_create create;
		struct worker_rdma_command_destroy destroy;
		struct worker_rdma_command_start start;
		struct worker_rdma_command_stop stop;
		struct worker_rdma_command_export export_;
		struct worker_rdma_command_connect connect;
		struct worker_rdma_command_query query;
		struct worker_rdma_command_receive receive;
		struct worker_rdma_command_send send;
		struct worker_rdma_command_send_imm send_imm;
		struct worker_rdma_command_write write;
		struct worker_rdma_command_write_imm write_imm;
		struct worker_rdma_command_read read;
		struct worker_rdma_command_compare_swap compare_swap;
		struct worker_rdma_command_fetch_add fetch_add;
	};
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_command) == 72);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, type) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, create) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, destroy) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, start) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, stop) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, export_) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, connect) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, query) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, receive) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, send) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, send_imm) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, write) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, write_imm) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, read) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, compare_swap) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_command, fetch_add) == 8);

/** The plugin's limits for each instance. */
struct worker_rdma_limits {
	/** The longest message, in bytes (`doca_rdma_cap_get_max_message_size`). */
	uint64_t message;
	/** Maximum number of ranges in a list of buffers (`doca_rdma_cap_get_max_send_buf_list_len`). */
	uint32_t list;
	/** Maximum number of pending operations, excluding receives. */
	uint32_t operations;
	/** Maximum number of receives that wait for a message (`doca_rdma_set_recv_queue_size`). */
	uint32_t receives;
	/** Maximum number of instances of a host. */
	uint32_t instances;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_limits) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_limits, message) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_limits, list) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_limits, operations) == 12);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_limits, receives) == 16);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_limits, instances) == 20);

/**
 * The state of an instance.
 *
 * The values of a `State` of 32 bits.
 */
enum worker_rdma_state {
	/** Created or stopped. It can be started. */
	WORKER_RDMA_STATE_RESET = 0,
	/** Started. It takes receives, and can be connected. */
	WORKER_RDMA_STATE_INIT = 1,
	/** Connected. It takes all operations. */
	WORKER_RDMA_STATE_CONNECTED = 2,
	/** An operation has failed, or the other end is gone. It can be stopped. */
	WORKER_RDMA_STATE_ERROR = 3,
};

/**
 * The operation of the other end that completed a receive (`doca_rdma_opcode`).
 *
 * The values of a `Opcode` of 32 bits.
 */
enum worker_rdma_opcode {
	/** A send. */
	WORKER_RDMA_OPCODE_SEND = 1,
	/** A send with an immediate value. */
	WORKER_RDMA_OPCODE_SEND_IMM = 2,
	/** A write with an immediate value, which has written its bytes elsewhere. */
	WORKER_RDMA_OPCODE_WRITE_IMM = 3,
};

/** The fields of WORKER_RDMA_NOTIFICATION_CREATED. */
struct worker_rdma_notification_created {
	/** The number of the instance, for commands. */
	uint64_t rdma;
	/** The instance's limits. */
	struct worker_rdma_limits limits;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_notification_created) == 32);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_created, rdma) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_created, limits) == 8);

/** The fields of WORKER_RDMA_NOTIFICATION_EXPORTED. */
struct worker_rdma_notification_exported {
	/** The address word of payload `details`. */
	uint64_t details_addr;
	/** The length of payload `details`. */
	uint64_t details_len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_notification_exported) == 16);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_exported, details_addr) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_exported, details_len) == 8);

/** The fields of WORKER_RDMA_NOTIFICATION_STATE_IS. */
struct worker_rdma_notification_state_is {
	/**
	 * The state.
	 *
	 * A value of `worker_rdma_state`.
	 */
	uint32_t state;
	/** The code of the first failure, in the state ERROR (`doca_error_t`). */
	uint32_t failure;
	/** The address word of payload `why`. */
	uint64_t why_addr;
	/** The length of payload `why`. */
	uint64_t why_len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_notification_state_is) == 24);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_state_is, state) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_state_is, failure) == 4);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_state_is, why_addr) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_state_is, why_len) == 16);

/** The fields of WORKER_RDMA_NOTIFICATION_RECEIVE_DONE. */
struct worker_rdma_notification_receive_done {
	/**
	 * The operation that sent it.
	 *
	 * A value of `worker_rdma_opcode`.
	 */
	uint32_t opcode;
	/** The immediate value, big-endian, if the operation has one. */
	uint8_t immediate[4];
	/** Number of bytes in the ranges of the receive. The bytes of a write are elsewhere. */
	uint64_t len;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_notification_receive_done) == 16);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_receive_done, opcode) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_receive_done, immediate) == 4);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_receive_done, len) == 8);

/** The fields of WORKER_RDMA_NOTIFICATION_SWAPPED. */
struct worker_rdma_notification_swapped {
	/** The value before the operation. */
	uint64_t before;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_notification_swapped) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_swapped, before) == 0);

/** The fields of WORKER_RDMA_NOTIFICATION_ADDED. */
struct worker_rdma_notification_added {
	/** The value before the operation. */
	uint64_t before;
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_notification_added) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification_added, before) == 0);

/**
 * The answers of the RDMA plugin.
 *
 * Every notification begins with all of this, 40 bytes.
 */
struct worker_rdma_notification {
	/** Which notification this is. */
	uint64_t type;
	/** The fields of that notification. */
	union {
		struct worker_rdma_notification_created created;
		struct worker_rdma_notification_exported exported;
		struct worker_rdma_notification_state_is state_is;
		struct worker_rdma_notification_receive_done receive_done;
		struct worker_rdma_notification_swapped swapped;
		struct worker_rdma_notification_added added;
	};
};
WORKER_RDMA_ASSERT(sizeof(struct worker_rdma_notification) == 40);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification, type) == 0);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification, created) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification, exported) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification, state_is) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification, receive_done) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification, swapped) == 8);
WORKER_RDMA_ASSERT(offsetof(struct worker_rdma_notification, added) == 8);

#undef WORKER_RDMA_ASSERT

#endif
