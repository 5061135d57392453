/*
 * Endpoints between sandbox plugins in C.
 *
 * A look-up returns an address without its length, so this plugin puts the length first.
 */
#ifndef TESTS_SANDBOX_PEERS_H
#define TESTS_SANDBOX_PEERS_H

#include "plugin.h"
#include "ucx.h"

/* The plugin's address: this header and `length` bytes of UCX's address. */
struct address {
	uint64_t length;
};

/* UCX's worker addresses are far shorter. */
#define MOST_ADDRESS (UINT64_C(1) << 20)

/* An endpoint, identified by its address: an id may be another worker in the next domain. */
struct peer {
	ucs_list_link_t entry;
	ucp_ep_h endpoint;
	uint64_t length;
	unsigned char ucx[];
};

/* Copies the plugin's address if it fits; sets its length. */
static inline doca_error_t own_address(ucp_worker_h worker, void *to, size_t *length)
{
	const size_t capacity = *length;
	struct address frame;
	ucp_address_t *address;
	size_t ucx_length;

	if (ucp_worker_get_address(worker, &address, &ucx_length) != UCS_OK)
		return DOCA_ERROR_INITIALIZATION;
	frame.length = ucx_length;
	*length = sizeof(frame) + ucx_length;
	if (capacity >= *length) {
		memcpy(to, &frame, sizeof(frame));
		memcpy((char *)to + sizeof(frame), address, ucx_length);
	}
	ucp_worker_release_address(worker, address);
	return capacity >= *length ? DOCA_SUCCESS : DOCA_ERROR_INVALID_VALUE;
}

static inline doca_error_t find_peer(struct urom_worker_ctx *ctx, ucs_list_link_t *peers,
				     ucp_worker_h worker, uint64_t dest, ucp_ep_h *endpoint)
{
	ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
	struct address address;
	const unsigned char *ucx;
	struct peer *peer;
	void *found;
	doca_error_t code = doca_urom_worker_domain_addr_lookup(ctx, dest, &found);

	if (code != DOCA_SUCCESS)
		return code;
	/* The address may be unaligned. */
	memcpy(&address, found, sizeof(address));
	/* An address of another plugin with this name. */
	if (address.length > MOST_ADDRESS)
		return DOCA_ERROR_INVALID_VALUE;
	ucx = (const unsigned char *)found + sizeof(address);
	for (ucs_list_link_t *entry = peers->next; entry != peers; entry = entry->next) {
		peer = (struct peer *)entry;
		if (peer->length == address.length && memcmp(peer->ucx, ucx, address.length) == 0) {
			*endpoint = peer->endpoint;
			return DOCA_SUCCESS;
		}
	}
	peer = malloc(sizeof(*peer) + address.length);
	if (peer == NULL)
		return DOCA_ERROR_NO_MEMORY;
	peer->length = address.length;
	memcpy(peer->ucx, ucx, address.length);
	params.address = (const ucp_address_t *)peer->ucx;
	if (ucp_ep_create(worker, &params, &peer->endpoint) != UCS_OK) {
		free(peer);
		return DOCA_ERROR_DRIVER;
	}
	ucs_list_add_tail(peers, &peer->entry);
	*endpoint = peer->endpoint;
	return DOCA_SUCCESS;
}

/* UCX destroys the endpoints with their worker. */
static inline void free_peers(ucs_list_link_t *peers)
{
	while (!ucs_list_is_empty(peers)) {
		ucs_list_link_t *entry = peers->next;

		ucs_list_del(entry);
		free(entry);
	}
}

#endif /* TESTS_SANDBOX_PEERS_H */
