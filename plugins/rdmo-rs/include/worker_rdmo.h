/*
 * The messages of the plugin worker_rdmo, version 1, for C and C++.
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
#ifndef UROM_PLUGIN_WORKER_RDMO_H
#define UROM_PLUGIN_WORKER_RDMO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WORKER_RDMO_ASSERT(condition) static_assert(condition, #condition)
#else
#define WORKER_RDMO_ASSERT(condition) _Static_assert(condition, #condition)
#endif

/** The plugin's name: its file's name without .so. */
#define WORKER_RDMO_PLUGIN_NAME "worker_rdmo"
/** The return value of its urom_plugin_get_version. */
#define WORKER_RDMO_PLUGIN_VERSION UINT64_C(1)

/** The kinds of a command: its `type`. */
enum worker_rdmo_command_type {
	/**
	 * Registers the host as a client, one for each connection. The plugin accesses memory
	 * registered with UCX through the host's UCX worker, which the host must then progress; shared
	 * memory needs no progress.
	 *
	 * Payloads, in this order:
	 *  1. `addr`: `addr_len` bytes;
	 *     their address word is `addr_addr`.
	 *     The address of the host's UCX worker, from `ucp_worker_get_address`.
	 *
	 * Answered by WORKER_RDMO_NOTIFICATION_CLIENT_INITIALIZED.
	 */
	WORKER_RDMO_COMMAND_CLIENT_INIT = 0,
	/**
	 * Makes a receive queue for an initiator, before its first message.
	 *
	 * Payloads, in this order:
	 *  1. `addr`: `addr_len` bytes;
	 *     their address word is `addr_addr`.
	 *     The address of the initiator's UCX worker, from `ucp_worker_get_address`.
	 *
	 * Answered by WORKER_RDMO_NOTIFICATION_RQ_CREATED.
	 */
	WORKER_RDMO_COMMAND_RQ_CREATE = 1,
	/**
	 * Ends a receive queue. Earlier messages are still executed.
	 *
	 * Answered by WORKER_RDMO_NOTIFICATION_RQ_DESTROYED.
	 */
	WORKER_RDMO_COMMAND_RQ_DESTROY = 2,
	/**
	 * Registers a memory region of the host.
	 *
	 * Payloads, in this order:
	 *  1. `packed_rkey`: `packed_rkey_len` bytes;
	 *     their address word is `packed_rkey_addr`.
	 *     The packed remote key of `ucp_rkey_pack`. Ignored, and preferably empty, when
	 *     `packed_memh` is an export of shared memory.
	 *  2. `packed_memh`: `packed_memh_len` bytes;
	 *     their address word is `packed_memh_addr`.
	 *     The exported memory handle of `ucp_memh_pack`; empty without one; or the result of
	 *     `Mmap::export` for memory that the host shares with the worker.
	 *
	 * Answered by WORKER_RDMO_NOTIFICATION_MR_REGISTERED.
	 */
	WORKER_RDMO_COMMAND_MR_REG = 3,
	/**
	 * Deregisters a memory region, after all writes to it have arrived, including pointers.
	 *
	 * Answered by WORKER_RDMO_NOTIFICATION_MR_DEREGISTERED.
	 */
	WORKER_RDMO_COMMAND_MR_DEREG = 4,
};

/** The kinds of a notification: its `type`. */
enum worker_rdmo_notification_type {
	/**
	 * The client is registered.
	 *
	 * Payloads, in this order:
	 *  1. `addr`: `addr_len` bytes;
	 *     their address word is `addr_addr`.
	 *     The address of the plugin's UCX worker, for initiators.
	 */
	WORKER_RDMO_NOTIFICATION_CLIENT_INITIALIZED = 0,
	/** The queue exists. */
	WORKER_RDMO_NOTIFICATION_RQ_CREATED = 1,
	/** The queue is removed. */
	WORKER_RDMO_NOTIFICATION_RQ_DESTROYED = 2,
	/** The region is registered. */
	WORKER_RDMO_NOTIFICATION_MR_REGISTERED = 3,
	/** The region is deregistered. */
	WORKER_RDMO_NOTIFICATION_MR_DEREGISTERED = 4,
};

/** The fields of WORKER_RDMO_COMMAND_CLIENT_INIT. */
struct worker_rdmo_command_client_init {
	/** The client's unique number, which initiators' messages carry. */
	uint64_t id;
	/** The address word of payload `addr`. */
	uint64_t addr_addr;
	/** The length of payload `addr`. */
	uint64_t addr_len;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_command_client_init) == 24);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_client_init, id) == 0);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_client_init, addr_addr) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_client_init, addr_len) == 16);

/** The fields of WORKER_RDMO_COMMAND_RQ_CREATE. */
struct worker_rdmo_command_rq_create {
	/** The address word of payload `addr`. */
	uint64_t addr_addr;
	/** The length of payload `addr`. */
	uint64_t addr_len;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_command_rq_create) == 16);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_rq_create, addr_addr) == 0);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_rq_create, addr_len) == 8);

