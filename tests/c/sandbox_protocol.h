/* Messages of worker_sandbox, version 1: memory, tag send, tag receive. */
#ifndef TESTS_SANDBOX_PROTOCOL_H
#define TESTS_SANDBOX_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#define SANDBOX_PLUGIN "worker_sandbox"
#define SANDBOX_VERSION 1

enum sandbox_type {
	SANDBOX_MEM_MAP = 0,
	SANDBOX_TAG_SEND = 1,
	SANDBOX_TAG_RECV = 2,
};

/* UCX's ucp_mem_map_params_t; the plugin reads these bits of the mask. */
struct sandbox_map_params {
	uint64_t field_mask;
	uint64_t address; /* what later commands call the first byte */
	uint64_t length;
	uint32_t flags;
	uint32_t prot;
	uint32_t memory_type;
	uint32_t padding;
	uint64_t exported_memh_buffer; /* an address of the host's, of no use to anybody else */
};

enum {
	SANDBOX_MAP_HAS_ADDRESS = 1,
	SANDBOX_MAP_HAS_LENGTH = 2,
	SANDBOX_MAP_HAS_FLAGS = 4,
	SANDBOX_MAP_FLAG_ALLOCATE = 2,
};

struct sandbox_mem_map {
	struct sandbox_map_params params;
	uint64_t exported_memh_buffer_len;
};

/* If memh_id is 0, `count` bytes follow; otherwise they are at `buffer` in that memory. */
struct sandbox_tag_send {
	uint64_t dest; /* a member of the domain */
	uint64_t buffer;
	uint64_t count;
	uint64_t tag;
	uint64_t memh_id;
};

/* If memh_id is 0, the bytes go into the answer; otherwise to `buffer` in that memory. */
struct sandbox_tag_recv {
	uint64_t buffer;
	uint64_t count;
	uint64_t tag;
	uint64_t tag_mask;
	uint64_t memh_id;
};

struct sandbox_command {
	uint64_t type;
	uint64_t context; /* repeated by the answer */
	union {
		struct sandbox_mem_map mem_map;
		struct sandbox_tag_send tag_send;
		struct sandbox_tag_recv tag_recv;
	};
};

_Static_assert(sizeof(struct sandbox_map_params) == 48, "UCX's structure has 48 bytes");
_Static_assert(offsetof(struct sandbox_map_params, memory_type) == 32, "as in UCX");
_Static_assert(offsetof(struct sandbox_map_params, exported_memh_buffer) == 40, "as in UCX");
_Static_assert(offsetof(struct sandbox_command, mem_map.exported_memh_buffer_len) == 64,
	       "mem_map's last");
_Static_assert(offsetof(struct sandbox_command, tag_send.memh_id) == 48, "tag_send's last");
_Static_assert(offsetof(struct sandbox_command, tag_recv.memh_id) == 48, "tag_recv's last");
_Static_assert(sizeof(struct sandbox_command) == 72, "a command has 72 bytes");

struct sandbox_mem_mapped {
	uint64_t memh_id;
};

/* `status` is UCX's, one byte. */
struct sandbox_tag_sent {
	int8_t status;
	uint8_t padding[7];
};

/* `count` bytes follow when `buffer` is not 0. */
struct sandbox_tag_received {
	uint64_t buffer;
	uint64_t count;
	uint64_t sender_tag;
	int8_t status;
	uint8_t padding[7];
};

struct sandbox_notification {
	uint64_t type;
	uint64_t context;
	union {
		struct sandbox_mem_mapped mem_mapped;
		struct sandbox_tag_sent tag_sent;
		struct sandbox_tag_received tag_received;
	};
};

_Static_assert(offsetof(struct sandbox_notification, tag_sent.status) == 16, "tag_sent's first");
_Static_assert(offsetof(struct sandbox_notification, tag_received.status) == 40,
	       "tag_received's last");
_Static_assert(sizeof(struct sandbox_notification) == 48, "a notification has 48 bytes");

#endif /* TESTS_SANDBOX_PROTOCOL_H */
