/*
 * Preloaded before UCX and glibc: counts the active messages that a process gives to UCX. For the
 * threads that send them, and for the main thread, which has the rings of hosts and workers, it
 * also counts the allocations and the time of waiting for messages. Other threads carry only
 * heartbeats, whose number depends on time.
 *
 * The counts are eight bytes each in a mapped file in the directory COUNT_IN, named after the
 * process's id, so that other processes can read them meanwhile.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

struct counts {
	_Atomic uint64_t allocations;
	_Atomic uint64_t messages;
	_Atomic uint64_t waited; /* in nanoseconds */
};

/* Whether this thread has sent a message. This TLS model allocates nothing at the first access. */
static _Thread_local bool carries __attribute__((tls_model("initial-exec")));
/* Whether this thread was already compared with the main thread. */
static _Thread_local bool is_known __attribute__((tls_model("initial-exec")));

/* Used without a file, and until the file is mapped. */
static struct counts nowhere;
static struct counts *counts = &nowhere;

/* First and last empty poll since this thread last found or sent something. */
static _Thread_local uint64_t waits_since __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t waits_until __attribute__((tls_model("initial-exec")));

static void count_wait(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	waits_until = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (waits_since == 0)
		waits_since = waits_until;
}

static void end_wait(void)
{
	if (waits_since == 0)
		return;
	atomic_fetch_add_explicit(&counts->waited, waits_until - waits_since, memory_order_relaxed);
	waits_since = 0;
}

static void count_message(void)
{
	carries = true;
	end_wait();
	atomic_fetch_add_explicit(&counts->messages, 1, memory_order_relaxed);
}

static void count_allocation(void)
{
	if (!is_known) {
		is_known = true;
		carries |= gettid() == getpid();
	}
	if (carries)
		atomic_fetch_add_explicit(&counts->allocations, 1, memory_order_relaxed);
}

__attribute__((constructor)) static void begin(void)
{
	const char *directory = getenv("COUNT_IN");
	char path[4096];
	void *mapped;
	int file;

	if (directory == NULL ||
	    snprintf(path, sizeof(path), "%s/%ld", directory, (long)getpid()) >= (int)sizeof(path))
		return;
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		return;
	if (ftruncate(file, sizeof(*counts)) == 0) {
		mapped = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (mapped != MAP_FAILED)
			counts = mapped;
	}
	close(file);
}


typedef void *send_function(void *endpoint, unsigned id, const void *header, size_t header_length,
			    const void *buffer, size_t length, const void *parameters);
typedef unsigned int progress_function(void *worker);

send_function ucp_am_send_nbx;
progress_function ucp_worker_progress;

static void *next(_Atomic(void *) *known, const char *name)
{
	void *found = atomic_load_explicit(known, memory_order_relaxed);

	if (found != NULL)
		return found;
	found = dlsym(RTLD_NEXT, name);
	if (found == NULL) {
		fprintf(stderr, "counts: %s is called without a UCX: %s\n", name, dlerror());
		abort();
	}
	atomic_store_explicit(known, found, memory_order_relaxed);
	return found;
}

void *ucp_am_send_nbx(void *endpoint, unsigned id, const void *header, size_t header_length,
		      const void *buffer, size_t length, const void *parameters)
{
	static _Atomic(void *) known;
	send_function *send;
	void *symbol = next(&known, "ucp_am_send_nbx");

	memcpy(&send, &symbol, sizeof(send));
	count_message();
	return send(endpoint, id, header, header_length, buffer, length, parameters);
}

unsigned int ucp_worker_progress(void *worker)
{
	static _Atomic(void *) known;
	progress_function *progress;
	void *symbol = next(&known, "ucp_worker_progress");
	unsigned int moved;

	memcpy(&progress, &symbol, sizeof(progress));
	moved = progress(worker);
	if (!carries)
		return moved;
	if (moved == 0)
		count_wait();
	else
		end_wait();
	return moved;
}


void *malloc(size_t size)
{
	count_allocation();
	return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	count_allocation();
	return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size)
{
	count_allocation();
	return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size)
{
	count_allocation();
	return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	void *allocated = memalign(alignment, size);

	if (allocated == NULL)
		return ENOMEM;
	*memory = allocated;
	return 0;
}
