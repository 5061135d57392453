/*
 * The interface between a DOCA UROM worker and a plugin, in C.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * This header is this project's own statement of the interface. It has the names, sizes and offsets
 * of DOCA's header of the same name, so a plugin or a test compiled against either works with the
 * other, and it needs nothing but gcc or clang and the headers beside it: no DOCA, no UCX.
 * `urom-abi/tests/c_layout.rs` holds it against the Rust structures.
 *
 * Rules that the types cannot say:
 *  - Calls of one plugin come from one worker thread and never overlap: open, addr (twice), any mix
 * of worker_cmd, progress and notif_pack, then close.
 *  - Both descriptors are single blocks from malloc() or calloc(). The plugin frees the commands it
 * takes off the list, the worker frees the notifications it finds in the list.
 *  - Every command gets exactly one notification, now or later, which repeats its type,
 * urom_context and dest_id.
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

/* Room for a plugin's name and its NUL: the file's name without ".so". */
#define DOCA_UROM_PLUGIN_NAME_MAX_LEN 48

/* What a service tells a host about a plugin. */
struct doca_urom_service_plugin_info {
	uint64_t id;      /* one bit of a mask, never 0 */
	uint64_t version; /* what urom_plugin_get_version() stored */
	char plugin_name[DOCA_UROM_PLUGIN_NAME_MAX_LEN];
};

/* Structures that end in a flexible array and lie in each other: every compiler takes them, ISO C
 * does not. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"

/* A command: this header and `len` bytes of the plugin's own. */
struct urom_worker_cmd {
	uint64_t type;         /* the plugin's id */
	uint64_t urom_context; /* the host library's token, to be repeated */
	uint64_t len;          /* bytes in plugin_cmd */
	uint8_t plugin_cmd[];
};

/* A command in a worker's list. */
struct urom_worker_cmd_desc {
	ucs_list_link_t entry;
	uint64_t dest_id; /* the connection it came in on */
	struct urom_worker_cmd worker_cmd;
};

/* A notification: this header and `len` bytes of the plugin's own. */
struct urom_worker_notify {
	uint64_t type;         /* as in the command */
	uint64_t urom_context; /* as in the command */
	uint64_t len;          /* bytes in plugin_notif */
	doca_error_t status;   /* becomes the status of the host's task */
	uint32_t reserved;     /* 0 */
	uint8_t plugin_notif[];
};

/* A notification in a worker's list. */
struct urom_worker_notif_desc {
	ucs_list_link_t entry;
	uint64_t dest_id; /* as in the command */
	struct urom_worker_notify worker_notif;
};

#pragma GCC diagnostic pop

/* ---- Methods ---- */

struct urom_worker_ctx;

/* What a plugin does for a worker; urom_plugin_get_iface() fills all of it. */
struct urom_plugin_iface {
	DOCA_STRUCT_START;
	/* Makes the plugin's state and stores it in ctx->plugin_ctx. After a failure nothing else
	 * is called. */
	doca_error_t (*open)(struct urom_worker_ctx *ctx);
	/* Releases the state; does nothing when plugin_ctx is NULL. */
	void (*close)(struct urom_worker_ctx *ctx);
	/*
	 * Copies the plugin's network address. *addr_len is the room on entry and the length on
	 * return. With too little room: DOCA_ERROR_INVALID_VALUE, the length, and nothing copied.
	 */
	doca_error_t (*addr)(struct urom_worker_ctx *ctx, void *addr, size_t *addr_len);
	/* Takes commands off the list and begins them. What it leaves there stays the worker's. */
	doca_error_t (*worker_cmd)(struct urom_worker_ctx *ctx, ucs_list_link_t *cmd_list);
	/* Advances commands and appends finished notifications. DOCA_ERROR_EMPTY when there was
	 * none. */
	doca_error_t (*progress)(struct urom_worker_ctx *ctx, ucs_list_link_t *notif_list);
	/* Writes header and notification. *packed_notif_len is the room on entry and the bytes
	 * written on return. */
	doca_error_t (*notif_pack)(struct urom_worker_notify *notif, size_t *packed_notif_len,
				   void *packed_notif);
};

/*
 * What a worker knows of its domains. What these return is the worker's memory and valid while the
 * domain exists. `domain_id` is the id of a member of the domain. DOCA_ERROR_NOT_FOUND when there
 * is no such thing.
 */
struct urom_domain_lookups_iface {
	doca_error_t (*addr_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, void **addr);
	doca_error_t (*seg_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, uint64_t va,
				   int *seg);
	doca_error_t (*memh_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg,
				    size_t *len, void **memh);
	doca_error_t (*mkey_lookup)(struct urom_worker_ctx *ctx, uint64_t domain_id, int seg,
				    size_t *len, void **rkey);
};

/* One plugin in one worker. It stays where it is from before open() until after close(). */
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

/* What a plugin exports, under exactly these names. NULL gives DOCA_ERROR_INVALID_VALUE. */
DOCA_EXPERIMENTAL
doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface);
DOCA_EXPERIMENTAL
doca_error_t urom_plugin_get_version(uint64_t *version);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_UROM_PLUGIN_H_ */
