/*
 * Services of a plugin and a worker of this project for each other beyond DOCA's interface, in C.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A plugin defines `urom_plugin_extension` and sets the members that it implements. NVIDIA's worker
 * ignores it, so the plugin must also implement DOCA's methods. Each structure begins with its
 * size, and later releases append members: each side uses their common part. Members may be NULL.
 *
 * All functions of a context are called on its worker's thread and never overlap. A process with an
 * embedded service may have several workers, each with its own context and thread.
 */
#ifndef UROM_PLUGIN_EXTENSION_H_
#define UROM_PLUGIN_EXTENSION_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct urom_worker_ctx;

/* The maximum length of a failure text for a host, in bytes. Longer texts are truncated. */
#define UROM_LONGEST_FAILURE 2048

enum urom_called {
	UROM_CALLED_ANSWERED = 0, /* it wrote its answer to the call's buffer */
	UROM_CALLED_PENDING = 1,  /* it will answer through `progress` */
	UROM_CALLED_DECLINED = 2, /* it did not begin it: the worker passes it to `worker_cmd` */
};

enum urom_cancel_reason {
	UROM_CANCEL_CANCELLED = 0, /* the host program gave it up */
	UROM_CANCEL_TIMED_OUT = 1, /* its deadline passed */
	UROM_CANCEL_HOST_LEFT = 2, /* the host left, or was lost */
};

/* A command and the buffer for its answer, both unaligned. */
struct urom_command_call {
	size_t size;            /* sizeof(struct urom_command_call) */
	uint64_t dest_id;       /* the connection that it came in on */
	uint64_t type;          /* the plugin's id */
	uint64_t urom_context;  /* its token */
	const uint8_t *command; /* its bytes, valid during the call */
	size_t command_len;     /* how many there are */
	uint8_t *answer;     /* where the notification's bytes may be written, without a header */
	size_t answer_capacity;  /* how many fit: a longer notification is over the message limit */
	size_t answer_len;   /* out: how many were written */
	doca_error_t status; /* out: the notification's status; DOCA_SUCCESS before the call */
	uint32_t reserved;   /* 0 */
};

/* The call of a command with a trace context: `call.size` is sizeof(struct urom_traced_call). */
struct urom_traced_call {
	struct urom_command_call call;
	uint8_t context[25]; /* trace id (16) and span id (8) in network byte order, and flags,
			      * as in the W3C's header `traceparent` */
	uint8_t reserved[7]; /* 0 */
};

/* The path between a worker and a host's memory. */
enum urom_memory_path {
	UROM_MEMORY_MAPPED = 0,  /* it is mapped in the worker's process, too */
	UROM_MEMORY_PROCESS = 1, /* the kernel copies from and to the host's process; for atomic
				  * operations as UROM_MEMORY_NETWORK */
	UROM_MEMORY_NETWORK = 2, /* the host's library does it, and sends the bytes over UCX */
};

/* An operation on a host's memory. */
enum urom_memory_action {
	UROM_MEMORY_READ = 0,         /* copies to `local` */
	UROM_MEMORY_WRITE = 1,        /* copies from `local` */
	UROM_MEMORY_FETCH_ADD = 2,    /* adds `operand`; `result` is what was there */
	UROM_MEMORY_SWAP = 3,         /* puts `operand`; `result` is what was there */
	UROM_MEMORY_COMPARE_SWAP = 4, /* puts `operand` where `compare` is; `result` as above */
	UROM_MEMORY_TAG_SEND = 5,     /* has the host send the bytes with the tag `operand` to the
				       * UCX worker whose address are the `result` bytes at
				       * `local`; over the network only */
	UROM_MEMORY_LOAD = 6,         /* `result` is what is there, loaded as one number */
	UROM_MEMORY_WAIT_GT = 7,      /* waits until what is there, masked by `operand`, is greater
				       * than `compare`, but a second at most; `result` is what was
				       * found last, unmasked; a mapped word is looked at once */
	UROM_MEMORY_WAIT_EQ = 8,      /* the same, until it is `compare` */
	UROM_MEMORY_WAIT_NEQ = 9,     /* the same, until it is not `compare` */
};

/* An open part of a host's memory, valid until it is closed, even after the host left. */
struct urom_host_memory {
	size_t size;      /* sizeof(struct urom_host_memory) */
	void *handle;     /* what the worker knows it by */
	uint8_t *mapping; /* where it begins in this process, or NULL; the host may write to it at
			   * any time */
	uint64_t address; /* where it begins in the host */
	uint64_t len;     /* its length in bytes */
	uint32_t access;  /* of enum doca_access_flag; without DOCA_ACCESS_FLAG_PCI_READ_WRITE the
			   * mapping is readable only */
	uint32_t path;    /* of enum urom_memory_path */
};

