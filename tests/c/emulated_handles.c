/*
 * Emulated exported memory handles: this program imports handles of other processes. Each argument
 * is a test.
 */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "emulation.h"
#include "ucx.h"

#define LENGTH 131072
#define MOST_HANDLE 512
#define NOBODY 65534

/* Offsets in a handle of 96 bytes, for forgery. */
#define HANDLE_BYTES 96
#define AT_VERSION 8
#define AT_ADDRESS 16
#define AT_LENGTH 24
#define AT_INO 56
#define AT_PID 64
#define AT_FD 68
#define AT_COOKIE 72
#define AT_SUM 88

static unsigned char global[LENGTH];

struct exported {
	unsigned char *address;
	uint64_t length;
	unsigned char bytes[MOST_HANDLE];
};

/* ---- UCX ---- */

static ucp_context_h open_context_for(uint64_t features)
{
	const ucp_params_t params = {
		.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
		.features = features,
		.name = "emulated",
	};
	ucp_context_h context;

	INSIST(ucp_init(&params, NULL, &context) == UCS_OK);
	return context;
}

static ucp_context_h open_context(void)
{
	return open_context_for(UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO64 |
				UCP_FEATURE_EXPORTED_MEMH | UCP_FEATURE_WAKEUP);
}

static ucp_mem_h map_memory(ucp_context_h context, void *address, size_t length)
{
	const ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
		.address = address,
		.length = length,
	};
	ucp_mem_h memh;

	INSIST(ucp_mem_map(context, &params, &memh) == UCS_OK);
	return memh;
}

static ucs_status_t export_memory(ucp_mem_h memh, struct exported *exported)
{
	const ucp_memh_pack_params_t params = {.field_mask = UCP_MEMH_PACK_PARAM_FIELD_FLAGS,
					       .flags = UCP_MEMH_PACK_FLAG_EXPORT};
	const ucp_memh_buffer_release_params_t release = {0};
	ucs_status_t status;
	size_t length;
	void *packed;

	status = ucp_memh_pack(memh, &params, &packed, &length);
	if (status != UCS_OK)
		return status;
	INSIST(length <= sizeof(exported->bytes));
	memset(exported->bytes, 0, sizeof(exported->bytes));
	memcpy(exported->bytes, packed, length);
	exported->length = length;
	ucp_memh_buffer_release(packed, &release);
	return UCS_OK;
}

static ucs_status_t import_bytes(ucp_context_h context, const void *bytes, ucp_mem_h *memh)
{
	const ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_EXPORTED_MEMH_BUFFER,
		.exported_memh_buffer = bytes,
	};

	return ucp_mem_map(context, &params, memh);
}

/* ---- Exporters ---- */

struct exporter {
	pid_t pid;
	int socket;
	struct exported exported;
};

/* Exports a block and answers with its content until the socket is closed. */
static void serve(int socket, size_t length)
{
	ucp_context_h context = open_context();
	unsigned char *block = malloc(length);
	struct exported exported;
	unsigned char value;
	ucp_mem_h memh;

	alarm(60);
	INSIST(is_in_arena(block));
	memset(block, 1, length);
	memh = map_memory(context, block, length);
	INSIST(export_memory(memh, &exported) == UCS_OK);
	exported.address = block;
	INSIST(write(socket, &exported, sizeof(exported)) == sizeof(exported));
	while (read(socket, &value, 1) == 1) {
		for (size_t at = 1; at < length; at++)
			INSIST(block[at] == block[0]);
		INSIST(write(socket, block, 1) == 1);
		memset(block, value, length);
		INSIST(write(socket, block, 1) == 1);
	}
	INSIST(ucp_mem_unmap(context, memh) == UCS_OK);
	ucp_cleanup(context);
}

static void read_exported(struct exporter *exporter)
{
	INSIST(recv(exporter->socket, &exporter->exported, sizeof(exporter->exported),
		    MSG_WAITALL) == sizeof(exporter->exported));
}

static void start_exporter(struct exporter *exporter)
{
	int sockets[2];
	char number[16];

	INSIST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
	exporter->socket = sockets[0];
	exporter->pid = fork();
	if (exporter->pid == 0) {
		snprintf(number, sizeof(number), "%d", dup(sockets[1]));
		execl("/proc/self/exe", "exporter", "exporter", number, (char *)NULL);
		_exit(1);
	}
	close(sockets[1]);
	read_exported(exporter);
}

