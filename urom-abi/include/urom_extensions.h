/*
 * Functions of this project's library beyond DOCA's interface. NVIDIA's library lacks all of them.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef UROM_EXTENSIONS_H_
#define UROM_EXTENSIONS_H_

#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_pe;
struct doca_urom_service;
struct doca_urom_worker;
struct doca_urom_worker_cmd_task;

/* Sets the service's address, "host:port" or "@file", instead of the environment. "@file" is a file
 * of uromd --address-file and is read in this call. `origin` is the source of the address in
 * messages; may be NULL. Texts are copied. BAD_STATE when not idle. */
DOCA_STABLE
doca_error_t urom_service_set_address(struct doca_urom_service *service, const char *address,
				      const char *origin);

/* Selects the embedded service, whose workers are threads of this process. `plugin_path` is as in
 * UROM_PLUGIN_PATH; NULL: that variable, else the program's directory. BAD_STATE when not idle. */
DOCA_STABLE
doca_error_t urom_service_set_embedded(struct doca_urom_service *service, const char *plugin_path);

/* Lets a service start without a device, with any line for this host. BAD_STATE when not idle. */
DOCA_STABLE
doca_error_t urom_service_set_any_device(struct doca_urom_service *service);

/* Sets the file of the daemon's key, instead of UROM_KEY_FILE. The text is copied; the file is read
 * at the start. The program's user must own it, with mode 0600. BAD_STATE when not idle. */
DOCA_STABLE
doca_error_t urom_service_set_key_file(struct doca_urom_service *service, const char *path);

/* The fingerprint of a plugin's description: builds with the same fingerprint decode each other's
 * bytes correctly. NOT_FOUND for a plugin without a description, such as one in C; INVALID_VALUE
 * for an unknown plugin id. BAD_STATE unless the service runs. */
DOCA_STABLE
doca_error_t urom_service_get_plugin_fingerprint(struct doca_urom_service *service,
						 uint64_t plugin_id, uint64_t *fingerprint);

/* A plugin's description without documentation, in the format of the section .urom.description.
 * `length` is the capacity and receives the description's length: TOO_BIG when that is larger. Asks
 * the daemon and blocks for at most 4.5 s. BAD_STATE unless the service runs. */
DOCA_STABLE
doca_error_t urom_service_get_plugin_description(struct doca_urom_service *service,
						 uint64_t plugin_id, void *bytes, size_t *length);

/* Code of a failed start, stop or setting; SUCCESS without a failure since the start. */
DOCA_STABLE
doca_error_t urom_ctx_get_failure_code(const struct doca_ctx *ctx);

/* The same as text: writes at most `capacity` bytes without a NUL, returns the full length. */
DOCA_STABLE
size_t urom_ctx_get_failure(const struct doca_ctx *ctx, char *text, size_t capacity);

struct urom_worker_health {
	char plugin[48]; /* the plugin that does not return; empty when all is well */
	char method[16]; /* what it was called for, such as "worker_cmd", "progress" or "notif_pack"
			  */
	uint64_t seconds; /* for how long it has not returned */
};

/* Whether a plugin has not returned from a call for at least 5 s, which blocks its worker. Returns
 * the worker's last report, without a progress. BAD_STATE unless the worker runs. */
DOCA_STABLE
doca_error_t urom_worker_get_health(struct doca_urom_worker *worker,
				    struct urom_worker_health *health);

struct urom_cmd_task_end {
	doca_error_t status; /* what doca_task_get_status gives */
	uint32_t cancelled;   /* 1 after the deadline (TIME_OUT) or a cancel (SKIPPED) */
	void *response; /* where the response's data begins; NULL when there was no notification */
	size_t length;  /* of the response, in bytes */
};

/* The address of a task's result, to be read without a call; constant while the caller owns the
 * task. The contents are valid from completion until submit or release. NULL for another object. */
DOCA_STABLE
const struct urom_cmd_task_end *
urom_worker_cmd_task_get_end(struct doca_urom_worker_cmd_task *task);

/* The plugin's or the worker's reason why a completed command failed: writes at most `capacity`
 * bytes of UTF-8 without a NUL, returns the full length: at most 2,048, or 0 without a reason. */
DOCA_STABLE
size_t urom_worker_cmd_task_get_failure(const struct doca_urom_worker_cmd_task *task, char *text,
					size_t capacity);

/* Sets a timeout in nanoseconds after submit for later commands of this task: the next progress
 * after it completes the command with TIME_OUT. While answers arrive, progress reads the clock
 * after every 64 of them. 0, the default, disables it. The plugin receives the deadline.
 * NOT_PERMITTED for a task in flight, INVALID_VALUE for another object or a released task.
 *
 * A cancelled command, by its deadline or by the host, counts as in flight until its answer
 * arrives, which is discarded and counted. Its task can be released, but not submitted again. */
