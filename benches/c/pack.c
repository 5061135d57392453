/*
 * Packs and unpacks the messages by hand, as C programs do, as a peer of the generated code.
 *
 * A message is its wire structure, with a pointer to its payload. Packing copies the structure and
 * then the payload; unpacking checks every length against the available bytes, copies the structure
 * out, and points at the payload. All functions have one type, so that one loop measures them:
 * `length` is the capacity or the number of bytes on entry, and the bytes written on return. They
 * return 0, or -1 for a message that does not fit or is malformed.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "graph_protocol.h"
#include "sandbox_protocol.h"

int c_nothing(void *message, unsigned char *bytes, size_t *length);
int c_pack_loopback(const struct graph_command *message, unsigned char *bytes, size_t *length);
int c_unpack_loopback(struct graph_command *message, const unsigned char *bytes,
		      const size_t *length);
int c_pack_mem_map(const struct sandbox_command *message, unsigned char *bytes, size_t *length);
int c_unpack_mem_map(struct sandbox_command *message, const unsigned char *bytes,
		     const size_t *length);
int c_pack_tag_send(const struct sandbox_command *message, unsigned char *bytes, size_t *length);
int c_unpack_tag_send(struct sandbox_command *message, const unsigned char *bytes,
		      const size_t *length);
int c_pack_tag_recv(const struct sandbox_command *message, unsigned char *bytes, size_t *length);
int c_unpack_tag_recv(struct sandbox_command *message, const unsigned char *bytes,
		      const size_t *length);

/* Measures the loop itself. */
int c_nothing(void *message, unsigned char *bytes, size_t *length)
{
	(void)message;
	(void)bytes;
	(void)length;
	return 0;
}

int c_pack_loopback(const struct graph_command *message, unsigned char *bytes, size_t *length)
{
	if (*length < sizeof(*message))
		return -1;
	memcpy(bytes, message, sizeof(*message));
	*length = sizeof(*message);
	return 0;
}

int c_unpack_loopback(struct graph_command *message, const unsigned char *bytes,
		      const size_t *length)
{
	if (*length != sizeof(*message))
		return -1;
	memcpy(message, bytes, sizeof(*message));
	return message->type == GRAPH_LOOPBACK ? 0 : -1;
}

static int pack(const struct sandbox_command *message, uint64_t payload, uint64_t payload_length,
		unsigned char *bytes, size_t *length)
{
	if (*length < sizeof(*message) || *length - sizeof(*message) < payload_length)
		return -1;
	memcpy(bytes, message, sizeof(*message));
	memcpy(bytes + sizeof(*message), (const void *)(uintptr_t)payload, payload_length);
	*length = sizeof(*message) + payload_length;
	return 0;
}

static int unpack(struct sandbox_command *message, uint64_t type, const unsigned char *bytes,
		  size_t length)
{
	if (length < sizeof(*message))
		return -1;
	memcpy(message, bytes, sizeof(*message));
	return message->type == type ? 0 : -1;
}

int c_pack_mem_map(const struct sandbox_command *message, unsigned char *bytes, size_t *length)
{
	return pack(message, message->mem_map.params.exported_memh_buffer,
		    message->mem_map.exported_memh_buffer_len, bytes, length);
}

int c_unpack_mem_map(struct sandbox_command *message, const unsigned char *bytes,
		     const size_t *length)
{
	if (unpack(message, SANDBOX_MEM_MAP, bytes, *length) != 0)
		return -1;
	if (*length - sizeof(*message) != message->mem_map.exported_memh_buffer_len)
		return -1;
	message->mem_map.params.exported_memh_buffer = (uintptr_t)(bytes + sizeof(*message));
	return 0;
}

int c_pack_tag_send(const struct sandbox_command *message, unsigned char *bytes, size_t *length)
{
	const struct sandbox_tag_send *send = &message->tag_send;

	return pack(message, send->buffer, send->memh_id == 0 ? send->count : 0, bytes, length);
}

int c_unpack_tag_send(struct sandbox_command *message, const unsigned char *bytes,
		      const size_t *length)
{
	struct sandbox_tag_send *send = &message->tag_send;

	if (unpack(message, SANDBOX_TAG_SEND, bytes, *length) != 0)
		return -1;
	if (*length - sizeof(*message) != (send->memh_id == 0 ? send->count : 0))
		return -1;
	if (send->memh_id == 0)
		send->buffer = (uintptr_t)(bytes + sizeof(*message));
	return 0;
}

int c_pack_tag_recv(const struct sandbox_command *message, unsigned char *bytes, size_t *length)
{
	if (*length < sizeof(*message))
		return -1;
	memcpy(bytes, message, sizeof(*message));
	*length = sizeof(*message);
	return 0;
}

int c_unpack_tag_recv(struct sandbox_command *message, const unsigned char *bytes,
		      const size_t *length)
{
	if (*length != sizeof(*message))
		return -1;
	return unpack(message, SANDBOX_TAG_RECV, bytes, *length);
}