static int end_exporter(struct exporter *exporter)
{
	int status;

	close(exporter->socket);
	INSIST(waitpid(exporter->pid, &status, 0) == exporter->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

/* Returns the exporter's content; the exporter then fills its block with `next`. */
static unsigned char ask(struct exporter *exporter, unsigned char next)
{
	unsigned char values[2];

	INSIST(write(exporter->socket, &next, 1) == 1);
	INSIST(recv(exporter->socket, values, 2, MSG_WAITALL) == 2);
	return values[0];
}

static void check_shared(struct exporter *exporter)
{
	unsigned char *block = exporter->exported.address;

	memset(block, 0x55, LENGTH);
	INSIST(ask(exporter, 0x66) == 0x55);
	INSIST(block[0] == 0x66 && block[LENGTH - 1] == 0x66);
}

/* ---- Imports ---- */

static void test_import(void)
{
	ucp_context_h context = open_context();
	struct exporter exporters[4];
	ucp_mem_h first[4], second[4];

	for (int at = 0; at < 4; at++)
		start_exporter(&exporters[at]);
	for (int round = 0; round < 3; round++) {
		for (int at = 0; at < 4; at++) {
			const struct exported *exported = &exporters[at].exported;

			INSIST(!is_in_arena(exported->address));
			INSIST(import_bytes(context, exported->bytes, &first[at]) == UCS_OK);
			INSIST(import_bytes(context, exported->bytes, &second[at]) == UCS_OK);
		}
		for (int at = 0; at < 4; at++)
			check_shared(&exporters[at]);
		for (int at = 0; at < 4; at++)
			INSIST(ucp_mem_unmap(context, second[at]) == UCS_OK);
		/* The other registration still uses it. */
		for (int at = 0; at < 4; at++)
			check_shared(&exporters[at]);
		for (int at = 0; at < 4; at++) {
			INSIST(ucp_mem_unmap(context, first[at]) == UCS_OK);
			INSIST(!is_in_arena(exporters[at].exported.address));
		}
	}
	INSIST(import_bytes(context, exporters[0].exported.bytes, &first[0]) == UCS_OK);
	INSIST(end_exporter(&exporters[0]) == 0);
	memset(exporters[0].exported.address, 1, LENGTH);
	INSIST(ucp_mem_unmap(context, first[0]) == UCS_OK);
	for (int at = 1; at < 4; at++)
		INSIST(end_exporter(&exporters[at]) == 0);
	ucp_cleanup(context);
}

/* Own memory, as in an embedded service: nothing needs to be mapped. */
static void import_own(ucp_context_h context)
{
	unsigned char *block = malloc(LENGTH);
	struct exported exported;
	ucp_mem_h own, imported;

	own = map_memory(context, block, LENGTH);
	INSIST(export_memory(own, &exported) == UCS_OK);
	INSIST(import_bytes(context, exported.bytes, &imported) == UCS_OK);
	INSIST(ucp_mem_unmap(context, imported) == UCS_OK);
	INSIST(is_in_arena(block));
	memset(block, 1, LENGTH);
	INSIST(ucp_mem_unmap(context, own) == UCS_OK);
	free(block);
	ucp_cleanup(context);
}

static void test_own(void)
{
	import_own(open_context());
}

static void test_alone(void)
{
	import_own(open_context_for(UCP_FEATURE_EXPORTED_MEMH));
}

static void insist_refused(ucp_context_h context, const void *bytes)
{
	ucp_mem_h memh = (ucp_mem_h)17;

	INSIST(import_bytes(context, bytes, &memh) == UCS_ERR_UNREACHABLE);
	INSIST(memh == (ucp_mem_h)17);
}

static void test_no_handles(void)
{
	static const unsigned char zero[MOST_HANDLE];
	ucp_context_h context = open_context();
	unsigned char garbage[MOST_HANDLE], *end;
	struct exporter exporter;

	for (unsigned int at = 0; at < sizeof(garbage); at++)
		garbage[at] = (unsigned char)(at * 37 + 11);
	insist_refused(context, zero);
	insist_refused(context, garbage);
	insist_refused(context, NULL);
	insist_refused(context, (void *)(uintptr_t)8);
	/* Two pages, only the first mapped. */
	end = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	INSIST(end != MAP_FAILED && munmap(end + 4096, 4096) == 0);
	end += 4096;
	for (unsigned int length = 0; length < 200; length++)
		insist_refused(context, end - length);
	start_exporter(&exporter);
	for (unsigned int length = 0; length < HANDLE_BYTES; length++) {
		memcpy(end - length, exporter.exported.bytes, length);
		insist_refused(context, end - length);
		/* A truncated handle followed by other bytes. */
		memcpy(garbage, exporter.exported.bytes, length);
		insist_refused(context, garbage);
	}
	INSIST(exporter.exported.length == HANDLE_BYTES);
	memcpy(end - HANDLE_BYTES, exporter.exported.bytes, HANDLE_BYTES);
	INSIST(import_bytes(context, end - HANDLE_BYTES, (ucp_mem_h *)garbage) == UCS_OK);
	INSIST(end_exporter(&exporter) == 0);
}

/* ---- Forgery ---- */

static void seal(unsigned char *bytes)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (unsigned int at = 0; at < AT_SUM; at++)
		sum = (sum ^ bytes[at]) * UINT64_C(0x100000001b3);
	memcpy(bytes + AT_SUM, &sum, sizeof(sum));
}

static void insist_forged(ucp_context_h context, const struct exported *exported, unsigned int at,
			  const void *value, size_t length)
{
	unsigned char bytes[HANDLE_BYTES];

	memcpy(bytes, exported->bytes, sizeof(bytes));
	memcpy(bytes + at, value, length);
	seal(bytes);
	insist_refused(context, bytes);
}

static void test_forged(void)
{
	ucp_context_h context = open_context();
	struct exporter one, other;
	unsigned char bytes[HANDLE_BYTES];
	uint32_t pids[] = {0, 1, (uint32_t)getpid(), UINT32_MAX, 0};
	int32_t fds[] = {0, 1, 2, 3, 4, 899, -1, INT32_MAX};
	uint64_t word;
	ucp_mem_h memh;

	start_exporter(&one);
	start_exporter(&other);
	/* Sealing an unchanged handle changes nothing. */
	memcpy(bytes, one.exported.bytes, sizeof(bytes));
	seal(bytes);
	INSIST(memcmp(bytes, one.exported.bytes, sizeof(bytes)) == 0);
	pids[4] = (uint32_t)other.pid;
	for (unsigned int at = 0; at < sizeof(pids) / sizeof(pids[0]); at++)
		insist_forged(context, &one.exported, AT_PID, &pids[at], sizeof(pids[at]));
	for (unsigned int at = 0; at < sizeof(fds) / sizeof(fds[0]); at++)
		insist_forged(context, &one.exported, AT_FD, &fds[at], sizeof(fds[at]));
	/* The cookie prevents guessing handles of other processes. */
	for (unsigned int at = AT_COOKIE; at < AT_COOKIE + 16; at++) {
		unsigned char value = one.exported.bytes[at] ^ 1;

		insist_forged(context, &one.exported, at, &value, 1);
	}
	memcpy(&word, one.exported.bytes + AT_INO, sizeof(word));
	word++;
	insist_forged(context, &one.exported, AT_INO, &word, sizeof(word));
	word = 2;
	insist_forged(context, &one.exported, AT_VERSION, &word, sizeof(word));
	word = (uintptr_t)global;
	insist_forged(context, &one.exported, AT_ADDRESS, &word, sizeof(word));
	word = (uintptr_t)other.exported.address;
	insist_forged(context, &one.exported, AT_ADDRESS, &word, sizeof(word));
	word = UINT64_MAX;
	insist_forged(context, &one.exported, AT_LENGTH, &word, sizeof(word));
	word = 0;
	insist_forged(context, &one.exported, AT_LENGTH, &word, sizeof(word));
	INSIST(!is_in_arena(one.exported.address));
	INSIST(import_bytes(context, one.exported.bytes, &memh) == UCS_OK);
	/* Checks are repeated for an arena that is already mapped. */
	word = UINT64_C(1);
	insist_forged(context, &one.exported, AT_COOKIE, &word, sizeof(word));
	INSIST(ucp_mem_unmap(context, memh) == UCS_OK);
	INSIST(end_exporter(&one) == 0 && end_exporter(&other) == 0);
	insist_refused(context, one.exported.bytes);
	ucp_cleanup(context);
}

static void fork_exporter(struct exporter *exporter, uid_t user)
{
	int sockets[2];

	INSIST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
	exporter->socket = sockets[0];
	exporter->pid = fork();
	if (exporter->pid == 0) {
		close(sockets[0]);
		if (user != geteuid()) {
			INSIST(setresuid(user, user, user) == 0);
			/* A grandchild's /proc files belong to that user. */
			exporter->pid = fork();
			if (exporter->pid != 0) {
				int status;

				close(sockets[1]);
				waitpid(exporter->pid, &status, 0);
				_exit(WEXITSTATUS(status));
			}
		}
		serve(sockets[1], LENGTH);
		_exit(0);
	}
	close(sockets[1]);
	read_exported(exporter);
}

/* Needs root. */
static void test_other_user(void)
{
	ucp_context_h context;
	struct exporter exporter;

	fork_exporter(&exporter, NOBODY);
	context = open_context();
	insist_refused(context, exporter.exported.bytes);
	INSIST(end_exporter(&exporter) == 0);
	ucp_cleanup(context);
}

/* A child of the importer uses the importer's own addresses, so its arena cannot be mapped. */
static void test_own_child(void)
{
	ucp_context_h context;
	struct exporter exporter;

	fork_exporter(&exporter, geteuid());
	context = open_context();
	insist_refused(context, exporter.exported.bytes);
	INSIST(end_exporter(&exporter) == 0);
	ucp_cleanup(context);
}

/* ---- Exports ---- */

static void insist_unsupported(ucp_context_h context, void *address, size_t length)
{
	ucp_mem_h memh = map_memory(context, address, length);
	struct exported exported;

	INSIST(export_memory(memh, &exported) == UCS_ERR_UNSUPPORTED);
	INSIST(ucp_mem_unmap(context, memh) == UCS_OK);
}

static void test_outside(void)
{
	ucp_context_h context = open_context();
	unsigned char stack[8192], *block = malloc(2 * LENGTH);
	const ucp_mem_map_params_t params = {
		.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
		.length = LENGTH,
		.flags = UCP_MEM_MAP_ALLOCATE,
	};
	ucp_mem_h memh;
	struct exported exported;

	insist_unsupported(context, global, sizeof(global));
	insist_unsupported(context, stack, sizeof(stack));
	insist_unsupported(context, malloc(100), 100);
	INSIST(ucp_mem_map(context, &params, &memh) == UCS_OK);
	INSIST(export_memory(memh, &exported) == UCS_ERR_UNSUPPORTED);
	INSIST(ucp_mem_unmap(context, memh) == UCS_OK);
	/* Part of a block can be exported, too. */
	memh = map_memory(context, block + 100, LENGTH);
	INSIST(export_memory(memh, &exported) == UCS_OK);
	INSIST(ucp_mem_unmap(context, memh) == UCS_OK);
	/* Without the arena's descriptor, other processes cannot find the memory. */
	close(arena_descriptor());
	insist_unsupported(context, block, LENGTH);
	INSIST(open("/dev/null", O_RDONLY) >= 0);
	insist_unsupported(context, block, LENGTH);
	ucp_cleanup(context);
}

/* Releases buffers of handles and keys, and NULL requests. */
static void test_release(void)
{
	const ucp_memh_pack_params_t export = {.field_mask = UCP_MEMH_PACK_PARAM_FIELD_FLAGS,
					       .flags = UCP_MEMH_PACK_FLAG_EXPORT};
	const ucp_memh_buffer_release_params_t release = {0};
	ucp_context_h context = open_context();
	ucp_mem_h memh = map_memory(context, malloc(LENGTH), LENGTH);
	size_t length;
	void *packed;

	for (int round = 0; round < 100; round++) {
		INSIST(ucp_memh_pack(memh, &export, &packed, &length) == UCS_OK);
		ucp_memh_buffer_release(packed, &release);
		INSIST(ucp_memh_pack(memh, &export, &packed, &length) == UCS_OK);
		ucp_rkey_buffer_release(packed);
		INSIST(ucp_rkey_pack(context, memh, &packed, &length) == UCS_OK);
		ucp_rkey_buffer_release(packed);
	}
	ucp_request_release(NULL);
	INSIST(ucp_mem_unmap(context, memh) == UCS_OK);
	ucp_cleanup(context);
}

/* With an RDMA device, the emulation is disabled. */
static void test_device(void)
{
	ucp_context_h context = open_context();
	unsigned char *block = malloc(LENGTH);
	ucp_mem_h memh = map_memory(context, block, LENGTH);
	static const unsigned char zero[MOST_HANDLE];
	ucp_mem_h imported;
	struct exported exported;

	INSIST(!is_in_arena(block) && arena_descriptor() == -1);
	INSIST(export_memory(memh, &exported) == UCS_ERR_UNSUPPORTED);
	/* UCX accepts zeros as an empty handle. */
	INSIST(import_bytes(context, zero, &imported) == UCS_OK);
	INSIST(ucp_mem_unmap(context, imported) == UCS_OK);
	INSIST(ucp_mem_unmap(context, memh) == UCS_OK);
	ucp_cleanup(context);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{"import", test_import},         {"own", test_own},
		{"alone", test_alone},
		{"no-handles", test_no_handles}, {"forged", test_forged},
		{"other-user", test_other_user}, {"own-child", test_own_child},
		{"outside", test_outside},       {"release", test_release},
		{"device", test_device},
	};

	INSIST(argc >= 2);
	if (strcmp(argv[1], "exporter") == 0 && argc == 3) {
		serve(atoi(argv[2]), LENGTH);
		return 0;
	}
	for (size_t at = 0; at < sizeof(tests) / sizeof(tests[0]); at++) {
		if (strcmp(argv[1], tests[at].name) == 0) {
			tests[at].run();
			puts("all is well");
			return 0;
		}
	}
	return 2;
}
