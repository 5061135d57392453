/*
 * What this project's library can do beyond DOCA's interface. NVIDIA's has none of it.
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

/*
 * Names the service's address, "host:port", instead of the environment; "@file" is the file of
 * uromd --address-file, which is read now. `origin` says where the address came from, for messages;
 * it may be NULL. Texts are copied. BAD_STATE when the service is not idle.
 */
DOCA_STABLE
doca_error_t urom_service_set_address(struct doca_urom_service *service, const char *address,
				      const char *origin);

/*
 * Asks for the embedded service: workers are threads of this process. `plugin_path` is as in
 * UROM_PLUGIN_PATH; NULL: that variable, else the directory of the running program. BAD_STATE when
 * the service is not idle.
 */
DOCA_STABLE
doca_error_t urom_service_set_embedded(struct doca_urom_service *service, const char *plugin_path);

/*
 * Lets a service start without a device: any line of the service file that is for this host will
 * do. BAD_STATE when the service is not idle.
 */
DOCA_STABLE
doca_error_t urom_service_set_any_device(struct doca_urom_service *service);

/*
 * Names the file with the key that a daemon asks for, in place of UROM_KEY_FILE. The text is
 * copied; the file is read when the context starts. It belongs to the program's user and has mode
 * 0600. BAD_STATE when the service is not idle.
 */
DOCA_STABLE
doca_error_t urom_service_set_key_file(struct doca_urom_service *service, const char *path);

/*
 * The fingerprint of a plugin's description, by the plugin's id: two builds with the same one read
 * each other's bytes alike. NOT_FOUND for a plugin without a description, such as one in C;
 * INVALID_VALUE for what is no plugin's id. BAD_STATE unless the service runs.
 */
DOCA_STABLE
doca_error_t urom_service_get_plugin_fingerprint(struct doca_urom_service *service,
						 uint64_t plugin_id, uint64_t *fingerprint);

/*
 * A plugin's description without documentation, as the section .urom.description of its file has
 * it. `length` is how many bytes there is room for, and becomes how many the description has:
 * TOO_BIG when that is more. The daemon is asked, and the call blocks for 4.5 s at most. BAD_STATE
 * unless the service runs.
 */
DOCA_STABLE
doca_error_t urom_service_get_plugin_description(struct doca_urom_service *service,
						 uint64_t plugin_id, void *bytes, size_t *length);

/* Why a context failed to start, stopped by itself or refused a setting; SUCCESS when nothing
 * failed since its start. */
DOCA_STABLE
doca_error_t urom_ctx_get_failure_code(const struct doca_ctx *ctx);

/*
 * The same in words: writes at most `capacity` bytes without a NUL, and returns the whole text's
 * length; 0 when nothing failed.
 */
DOCA_STABLE
size_t urom_ctx_get_failure(const struct doca_ctx *ctx, char *text, size_t capacity);

/* What a worker says of its plugins. */
struct urom_worker_health {
	char plugin[48]; /* the plugin that does not return; empty when all is well */
	char method[16]; /* what it was called for, such as "worker_cmd", "progress" or "notif_pack"
			  */
	uint64_t seconds; /* for how long it has not returned */
};

/*
 * Whether a plugin of the worker has not returned from a call for 5 s or longer: nothing else of
 * that worker is done meanwhile. The answer is what the worker said last, and needs no progress.
 * BAD_STATE unless the worker runs.
 */
DOCA_STABLE
doca_error_t urom_worker_get_health(struct doca_urom_worker *worker,
				    struct urom_worker_health *health);

/* How a command task ended. */
struct urom_cmd_task_end {
	doca_error_t status; /* what doca_task_get_status gives */
	uint32_t given_up;   /* 1 after the deadline (TIME_OUT) or a cancel (SKIPPED) */
	void *response; /* where the response's data begins; NULL when there was no notification */
	size_t length;  /* of the response, in bytes */
};

/*
 * Where a task's end can be read without a call: the same place for as long as the caller has the
 * task. What is there means something from each completion on, until the task is submitted or
 * released. NULL for what is no task.
 */
DOCA_STABLE
const struct urom_cmd_task_end *
urom_worker_cmd_task_get_end(struct doca_urom_worker_cmd_task *task);

/*
 * Why a completed command failed, in the words of its plugin or its worker: writes at most
 * `capacity` bytes of UTF-8 without a NUL, and returns the whole text's length, 2,048 bytes at
 * most; 0 when nobody said so.
 */
DOCA_STABLE
size_t urom_worker_cmd_task_get_failure(const struct doca_urom_worker_cmd_task *task, char *text,
					size_t capacity);

/*
 * Gives each later command of this task up so many nanoseconds after its submit: the first progress
 * after that completes it with TIME_OUT. While answers come, progress reads the clock after 64 of
 * them in a row. 0 is for ever, as after the task's allocation. The plugin learns the time.
 * NOT_PERMITTED for a task in flight, INVALID_VALUE for another object or a released task.
 *
 * A command that was given up, by its deadline or by a cancel, keeps its place among the commands
 * in flight until its answer comes, which is thrown away and counted. Its task can be released, and
 * not be submitted again.
 */