/** The fields of WORKER_RDMO_COMMAND_RQ_DESTROY. */
struct worker_rdmo_command_rq_destroy {
	/** The queue. */
	uint64_t rq_id;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_command_rq_destroy) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_rq_destroy, rq_id) == 0);

/** The fields of WORKER_RDMO_COMMAND_MR_REG. */
struct worker_rdmo_command_mr_reg {
	/** The start address of the region. */
	uint64_t va;
	/** The length in bytes. */
	uint64_t len;
	/** The address word of payload `packed_rkey`. */
	uint64_t packed_rkey_addr;
	/** The length of payload `packed_rkey`. */
	uint64_t packed_rkey_len;
	/** The address word of payload `packed_memh`. */
	uint64_t packed_memh_addr;
	/** The length of payload `packed_memh`. */
	uint64_t packed_memh_len;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_command_mr_reg) == 48);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_mr_reg, va) == 0);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_mr_reg, len) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_mr_reg, packed_rkey_addr) == 16);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_mr_reg, packed_rkey_len) == 24);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_mr_reg, packed_memh_addr) == 32);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_mr_reg, packed_memh_len) == 40);

/** The fields of WORKER_RDMO_COMMAND_MR_DEREG. */
struct worker_rdmo_command_mr_dereg {
	/** The key in the answer to its registration. */
	uint64_t rkey;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_command_mr_dereg) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command_mr_dereg, rkey) == 0);

/**
 * The commands of the RDMO plugin.
 *
 * Every command begins with all of this, 56 bytes.
 */
struct worker_rdmo_command {
	/** Which command this is. */
	uint64_t type;
	/** The fields of that command. */
	union {
		struct worker_rdmo_command_client_init client_init;
		struct worker_rdmo_command_rq_create rq_create;
		struct worker_rdmo_command_rq_destroy rq_destroy;
		struct worker_rdmo_command_mr_reg mr_reg;
		struct worker_rdmo_command_mr_dereg mr_dereg;
	};
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_command) == 56);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command, type) == 0);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command, client_init) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command, rq_create) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command, rq_destroy) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command, mr_reg) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_command, mr_dereg) == 8);

/** The fields of WORKER_RDMO_NOTIFICATION_CLIENT_INITIALIZED. */
struct worker_rdmo_notification_client_initialized {
	/** The address word of payload `addr`. */
	uint64_t addr_addr;
	/** The length of payload `addr`. */
	uint64_t addr_len;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_notification_client_initialized) == 16);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification_client_initialized, addr_addr) == 0);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification_client_initialized, addr_len) == 8);

/** The fields of WORKER_RDMO_NOTIFICATION_RQ_CREATED. */
struct worker_rdmo_notification_rq_created {
	/** The queue's number: 0, 1, 2, and so on for each client. */
	uint64_t rq_id;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_notification_rq_created) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification_rq_created, rq_id) == 0);

/** The fields of WORKER_RDMO_NOTIFICATION_RQ_DESTROYED. */
struct worker_rdmo_notification_rq_destroyed {
	/** The queue's number. */
	uint64_t rq_id;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_notification_rq_destroyed) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification_rq_destroyed, rq_id) == 0);

/** The fields of WORKER_RDMO_NOTIFICATION_MR_REGISTERED. */
struct worker_rdmo_notification_mr_registered {
	/** The key of the region in active messages. */
	uint64_t rkey;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_notification_mr_registered) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification_mr_registered, rkey) == 0);

/** The fields of WORKER_RDMO_NOTIFICATION_MR_DEREGISTERED. */
struct worker_rdmo_notification_mr_deregistered {
	/** The region's key. */
	uint64_t rkey;
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_notification_mr_deregistered) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification_mr_deregistered, rkey) == 0);

/**
 * The answers of the RDMO plugin.
 *
 * Every notification begins with all of this, 24 bytes.
 */
struct worker_rdmo_notification {
	/** Which notification this is. */
	uint64_t type;
	/** The fields of that notification. */
	union {
		struct worker_rdmo_notification_client_initialized client_initialized;
		struct worker_rdmo_notification_rq_created rq_created;
		struct worker_rdmo_notification_rq_destroyed rq_destroyed;
		struct worker_rdmo_notification_mr_registered mr_registered;
		struct worker_rdmo_notification_mr_deregistered mr_deregistered;
	};
};
WORKER_RDMO_ASSERT(sizeof(struct worker_rdmo_notification) == 24);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification, type) == 0);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification, client_initialized) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification, rq_created) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification, rq_destroyed) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification, mr_registered) == 8);
WORKER_RDMO_ASSERT(offsetof(struct worker_rdmo_notification, mr_deregistered) == 8);

#undef WORKER_RDMO_ASSERT

#endif