DOCA_STABLE
doca_error_t urom_worker_cmd_task_set_deadline(struct doca_urom_worker_cmd_task *task,
					       uint64_t nanoseconds);

/* Cancels a command: the next progress completes it with SKIPPED, or a later one if other events
 * are ready. The plugin is notified. BAD_STATE unless the command is in flight and unanswered. */
DOCA_STABLE
doca_error_t urom_worker_cmd_task_cancel(struct doca_urom_worker_cmd_task *task);

/* The same, and releases the task, which does not complete. BAD_STATE also for a graph's task. */
DOCA_STABLE
doca_error_t urom_worker_cmd_task_forget(struct doca_urom_worker_cmd_task *task);

/* The size of the host's area in a command task. */
#define UROM_CMD_TASK_AREA 192

/* UROM_CMD_TASK_AREA bytes in the task for the caller, 64-aligned; the first 32 are the bytes of
 * doca_urom_worker_cmd_task_get_user_data. They are zero after allocation. They stay valid after
 * the release, until the next start, destruction or allocation. NULL for another object. */
DOCA_STABLE
void *urom_worker_cmd_task_get_area(struct doca_urom_worker_cmd_task *task);

struct urom_cancelled {
	uint64_t waiting; /* how many are unanswered; they count against the tasks in flight */
	uint64_t late;    /* how many answers came after a deadline or a cancel */
	uint64_t dropped; /* how many answers came to forgotten commands */
};

/* The counts since the worker's last start. */
DOCA_STABLE
doca_error_t urom_worker_get_cancelled(struct doca_urom_worker *worker,
				      struct urom_cancelled *cancelled);

/* Transfers a stopping worker to its engine, which destroys it when it is idle. Destroying the
 * engine waits at most 10 s for it, then returns IN_USE. IN_USE while the worker runs or has
 * unreleased tasks. An idle worker is destroyed immediately. */
DOCA_STABLE
doca_error_t urom_worker_leave(struct doca_urom_worker *worker);

struct urom_offered_memory {
	size_t size;        /* sizeof(struct urom_offered_memory) */
	uint64_t memory;    /* the number by which commands name it; not used for other memory */
	void *address;      /* where it begins */
	size_t len;         /* its length in bytes, not 0 */
	uint32_t access;    /* of enum doca_access_flag */
	int fd;             /* a memfd, sealed against shrinking, that has it; -1 for none */
	uint64_t fd_offset; /* where it begins there, at a page */
	uint32_t path;      /* of enum urom_memory_path (urom_plugin_extension.h): the first to
			     * try; those before it are passed over. For tests */
	uint32_t reserved;  /* 0 */
};

/* Called once, on any thread, when memory is shared or no longer shared: with the path, an enum
 * urom_memory_path (urom_plugin_extension.h), and the failure's text, valid during the call. */
typedef void (*urom_memory_cb_t)(void *data, doca_error_t code, uint32_t path, const char *why,
				 size_t why_len);

/* Shares memory with the plugins of a running worker. Commands refer to it by number. The caller
 * owns the memory and keeps it valid until the callback of urom_worker_unshare_memory(), even if
 * the worker is idle again: unshare it before starting or destroying the worker. The descriptor is
 * duplicated, so the caller may close it afterwards. BAD_STATE unless the worker runs. `done` is
 * called only if this returns SUCCESS. It receives ALREADY_EXIST for a number that is already
 * shared with the worker, FULL for more than 4096, NOT_PERMITTED when `access` does not let others
 * read, OPERATING_SYSTEM when the worker cannot map the descriptor, INITIALIZATION, DRIVER or
 * NOT_CONNECTED when a required UCX connection fails, CONNECTION_RESET when the worker is lost. */
DOCA_STABLE
doca_error_t urom_worker_share_memory(struct doca_urom_worker *worker,
				      const struct urom_offered_memory *memory,
				      urom_memory_cb_t done, void *data);

/* Stops sharing memory: later commands do not find it. `done` is called when all plugins have
 * closed it. For a stopped or lost worker this may be after its destruction here. `done` receives
 * NOT_FOUND for a number that is not shared with the worker. After any other error code the memory
 * may still be in use and must stay valid. */
DOCA_STABLE
doca_error_t urom_worker_unshare_memory(struct doca_urom_worker *worker, uint64_t memory,
					urom_memory_cb_t done, void *data);

/* As doca_pe_progress, but polls several times (about 100 ns) before it returns 0, and also
 * completes up to 64 ready commands, in the order of their answers. Returns their number. */
DOCA_STABLE
uint32_t urom_pe_progress_many(struct doca_pe *pe);

/* Makes the notification handle readable within this many nanoseconds, if a notification is
 * requested by then. The earliest time counts; request again after it. */
DOCA_STABLE
doca_error_t urom_pe_wake_within(struct doca_pe *pe, uint64_t nanoseconds);

#ifdef __cplusplus
}
#endif

#endif /* UROM_EXTENSIONS_H_ */