/* An operation on a host's memory. Its address must not change until it has ended. */
struct urom_memory_operation {
	size_t size;         /* sizeof(struct urom_memory_operation) */
	uint32_t action;     /* of enum urom_memory_action */
	doca_error_t status; /* out: how it ended */
	uint64_t offset;     /* from the beginning of the open memory on, in bytes */
	uint64_t len;        /* how many bytes; 8, at an aligned address, for all that have a result */
	uint8_t *local;      /* the plugin's bytes, which stay until the operation has ended */
	uint64_t operand;    /* see enum urom_memory_action */
	uint64_t compare;    /* see enum urom_memory_action */
	uint64_t result;     /* see enum urom_memory_action */
	/* Called when an IN_PROGRESS operation ends, outside the plugin's functions. */
	void (*done)(struct urom_memory_operation *operation);
};

/* The worker's functions. They take the context that the services were attached to, and may be
 * called only on the worker's thread, also inside the plugin's functions. */
struct urom_worker_services {
	size_t size;          /* sizeof(struct urom_worker_services) */
	uint64_t worker_id;   /* the worker's id on its service */
	uint64_t group_id;    /* its group (doca_urom_worker_set_gid), 0 by default */
	size_t message_limit; /* the service's message limit in bytes, a header of 24 bytes
			       * (command) or 32 bytes (notification) included */
	const void *log;      /* for plugins in Rust; C writes by doca_log.h */
	/* The message limit of a connection; 0 for an unknown connection. */
	size_t (*connection_limit)(struct urom_worker_ctx *ctx, uint64_t dest_id);
	/* Deadline of an unanswered command: CLOCK_MONOTONIC nanoseconds, or 0. */
	uint64_t (*deadline)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t urom_context);
	/* Sets the reason of a command's failure, before its answer: UTF-8 without a NUL. The host
	 * reads it with urom_worker_cmd_task_get_failure(). A second text replaces the first. */
	void (*explain)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t urom_context,
			const char *text, size_t len);
	/* Opens `len` bytes of a host's shared memory at `offset`. NOT_FOUND for memory that this
	 * host does not share with this worker, INVALID_VALUE for bytes outside it. The plugin must
	 * close all memory before `close` returns. */
	doca_error_t (*open_memory)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t memory,
				    uint64_t offset, uint64_t len, struct urom_host_memory *opened);
	/* Runs an operation. After IN_PROGRESS its `done` will be called; any other code is the
	 * operation's result, also in its `status`. INVALID_VALUE for bytes outside the memory or
	 * unaligned bytes, NOT_PERMITTED when the host does not allow it, NOT_SUPPORTED when this
	 * path lacks the operation, IO_FAILED when the host's memory is missing, CONNECTION_RESET
	 * when the host has left. Reads and writes end in the call, except over the network. */
	doca_error_t (*run_memory)(struct urom_worker_ctx *ctx, void *handle,
				   struct urom_memory_operation *operation);
	void (*keep_memory)(struct urom_worker_ctx *ctx, void *handle);
	/* Closes memory, once for each open. Pending operations continue. */
	void (*close_memory)(struct urom_worker_ctx *ctx, void *handle);
	/* Reports, inside `progress`, that the plugin made progress other than an answer, such as a
	 * message of its own peer. The worker then polls it without a pause. */
	void (*moved)(struct urom_worker_ctx *ctx);
	/* Begins a span of an unanswered command with a trace context: a run of its handler, or a
	 * part of one. `name` is `len` bytes of UTF-8. Spans nest, and end in reverse order. */
	void (*enter_span)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t urom_context,
			   const char *name, size_t len);
	/* Ends the span that began last. */
	void (*leave_span)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t urom_context);
};

struct urom_plugin_extension {
	size_t size; /* sizeof(struct urom_plugin_extension) */
	/* Passes the worker's services, right before `open` of the same context, whose `plugin_ctx`
	 * is not set yet. They stay valid until `close` has returned, or `open` has failed. */
	void (*attach)(struct urom_worker_ctx *ctx, const struct urom_worker_services *services);
	/* Runs a command and returns an enum urom_called. The worker calls it instead of
	 * `worker_cmd` for a command that need not wait for others of this plugin. */
	uint32_t (*call)(struct urom_worker_ctx *ctx, struct urom_command_call *call);
	/* Reports that the host no longer waits for a command, with an enum urom_cancel_reason. The
	 * plugin must still answer it, soon. The command may be unknown to the plugin. */
	void (*cancel)(struct urom_worker_ctx *ctx, uint64_t dest_id, uint64_t urom_context,
		       uint32_t reason);
	/* Reports that all commands of a connection are answered and it sends no more. Its number
	 * is never reused. Not called for connections that exist when the plugin is closed. */
	void (*host_left)(struct urom_worker_ctx *ctx, uint64_t dest_id);
	/* Called right before the worker sleeps. Writes at most max descriptors to fds and returns
	 * their number. Each becomes readable when the plugin has work. Returns UROM_PLUGIN_READY
	 * if it has work now; the worker then does not sleep. The descriptors stay open until the
	 * next call of the plugin. */
	size_t (*arm)(struct urom_worker_ctx *ctx, int *fds, size_t max);
};

/* Return value of arm for a plugin that has work now. */
#define UROM_PLUGIN_READY SIZE_MAX

/* The plugin's table, exported in addition to DOCA's two symbols. */
DOCA_STABLE extern const struct urom_plugin_extension urom_plugin_extension;

#ifdef __cplusplus
}
#endif

#endif /* UROM_PLUGIN_EXTENSION_H_ */
