/*
 * The messages of the plugin worker_allreduce, version 1, for C and C++.
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
#ifndef UROM_PLUGIN_WORKER_ALLREDUCE_H
#define UROM_PLUGIN_WORKER_ALLREDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define WORKER_ALLREDUCE_ASSERT(condition) static_assert(condition, #condition)
#else
#define WORKER_ALLREDUCE_ASSERT(condition) _Static_assert(condition, #condition)
#endif

/** The plugin's name: its file's name without .so. */
#define WORKER_ALLREDUCE_PLUGIN_NAME "worker_allreduce"
/** The return value of its urom_plugin_get_version. */
#define WORKER_ALLREDUCE_PLUGIN_VERSION UINT64_C(1)

/** The kinds of a command: its `type`. */
enum worker_allreduce_command_type {
	/**
	 * Joins a group.
	 *
	 * Answered by WORKER_ALLREDUCE_NOTIFICATION_JOINED.
	 */
	WORKER_ALLREDUCE_COMMAND_JOIN = 0,
	/**
	 * Reduces `count` elements of all members. Every member gets the same bits. When a member
	 * fails or leaves, the call and all later calls of the group fail at all members.
	 *
	 * Answered by WORKER_ALLREDUCE_NOTIFICATION_REDUCED.
	 */
	WORKER_ALLREDUCE_COMMAND_REDUCE = 1,
};

/** The kinds of a notification: its `type`. */
enum worker_allreduce_notification_type {
	/** The member has joined. */
	WORKER_ALLREDUCE_NOTIFICATION_JOINED = 0,
	/** The result is in its buffer. */
	WORKER_ALLREDUCE_NOTIFICATION_REDUCED = 1,
};

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
struct worker_allreduce_memory_range {
	/** The number of the memory map. */
	uint64_t memory;
	/** Offset of the range in the map, in bytes. */
	uint64_t offset;
	/** Length of the range in bytes. */
	uint64_t len;
};
WORKER_ALLREDUCE_ASSERT(sizeof(struct worker_allreduce_memory_range) == 24);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_memory_range, memory) == 0);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_memory_range, offset) == 8);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_memory_range, len) == 16);

/**
 * The type of the elements, little-endian.
 *
 * The values of a `Element` of 32 bits.
 */
enum worker_allreduce_element {
	/** `float`, 4 bytes. */
	WORKER_ALLREDUCE_ELEMENT_F32 = 1,
	/** `double`, 8 bytes. */
	WORKER_ALLREDUCE_ELEMENT_F64 = 2,
	/** `int32_t`. A sum wraps. */
	WORKER_ALLREDUCE_ELEMENT_I32 = 3,
	/** `uint64_t`. A sum wraps. */
	WORKER_ALLREDUCE_ELEMENT_U64 = 4,
	/** bfloat16, 2 bytes. Each sum of two is rounded. */
	WORKER_ALLREDUCE_ELEMENT_BF16 = 5,
};

/**
 * The operation that combines two elements.
 *
 * The values of a `Operation` of 32 bits.
 */
enum worker_allreduce_operation {
	/** Their sum. */
	WORKER_ALLREDUCE_OPERATION_SUM = 1,
	/** The smaller one; if one is NaN, the other. */
	WORKER_ALLREDUCE_OPERATION_MIN = 2,
	/** The larger one; if one is NaN, the other. */
	WORKER_ALLREDUCE_OPERATION_MAX = 3,
};

/** The fields of WORKER_ALLREDUCE_COMMAND_JOIN. */
struct worker_allreduce_command_join {
	/** The number of the group, the same at all members, and unique in the domain. */
	uint64_t group;
	/** The member's own id in the domain. */
	uint32_t rank;
	/** The number of members, 1 to 1024. */
	uint32_t size;
	/** The member's input. */
	struct worker_allreduce_memory_range send;
	/** The buffer of the result. The plugin may write there. */
	struct worker_allreduce_memory_range recv;
};
WORKER_ALLREDUCE_ASSERT(sizeof(struct worker_allreduce_command_join) == 64);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_join, group) == 0);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_join, rank) == 8);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_join, size) == 12);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_join, send) == 16);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_join, recv) == 40);

/** The fields of WORKER_ALLREDUCE_COMMAND_REDUCE. */
struct worker_allreduce_command_reduce {
	/** The handle in the answer to `Join`. */
	uint64_t handle;
	/** The number of elements. */
	uint64_t count;
	/**
	 * The type of the elements.
	 *
	 * A value of `worker_allreduce_element`.
	 */
	uint32_t element;
	/**
	 * The operation.
	 *
	 * A value of `worker_allreduce_operation`.
	 */
	uint32_t operation;
	/** The offset of the elements in both buffers, in bytes. */
	uint64_t offset;
	/** Whether the input is in the buffer of the result. */
	bool in_place;
};
WORKER_ALLREDUCE_ASSERT(sizeof(struct worker_allreduce_command_reduce) == 40);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_reduce, handle) == 0);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_reduce, count) == 8);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_reduce, element) == 16);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_reduce, operation) == 20);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_reduce, offset) == 24);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command_reduce, in_place) == 32);

/**
 * The commands of the allreduce plugin.
 *
 * Every command begins with all of this, 72 bytes.
 */
struct worker_allreduce_command {
	/** Which command this is. */
	uint64_t type;
	/** The fields of that command. */
	union {
		struct worker_allreduce_command_join join;
		struct worker_allreduce_command_reduce reduce;
	};
};
WORKER_ALLREDUCE_ASSERT(sizeof(struct worker_allreduce_command) == 72);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command, type) == 0);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command, join) == 8);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_command, reduce) == 8);

/** The fields of WORKER_ALLREDUCE_NOTIFICATION_JOINED. */
struct worker_allreduce_notification_joined {
	/** The handle for `Reduce`, until the host leaves. */
	uint64_t handle;
};
WORKER_ALLREDUCE_ASSERT(sizeof(struct worker_allreduce_notification_joined) == 8);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_notification_joined, handle) == 0);

/**
 * The answers of the allreduce plugin.
 *
 * Every notification begins with all of this, 16 bytes.
 */
struct worker_allreduce_notification {
	/** Which notification this is. */
	uint64_t type;
	/** The fields of that notification. */
	union {
		struct worker_allreduce_notification_joined joined;
	};
};
WORKER_ALLREDUCE_ASSERT(sizeof(struct worker_allreduce_notification) == 16);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_notification, type) == 0);
WORKER_ALLREDUCE_ASSERT(offsetof(struct worker_allreduce_notification, joined) == 8);

#undef WORKER_ALLREDUCE_ASSERT

#endif
