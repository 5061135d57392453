/*
 * Registered memory of the sandbox plugin in C, identified by list numbers: memory of the plugin,
 * and memory that a host exported to an RDMA device.
 */
#ifndef TESTS_SANDBOX_MEMORY_H
#define TESTS_SANDBOX_MEMORY_H

#include "plugin.h"
#include "sandbox_protocol.h"
#include "ucx.h"

_Static_assert(sizeof(ucp_mem_map_params_t) == sizeof(struct sandbox_map_params),
	       "this UCX has another structure");
_Static_assert((int)UCP_MEM_MAP_PARAM_FIELD_LENGTH == (int)SANDBOX_MAP_HAS_LENGTH,
	       "this UCX has another mask");
_Static_assert((int)UCP_MEM_MAP_ALLOCATE == (int)SANDBOX_MAP_FLAG_ALLOCATE,
	       "this UCX has other flags");

/* Limits of a worker for all its registrations. */
#define SANDBOX_MOST_MEMORY (UINT64_C(1) << 30)
#define SANDBOX_MOST_REGISTRATIONS 1024

struct memory {
	ucs_list_link_t entry;
	uint64_t id;
	uint64_t owner;   /* the connection it belongs to */
	uint64_t address; /* what its host calls the first byte */
	uint64_t length;
	unsigned char *bytes;
	ucp_mem_h handle;
};

struct memories {
	ucs_list_link_t list;
	uint64_t count, total;
};

static inline doca_error_t memory_map(struct memories *memories, ucp_context_h context,
				      uint64_t owner, const struct sandbox_mem_map *command,
				      uint64_t *memh_id)
{
	const struct sandbox_map_params *wanted = &command->params;
	ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
		.length = wanted->length,
		.flags = UCP_MEM_MAP_ALLOCATE,
	};
	ucp_mem_attr_t attributes = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
	struct memory *memory;

	/* This context lacks the exported memory feature: without an RDMA device, the feature would
	 * prevent endpoints. */
	if (command->exported_memh_buffer_len != 0)
		return DOCA_ERROR_DRIVER;
	/* A host's address is meaningless in this process. */
	if ((wanted->field_mask & SANDBOX_MAP_HAS_LENGTH) == 0 ||
	    (wanted->field_mask & SANDBOX_MAP_HAS_FLAGS) == 0 ||
	    (wanted->flags & SANDBOX_MAP_FLAG_ALLOCATE) == 0 || wanted->length == 0)
		return DOCA_ERROR_INVALID_VALUE;
	if (memories->count == SANDBOX_MOST_REGISTRATIONS ||
	    wanted->length > SANDBOX_MOST_MEMORY - memories->total)
		return DOCA_ERROR_NO_MEMORY;

	memory = calloc(1, sizeof(*memory));
	if (memory == NULL)
		return DOCA_ERROR_NO_MEMORY;
	if (ucp_mem_map(context, &params, &memory->handle) != UCS_OK) {
		free(memory);
		return DOCA_ERROR_DRIVER;
	}
	if (ucp_mem_query(memory->handle, &attributes) != UCS_OK) {
		ucp_mem_unmap(context, memory->handle);
		free(memory);
		return DOCA_ERROR_DRIVER;
	}
	/* Zeroed: UCX may return memory of another plugin. */
	memset(attributes.address, 0, wanted->length);
	memory->owner = owner;
	memory->address = (wanted->field_mask & SANDBOX_MAP_HAS_ADDRESS) != 0 ? wanted->address : 0;
	memory->length = wanted->length;
	memory->bytes = attributes.address;
	memories->count++;
	memories->total += memory->length;
	memory->id = memories->count;
	ucs_list_add_tail(&memories->list, &memory->entry);
	*memh_id = memory->id;
	return DOCA_SUCCESS;
}

static inline doca_error_t memory_add(struct memories *memories, ucp_context_h context,
				      uint64_t owner, const struct sandbox_map_params *wanted,
				      ucp_mem_h handle, uint64_t *memh_id)
{
	ucp_mem_attr_t attributes = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS |
						   UCP_MEM_ATTR_FIELD_LENGTH};
	struct memory *memory = calloc(1, sizeof(*memory));

	if (memory == NULL || ucp_mem_query(handle, &attributes) != UCS_OK) {
		ucp_mem_unmap(context, handle);
		free(memory);
		return DOCA_ERROR_NO_MEMORY;
	}
	memory->owner = owner;
	memory->bytes = attributes.address;
	memory->length = attributes.length;
	memory->address = (wanted->field_mask & SANDBOX_MAP_HAS_ADDRESS) != 0 ?
				  wanted->address :
				  (uintptr_t)attributes.address;
	memory->handle = handle;
	memories->count++;
	memory->id = memories->count;
	ucs_list_add_tail(&memories->list, &memory->entry);
	*memh_id = memory->id;
	return DOCA_SUCCESS;
}

static inline doca_error_t memory_import(struct memories *memories, ucp_context_h context,
					 uint64_t owner, const struct sandbox_mem_map *command,
					 const void *exported, uint64_t *memh_id)
{
	ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER,
		.exported_memh_buffer = exported,
	};
	ucp_mem_h handle;

	if (memories->count == SANDBOX_MOST_REGISTRATIONS)
		return DOCA_ERROR_NO_MEMORY;
	if (ucp_mem_map(context, &params, &handle) != UCS_OK)
		return DOCA_ERROR_DRIVER;
	return memory_add(memories, context, owner, &command->params, handle, memh_id);
}

/* Finds memory that contains `length` bytes at the host's `address`, and their local address;
 * returns NULL if not found. */
static inline const struct memory *memory_find(const struct memories *memories, uint64_t owner,
					       uint64_t id, uint64_t address, uint64_t length,
					       void **bytes)
{
	for (ucs_list_link_t *entry = memories->list.next; entry != &memories->list;
	     entry = entry->next) {
		const struct memory *memory = (const struct memory *)entry;
		uint64_t offset = address - memory->address;

		if (memory->id != id || memory->owner != owner || address < memory->address ||
		    offset > memory->length || length > memory->length - offset)
			continue;
		*bytes = memory->bytes + offset;
		return memory;
	}
	return NULL;
}

static inline void memory_unmap_all(struct memories *memories, ucp_context_h context)
{
	while (!ucs_list_is_empty(&memories->list)) {
		struct memory *memory = (struct memory *)memories->list.next;

		ucs_list_del(&memory->entry);
		ucp_mem_unmap(context, memory->handle);
		free(memory);
	}
}

#endif /* TESTS_SANDBOX_MEMORY_H */