DOCA_STABLE
doca_error_t urom_worker_cmd_task_set_deadline(struct doca_urom_worker_cmd_task *task,
					       uint64_t nanoseconds);

/*
 * Gives a command up: the next progress completes it with SKIPPED, or a later one if other events
 * are ready. The plugin learns that the host does not wait. BAD_STATE unless the command is in
 * flight and unanswered.
 */
DOCA_STABLE
doca_error_t urom_worker_cmd_task_cancel(struct doca_urom_worker_cmd_task *task);

/* The same, and releases the task, which does not complete. BAD_STATE also for a graph's task. */
DOCA_STABLE
doca_error_t urom_worker_cmd_task_forget(struct doca_urom_worker_cmd_task *task);

/* The bytes of a command task that belong to the host. */
#define UROM_CMD_TASK_AREA 192

/*
 * UROM_CMD_TASK_AREA bytes of the caller's inside the task, 64-aligned, of which
 * doca_urom_worker_cmd_task_get_user_data gives the first 32. They are zero after the allocation.
 * They stay until the worker is started again or destroyed, also after the release of the task,
 * unless it is allocated again. NULL for what is no task.
 */
DOCA_STABLE
void *urom_worker_cmd_task_get_area(struct doca_urom_worker_cmd_task *task);

/* What became of the commands of a worker that the host did not wait for. */
struct urom_given_up {
	uint64_t waiting; /* how many are unanswered; they count against the tasks in flight */
	uint64_t late;    /* how many answers came after a deadline or a cancel */
	uint64_t dropped; /* how many answers came to forgotten commands */
};

/* The counts since the worker's last start. */
DOCA_STABLE
doca_error_t urom_worker_get_given_up(struct doca_urom_worker *worker,
				      struct urom_given_up *given_up);

/*
 * Leaves a stopping worker to its engine, which destroys it when it is idle. The destruction of the
 * engine waits for that, for 10 s at most, and is IN_USE then. IN_USE while the worker runs, or has
 * tasks that are not released. An idle worker is destroyed at once.
 */
DOCA_STABLE
doca_error_t urom_worker_leave(struct doca_urom_worker *worker);

/* Memory that a host shares with a worker. */
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

/*
 * Called once, on any thread, when memory is shared, or not any more: with the path that was taken,
 * of enum urom_memory_path (urom_plugin_extension.h), and why it failed, in `why_len` bytes of text
 * that are there during the call.
 */
typedef void (*urom_memory_cb_t)(void *data, doca_error_t code, uint32_t path, const char *why,
				 size_t why_len);

/*
 * Shares memory with the plugins of a running worker. Commands name it by its number. The caller
 * owns the memory, and keeps it until urom_worker_unshare_memory() has called back, also for a
 * worker that is idle again: ask before it is started again or destroyed. The descriptor is copied:
 * the caller may close it when this has returned. BAD_STATE unless the worker runs. `done` is
 * called if this returns SUCCESS, and not otherwise. It is told ALREADY_EXIST for a number that is
 * shared with the worker, FULL when 4096 are, NOT_PERMITTED when `access` lets nobody else read,
 * OPERATING_SYSTEM when the worker cannot map the descriptor, INITIALIZATION, DRIVER or
 * NOT_CONNECTED when UCX is needed and does not reach the worker, CONNECTION_RESET when the worker
 * is lost.
 */
DOCA_STABLE
doca_error_t urom_worker_share_memory(struct doca_urom_worker *worker,
				      const struct urom_offered_memory *memory,
				      urom_memory_cb_t done, void *data);

/*
 * Ends a share: no command that is submitted later finds the memory. `done` is called when no
 * plugin has it open any more. For a worker that was stopped or lost that may be after it was
 * destroyed here. It is told NOT_FOUND for a number that is not shared with the worker. Any other
 * code but SUCCESS means that the library cannot know: the memory has to stay.
 */
DOCA_STABLE
doca_error_t urom_worker_unshare_memory(struct doca_urom_worker *worker, uint64_t memory,
					urom_memory_cb_t done, void *data);

/*
 * As doca_pe_progress, but it looks several times before it finds that nothing has come, which
 * takes some 100 ns; and the commands that are ready behind what it delivers complete as well, up
 * to 64 in a call and in the order of their answers. Returns how much it delivered.
 */
DOCA_STABLE
uint32_t urom_pe_progress_many(struct doca_pe *pe);

/*
 * Makes the notification handle readable within so many nanoseconds, if a notification is requested
 * by then. Of several times the first counts; ask again after it.
 */
DOCA_STABLE
doca_error_t urom_pe_wake_within(struct doca_pe *pe, uint64_t nanoseconds);

#ifdef __cplusplus
}
#endif

#endif /* UROM_EXTENSIONS_H_ */
