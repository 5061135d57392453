/* Messages of a collectives plugin, in UCC's layout. */
#ifndef TESTS_ALLREDUCE_PROTOCOL_H
#define TESTS_ALLREDUCE_PROTOCOL_H

#include <stdint.h>

#define ALLREDUCE_VERSION UINT64_C(1)
#define ALLREDUCE_NAME "libucc_doca_urom_plugin"

enum allreduce_type {
	ALLREDUCE_LIB_CREATE = 0,
	ALLREDUCE_LIB_DESTROY = 1,
	ALLREDUCE_CONTEXT_CREATE = 2,
	ALLREDUCE_TEAM_CREATE = 4,
	ALLREDUCE_COLL = 5,
	ALLREDUCE_DATA_CHANNEL = 6,
};

/* Size of the library's parameters; this plugin ignores them. */
#define ALLREDUCE_LIB_PARAMS 40
#define ALLREDUCE_LENGTH 4096

struct allreduce_command {
	uint32_t type;
	uint64_t worker_id;
	union {
		uint64_t lib_params; /* a pointer */
		struct {
			int64_t start;
			int64_t stride;
			int64_t size;
			uint64_t base_va;
			uint64_t len;
		} context_create;
		struct {
			int64_t start;
			int64_t stride;
			int64_t size;
			uint64_t context;
		} team_create;
		struct {
			uint64_t args; /* a pointer */
			uint64_t team;
			int32_t use_xgvmi;
			uint64_t work_buffer; /* a pointer */
			uint64_t work_buffer_size;
			uint64_t team_size;
		} coll;
		struct {
			uint64_t addr; /* a pointer */
			uint64_t addr_len;
		} data_channel;
	};
};

_Static_assert(sizeof(struct allreduce_command) == 64, "as it travels");

struct allreduce_notification {
	uint32_t type;
	uint64_t worker_id;
	union {
		uint64_t context;
		uint64_t team;
		int32_t status;
	};
};

_Static_assert(sizeof(struct allreduce_notification) == 24, "as it travels");

struct allreduce_buffer {
	uint64_t address;
	uint64_t count;
	uint64_t datatype;
	uint64_t memory_type;
	uint64_t unused;
};

struct allreduce_args {
	uint64_t mask;
	uint32_t coll_type;
	struct allreduce_buffer src, dst;
	unsigned char unused[104];
};

_Static_assert(sizeof(struct allreduce_args) == 200, "as it travels");

/* Work buffer: packed handles of the source and the destination. */
struct allreduce_keys {
	uint64_t src_len, dst_len;
	char keys[1024];
};

_Static_assert(sizeof(struct allreduce_keys) == 1040, "as it travels");

#endif /* TESTS_ALLREDUCE_PROTOCOL_H */
