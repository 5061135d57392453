/* Messages of worker_rdmo: commands, notifications, and messages of initiators. */
#ifndef TESTS_RDMO_PROTOCOL_H
#define TESTS_RDMO_PROTOCOL_H

#include <stdint.h>

#define RDMO_VERSION UINT64_C(1)
#define RDMO_AM_ID 0

enum rdmo_type {
	RDMO_CLIENT_INIT = 0,
	RDMO_RQ_CREATE = 1,
	RDMO_RQ_DESTROY = 2,
	RDMO_MR_REG = 3,
	RDMO_MR_DEREG = 4,
};

/* Payloads follow the command in field order. */
struct rdmo_command {
	uint64_t type;
	union {
		struct {
			uint64_t id;
			uint64_t addr; /* a pointer */
			uint64_t addr_len;
		} client_init;
		struct {
			uint64_t addr; /* a pointer */
			uint64_t addr_len;
		} rq_create;
		struct {
			uint64_t rq_id;
		} rq_destroy;
		struct {
			uint64_t va;
			uint64_t len;
			uint64_t packed_rkey; /* a pointer */
			uint64_t packed_rkey_len;
			uint64_t packed_memh; /* a pointer */
			uint64_t packed_memh_len;
		} mr_reg;
		struct {
			uint64_t rkey;
		} mr_dereg;
	};
};

_Static_assert(sizeof(struct rdmo_command) == 56, "as it travels");

/* The address of the plugin's UCX worker follows the notification of CLIENT_INIT. */
struct rdmo_notification {
	uint64_t type;
	union {
		struct {
			uint64_t addr; /* a pointer */
			uint64_t addr_len;
		} client_init;
		uint64_t rq_id;
		uint64_t rkey;
	};
};

_Static_assert(sizeof(struct rdmo_notification) == 24, "as it travels");

enum rdmo_operation {
	RDMO_FLUSH = 0,
	RDMO_APPEND = 1,
	RDMO_SCATTER = 2,
};

#define RDMO_FENCE 1u

/* Header of an active message to the plugin; the payload is the data. */
struct rdmo_header {
	uint64_t id;
	uint32_t operation;
	uint32_t flags;
	union {
		struct {
			uint64_t flush_id;
		} flush;
		struct {
			uint64_t ptr_addr;
			uint64_t ptr_rkey;
			uint64_t data_rkey;
		} append;
		struct {
			uint64_t count;
		} scatter;
	};
};

#define RDMO_FLUSH_HEADER 24
#define RDMO_APPEND_HEADER 40
#define RDMO_SCATTER_HEADER 24

/* Part of a scatter's payload; its data follows. */
struct rdmo_iov {
	uint64_t addr;
	uint64_t rkey;
	uint16_t len;
};

_Static_assert(sizeof(struct rdmo_iov) == 24, "as it travels");

/* Header of a flush's answer, without payload. */
struct __attribute__((packed)) rdmo_response {
	uint32_t id;
	uint64_t flush_id;
};

_Static_assert(sizeof(struct rdmo_response) == 12, "as it travels");

#endif /* TESTS_RDMO_PROTOCOL_H */
