/*
 * The interface between a DOCA UROM worker and a plugin, in C.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * This header is this project's own definition of the interface. It has the names, sizes and
 * offsets of DOCA's header of the same name, so plugins compiled against either are compatible. It
 * needs only gcc or clang and the other headers of this directory. `urom-abi/tests/c_layout.rs`
 * compares it with the Rust structures.
 *
 * Rules beyond the types:
 *   - Calls of a plugin come from one worker thread and never overlap: open, addr (twice), any mix
 *     of worker_cmd, progress and notif_pack, then close.
 *   - Both descriptors are single blocks from malloc() or calloc(). The plugin frees the commands it
 *     removes from the list, the worker frees the notifications in the list.
 *   - Every command gets exactly one notification, now or later, which repeats its type,
 *     urom_context and dest_id.
 */
#ifndef DOCA_UROM_PLUGIN_H_
#define DOCA_UROM_PLUGIN_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <urom_list.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Commands and notifications ---- */

/* Capacity for a plugin's name (its file name without ".so") and its NUL. */
#define DOCA_UROM_PLUGIN_NAME_MAX_LEN 48

/* The service's information about a plugin. */
struct doca_urom_service_plugin_info {
	uint64_t id;      /* one bit of a mask, never 0 */
	uint64_t version; /* what urom_plugin_get_version() stored */
	char plugin_name[DOCA_UROM_PLUGIN_NAME_MAX_LEN];
};

/* Nested structures with flexible array members: compilers accept them, ISO C does not. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

/* A command: this header and `len` bytes of the plugin. */
struct urom_worker_cmd {
	uint64_t type;         /* the plugin's id */
	uint64_t urom_context; /* the host library's token, to be repeated */
	uint64_t len;          /* bytes in plugin_cmd */
	uint8_t plugin_cmd[];
};

struct urom_worker_cmd_desc {
	ucs_list_link_t entry;
	uint64_t dest_id; /* the connection it came in on */
	struct urom_worker_cmd worker_cmd;
};

/* A notification: this header and `len` bytes of the plugin. */
struct urom_worker_notify {
	uint64_t type;         /* as in the command */
	uint64_t urom_context; /* as in the command */
	uint64_t len;          /* bytes in plugin_notif */
	doca_error_t status;   /* becomes the status of the host's task */
	uint32_t reserved;     /* 0 */
	uint8_t plugin_notif[];
};

struct urom_worker_notif_desc {
	ucs_list_link_t entry;
	uint64_t dest_id; /* as in the command */
	struct urom_worker_notify worker_notif;
};

#pragma GCC diagnostic pop

/* ---- Methods ---- */

struct urom_worker_ctx;

/* The plugin's methods; urom_plugin_get_iface() sets all of them. */
struct urom_plugin_iface {
	DOCA_STRUCT_START;
	/* Creates the state in ctx->plugin_ctx. On failure no other method is called. */
	doca_error_t (*open)(struct urom_worker_ctx *ctx);
	/* Releases the state; has no effect when plugin_ctx is NULL. */
	void (*close)(struct urom_worker_ctx *ctx);
	/* Copies the plugin's network address. *addr_len is the capacity on entry and the length on
	 * return. If the capacity is too small: DOCA_ERROR_INVALID_VALUE without a copy. */
	doca_error_t (*addr)(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len);
	/* Removes commands from the list and starts them. The worker keeps the others. */
	doca_error_t (*worker_cmd)(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list);
	/* Progresses commands and appends notifications. DOCA_ERROR_EMPTY without notifications. */
	doca_error_t (*progress)(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list);
	/* Writes header and notification. The length is first the capacity, then the result. */
	doca_error_t (*notif_pack)(struct urom_worker_notify *notif, size_t *packed_notif_len,
				   void *packed_notif);
};

/* Look-ups in a worker's domains. Results are the worker's memory and valid while the domain
 * exists. `domain_id` is the id of a domain member. DOCA_ERROR_NOT_FOUND for unknown arguments. */
struct urom_domain_lookups_iface {
	doca_error_t (*addr_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, void **addr);
	doca_error_t (*seg_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, uint64_t va,
				   int *seg);
	doca_error_t (*memh_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg,
				    size_t *len, void **memh);
	doca_error_t (*mkey_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg,
				    size_t *len, void **rkey);
};

/* A plugin in a worker. Its address is stable from before open() until after close(). */
struct urom_worker_ctx {
	struct urom_plugin_iface iface;
	struct urom_domain_lookups_iface domain_iface;
	void *plugin_ctx; /* NULL before open() */
};

static inline doca_error_t doca_urom_worker_domain_addr_lookup(struct urom_worker_ctx *ctx,
							       uint64_t domain_id, void **addr)
{
	return ctx->domain_iface.addr_lookup(ctx, domain_id, addr);
}

static inline doca_error_t doca_urom_worker_domain_seg_lookup(struct urom_worker_ctx *ctx,
							      uint64_t domain_id, uint64_t va,
							      int *seg)
{
	return ctx->domain_iface.seg_lookup(ctx, domain_id, va, seg);
}

static inline doca_error_t doca_urom_worker_domain_memh_lookup(struct urom_worker_ctx *ctx,
							       uint64_t domain_id, int seg,
							       size_t *len, void **memh)
{
	return ctx->domain_iface.memh_lookup(ctx, domain_id, seg, len, memh);
}

static inline doca_error_t doca_urom_worker_domain_mkey_lookup(struct urom_worker_ctx *ctx,
							       uint64_t domain_id, int seg,
							       size_t *len, void **rkey)
{
	return ctx->domain_iface.mkey_lookup(ctx, domain_id, seg, len, rkey);
}

/* The plugin's exports, under exactly these names. NULL returns DOCA_ERROR_INVALID_VALUE. */
DOCA_EXPERIMENTAL
doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface);
DOCA_EXPERIMENTAL
doca_error_t urom_plugin_get_version(uint64_t *version);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_UROM_PLUGIN_H_ */
