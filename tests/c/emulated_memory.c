/* The allocator of the preloaded memory emulation: each argument is a test. */
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "emulation.h"

#define THREADS 4
#define ROUNDS 4000
#define SLOTS 64
#define MIB (UINT64_C(1) << 20)

extern char **environ;
static const char *self;

static void fill(unsigned char *bytes, size_t length, unsigned char value)
{
	memset(bytes, value, length);
}

static bool holds(const unsigned char *bytes, size_t length, unsigned char value)
{
	for (size_t at = 0; at < length; at++)
		if (bytes[at] != value)
			return false;
	return true;
}

static int ended(pid_t child)
{
	int status;

	INSIST(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* ---- Sizes ---- */

static void test_sizes(void)
{
	void *aligned;

	INSIST(!is_in_arena(malloc(4095)));
	INSIST(is_in_arena(malloc(4096)));
	INSIST(!is_in_arena(calloc(15, 256)));
	INSIST(is_in_arena(calloc(16, 256)));
	INSIST(is_in_arena(reallocarray(NULL, 16, 256)));
	for (size_t align = 8; align <= 4 * MIB; align *= 2) {
		INSIST(posix_memalign(&aligned, align, 8192) == 0);
		INSIST(is_in_arena(aligned) && (uintptr_t)aligned % align == 0);
		free(aligned);
		aligned = aligned_alloc(align, align < 4096 ? 4096 : align);
		INSIST(is_in_arena(aligned) && (uintptr_t)aligned % align == 0);
		free(aligned);
	}
	INSIST(is_in_arena(memalign(64, 5000)) && is_in_arena(valloc(4096)));
	INSIST(is_in_arena(pvalloc(1)) && !is_in_arena(valloc(1)));
	aligned = malloc(5000);
	INSIST(malloc_usable_size(aligned) >= 5000 && malloc_usable_size(NULL) == 0);
	INSIST(malloc_usable_size(malloc(100)) >= 100);
	free(NULL);
}

static void test_wrong_sizes(void)
{
	/* Volatile: the compiler would reject these sizes. */
	volatile size_t huge = SIZE_MAX, half = SIZE_MAX / 2 + 1;
	void *block = (void *)1;

	errno = 0;
	INSIST(malloc(huge) == NULL && errno == ENOMEM);
	INSIST(malloc(half) == NULL && calloc(half, 2) == NULL && calloc(huge, huge) == NULL);
	INSIST(reallocarray(NULL, half, 2) == NULL && realloc(NULL, huge) == NULL);
	INSIST(pvalloc(huge) == NULL && memalign(4096, huge - 4096) == NULL);
	INSIST(posix_memalign(&block, 3, 8192) == EINVAL &&
	       posix_memalign(&block, 0, 8192) == EINVAL);
	INSIST(posix_memalign(&block, 4, 8192) == EINVAL);
	INSIST(posix_memalign(&block, 64, huge - 64) == ENOMEM && block == (void *)1);
	/* A failed realloc leaves the block unchanged. */
	block = malloc(8192);
	fill(block, 8192, 7);
	INSIST(realloc(block, huge) == NULL && reallocarray(block, half, 2) == NULL);
	INSIST(holds(block, 8192, 7));
	errno = 4711;
	free(block);
	free(malloc(8 * MIB));
	INSIST(errno == 4711);
}

static void test_realloc(void)
{
	static const size_t sizes[] = {100,  4095,   4096,     5000, 4097, 12288, 12289, 65536,
				       3000, 131072, 16 * MIB, 4096, 1,    8192,  MIB,   2 * MIB};
	unsigned char *block = malloc(50), *in_the_way = NULL;
	size_t length = 50;

	fill(block, length, 1);
	for (unsigned int round = 0; round < 3; round++) {
		for (size_t at = 0; at < sizeof(sizes) / sizeof(sizes[0]); at++) {
			size_t kept = sizes[at] < length ? sizes[at] : length;

			block = realloc(block, sizes[at]);
			INSIST(block != NULL && is_in_arena(block) == (sizes[at] >= 4096));
			INSIST(holds(block, kept, (unsigned char)(at + round * 16 + 1)));
			length = sizes[at];
			fill(block, length, (unsigned char)(at + round * 16 + 2));
			/* The next growth cannot be in place. */
			free(in_the_way);
			in_the_way = malloc(4096);
		}
		fill(block, length, (unsigned char)((round + 1) * 16 + 1));
	}
	free(in_the_way);
	INSIST(realloc(block, 0) == NULL);
}

static void test_zero(void)
{
	static const size_t sizes[] = {4096, 5000, 65536, 131072, 200000, MIB, 9 * MIB};

	for (unsigned int round = 0; round < 20; round++) {
		for (size_t at = 0; at < sizeof(sizes) / sizeof(sizes[0]); at++) {
			unsigned char *block = calloc(1, sizes[at]);

			INSIST(block != NULL && is_in_arena(block) && holds(block, sizes[at], 0));
			fill(block, sizes[at], 0xee);
			if (round % 3 == at % 3)
				free(block);
		}
	}
}

struct slot {
	unsigned char *block;
	size_t length;
	unsigned char value;
};

static void *churn(void *seed_pointer)
{
	unsigned int seed = *(unsigned int *)seed_pointer;
	struct slot slots[SLOTS] = {0};

	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct slot *slot = &slots[rand_r(&seed) % SLOTS];
		size_t length = (size_t)1 << (rand_r(&seed) % 18);

		INSIST(slot->block == NULL || holds(slot->block, slot->length, slot->value));
		length += rand_r(&seed) % length;
		switch (rand_r(&seed) % 4) {
		case 0:
			free(slot->block);
			slot->block = calloc(1, length);
			INSIST(slot->block != NULL && holds(slot->block, length, 0));
			break;
		case 1:
			slot->block = realloc(slot->block, length);
			INSIST(slot->block != NULL);
			INSIST(holds(slot->block, length < slot->length ? length : slot->length,
				     slot->value));
			break;
		case 2:
			free(slot->block);
			slot->block = aligned_alloc(64, (length + 63) / 64 * 64);
			break;
		default:
			free(slot->block);
			slot->block = malloc(length);
		}
		INSIST(slot->block != NULL);
		slot->length = length;
		slot->value = (unsigned char)rand_r(&seed);
		fill(slot->block, length, slot->value);
	}
	for (unsigned int at = 0; at < SLOTS; at++) {
		INSIST(slots[at].block == NULL ||
		       holds(slots[at].block, slots[at].length, slots[at].value));
		free(slots[at].block);
	}
	return NULL;
}

static void start_threads(pthread_t *threads, unsigned int *seeds)
{
	for (unsigned int at = 0; at < THREADS; at++) {
		seeds[at] = at + 1;
		INSIST(pthread_create(&threads[at], NULL, churn, &seeds[at]) == 0);
	}
}

static void join_threads(const pthread_t *threads)
{
	for (unsigned int at = 0; at < THREADS; at++)
		INSIST(pthread_join(threads[at], NULL) == 0);
}

static void test_threads(void)
{
	pthread_t threads[THREADS];
	unsigned int seeds[THREADS];

	start_threads(threads, seeds);
	join_threads(threads);
	/* Free runs smaller than the release unit keep their pages. */
	INSIST(arena_bytes() < 4 * MIB);
}

/* ---- Released memory ---- */

static void test_given_back(void)
{
	static unsigned char *blocks[1024];
	const uint64_t before = arena_bytes();
	unsigned char *large = malloc(64 * MIB);

	INSIST(arena_bytes() < before + MIB);
	fill(large, 64 * MIB, 1);
	INSIST(arena_bytes() >= before + 64 * MIB);
	free(large);
	INSIST(arena_bytes() < before + MIB);
	for (unsigned int at = 0; at < 1024; at++) {
		blocks[at] = malloc(8192);
		fill(blocks[at], 8192, 1);
	}
	INSIST(arena_bytes() >= before + 8 * MIB);
	for (unsigned int at = 0; at < 1024; at++)
		free(blocks[at]);
	INSIST(arena_bytes() < before + MIB);
	large = malloc(32 * MIB);
	fill(large, 32 * MIB, 1);
	large = realloc(large, 4096);
	INSIST(arena_bytes() < before + MIB && holds(large, 4096, 1));
	/* Untouched memory uses no pages. */
	large = calloc(1, 4096 * MIB);
	INSIST(is_in_arena(large) && is_in_arena(large + 4095 * MIB) && large[4095 * MIB] == 0);
	INSIST(arena_bytes() < before + 2 * MIB);
}

/* When the arena is full, the C library allocates. */
static void test_exhausted(void)
{
	unsigned char *inside[64], *outside = NULL;
	unsigned int count = 0;

	while (outside == NULL && count < 64) {
		unsigned char *block = malloc(1024 * MIB);

		INSIST(block != NULL);
		if (is_in_arena(block))
			inside[count++] = block;
		else
			outside = block;
	}
	INSIST(outside != NULL && count >= 30);
	outside[0] = outside[1024 * MIB - 1] = 1;
	inside[0][17] = 17;
	inside[0] = realloc(inside[0], 1536 * MIB);
	INSIST(inside[0] != NULL && !is_in_arena(inside[0]) && inside[0][17] == 17);
	for (unsigned int at = 0; at < count; at++)
		free(inside[at]);
	free(outside);
	INSIST(is_in_arena(malloc(1024 * MIB)));
}

static void test_damage(const char *what)
{
	/* Volatile: the compiler would detect these errors. */
	unsigned char *volatile block = malloc(16384);

	if (strcmp(what, "inside") == 0)
		block += 4096;
	else if (strcmp(what, "unaligned") == 0)
		block += 1;
	else
		free(block);
	free(block);
}

static void test_descriptor(void)
{
	const int arena = arena_descriptor();
	struct stat status;

	INSIST(arena > 2 && fcntl(arena, F_GETFD) == FD_CLOEXEC);
	INSIST(fcntl(arena, F_GET_SEALS) & F_SEAL_SHRINK);
	INSIST(fcntl(arena, F_GET_SEALS) & F_SEAL_GROW);
	INSIST(fcntl(arena, F_GET_SEALS) & F_SEAL_SEAL);
	INSIST(ftruncate(arena, 0) != 0 && ftruncate(arena, INT64_C(1) << 40) != 0);
	INSIST(fstat(arena, &status) == 0 && status.st_uid == geteuid());
	/* Low descriptors belong to the program. */
	INSIST(dup(0) == 3);
}

static void test_closed(void)
{
	unsigned char *block = malloc(MIB);
	pid_t child;

	fill(block, MIB, 3);
	INSIST(syscall(SYS_close_range, 3, ~0U, 0) == 0);
	INSIST(arena_descriptor() == -1 && holds(block, MIB, 3));
	INSIST(is_in_arena(malloc(MIB)));
	child = fork();
	if (child == 0) {
		INSIST(holds(block, MIB, 3) && arena_descriptor() > 2);
		fill(block, MIB, 4);
		_exit(0);
	}
	INSIST(ended(child) == 0 && holds(block, MIB, 3));
}

/* ---- Children ---- */

/* A child that does not exec: its memory and the parent's are then separate. */
static void test_fork(void)
{
	unsigned char *shared = malloc(3 * MIB), *freed = malloc(MIB), *sparse, *after;
	int to_child[2], to_parent[2];
	struct stat own, theirs;
	char byte = 0;
	pid_t child;

	fill(shared, 3 * MIB, 1);
	fill(freed, MIB, 9);
	free(freed);
	sparse = calloc(1, 256 * MIB);
	sparse[200 * MIB] = 5;
	INSIST(pipe(to_child) == 0 && pipe(to_parent) == 0);
	INSIST(fstat(arena_descriptor(), &own) == 0);
	child = fork();
	if (child == 0) {
		alarm(30);
		INSIST(fstat(arena_descriptor(), &theirs) == 0 && theirs.st_ino != own.st_ino);
		/* Only used memory was copied. */
		INSIST(arena_bytes() < 8 * MIB);
		INSIST(holds(shared, 3 * MIB, 1) && sparse[200 * MIB] == 5);
		fill(shared, 3 * MIB, 2);
		INSIST(write(to_parent[1], &byte, 1) == 1 && read(to_child[0], &byte, 1) == 1);
		/* The parent has already written 3. */
		INSIST(holds(shared, 3 * MIB, 2) && sparse[200 * MIB] == 5);
		after = calloc(1, 2 * MIB);
		INSIST(is_in_arena(after) && holds(after, 2 * MIB, 0));
		fill(after, 2 * MIB, 4);
		free(shared);
		free(sparse);
		INSIST(arena_bytes() < 4 * MIB);
		child = fork();
		if (child == 0) {
			INSIST(holds(after, 2 * MIB, 4));
			fill(after, 2 * MIB, 5);
			_exit(0);
		}
		INSIST(ended(child) == 0 && holds(after, 2 * MIB, 4));
		_exit(0);
	}
	INSIST(read(to_parent[0], &byte, 1) == 1);
	INSIST(holds(shared, 3 * MIB, 1));
	fill(shared, 3 * MIB, 3);
	sparse[200 * MIB] = 6;
	after = malloc(2 * MIB);
	fill(after, 2 * MIB, 7);
	INSIST(write(to_child[1], &byte, 1) == 1);
	INSIST(ended(child) == 0);
	INSIST(holds(shared, 3 * MIB, 3) && holds(after, 2 * MIB, 7) && sparse[200 * MIB] == 6);
}

static uint64_t fork_time(void)
{
	struct timespec from, to;
	pid_t child;

	INSIST(clock_gettime(CLOCK_MONOTONIC, &from) == 0);
	child = fork();
	if (child == 0)
		_exit(0);
	INSIST(clock_gettime(CLOCK_MONOTONIC, &to) == 0);
	INSIST(child > 0 && ended(child) == 0);
	return (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
}

/* Copying many blocks takes about as long as copying one block of the same size. */
static void test_fork_blocks(void)
{
	static unsigned char *blocks[32768];
	const size_t count = sizeof(blocks) / sizeof(blocks[0]);
	unsigned char *one = malloc(count * 4096);
	uint64_t of_one, of_many;

	fill(one, count * 4096, 1);
	INSIST(is_in_arena(one) && arena_bytes() >= count * 4096);
	of_one = fork_time();
	free(one);
	for (size_t at = 0; at < count; at++) {
		blocks[at] = malloc(4096);
		fill(blocks[at], 4096, 1);
	}
	of_many = fork_time();
	/* Scanning all memory for each block would take a hundred times as long. */
	INSIST(of_many < 10 * of_one + 1000000000);
}

static void test_fork_threads(void)
{
	pthread_t threads[THREADS];
	unsigned int seeds[THREADS];

	start_threads(threads, seeds);
	for (unsigned int round = 0; round < 30; round++) {
		unsigned char *mine = malloc(100000);
		pid_t child;

		fill(mine, 100000, (unsigned char)round);
		child = fork();
		if (child == 0) {
			alarm(30);
			INSIST(holds(mine, 100000, (unsigned char)round));
			mine = realloc(mine, 300000);
			INSIST(holds(mine, 100000, (unsigned char)round));
			free(mine);
			_exit(0);
		}
		INSIST(ended(child) == 0);
		free(mine);
	}
	join_threads(threads);
}

/* A child that the C library does not know leaves its parent's blocks unchanged. */
static void test_bare_fork(void)
{
	unsigned char *block = malloc(MIB), *after;
	pid_t child;

	fill(block, MIB, 1);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		alarm(30);
		after = malloc(MIB);
		INSIST(after != NULL && !is_in_arena(after));
		after = realloc(after, 2 * MIB);
		free(after);
		free(block);
		_exit(0);
	}
	INSIST(ended(child) == 0);
	after = malloc(MIB);
	INSIST(is_in_arena(after) && after != block && holds(block, MIB, 1));
}

static int child_program(void)
{
	unsigned char *block = malloc(MIB);

	INSIST(is_in_arena(block));
	INSIST(arena_bytes() < MIB);
	fill(block, MIB, 8);
	return 42;
}

static void test_exec(void)
{
	char *const arguments[] = {(char *)(uintptr_t)self, "child", NULL};
	/* execv() reads these arguments from the arena. */
	char **large = calloc(4096, sizeof(*large));
	unsigned char *block = malloc(MIB);
	pid_t child;

	INSIST(is_in_arena(large));
	memcpy(large, arguments, sizeof(arguments));
	fill(block, MIB, 1);
	for (unsigned int round = 0; round < 5; round++) {
		child = fork();
		if (child == 0) {
			execv(self, large);
			_exit(1);
		}
		INSIST(ended(child) == 42);
		child = vfork();
		if (child == 0) {
			execv(self, large);
			_exit(1);
		}
		INSIST(ended(child) == 42);
		INSIST(posix_spawn(&child, self, NULL, NULL, large, environ) == 0);
		INSIST(ended(child) == 42);
		INSIST(holds(block, MIB, 1));
	}
	INSIST(system("exit 7") >> 8 == 7);
}

/* Resource limits that must not end the program. With the last limit, the arena cannot be
 * created. */
static void test_limit(const char *which)
{
	const int resource = strcmp(which, "addresses") == 0 ? RLIMIT_AS : RLIMIT_FSIZE;
	const uint64_t most = strcmp(which, "no-files") == 0 ? MIB : 512 * MIB;
	struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
	char *const child[] = {(char *)(uintptr_t)self, "child", NULL};
	char *const where[] = {(char *)(uintptr_t)self, "where", "100000", NULL};

	INSIST(setrlimit(resource, &limit) == 0);
	execv(self, most == MIB ? where : child);
	exit(1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{"sizes", test_sizes},
		{"wrong-sizes", test_wrong_sizes},
		{"realloc", test_realloc},
		{"zero", test_zero},
		{"threads", test_threads},
		{"given-back", test_given_back},
		{"exhausted", test_exhausted},
		{"descriptor", test_descriptor},
		{"closed", test_closed},
		{"fork", test_fork},
		{"fork-blocks", test_fork_blocks},
		{"fork-threads", test_fork_threads},
		{"bare-fork", test_bare_fork},
		{"exec", test_exec},
	};

	INSIST(argc >= 2);
	self = "/proc/self/exe";
	if (strcmp(argv[1], "child") == 0)
		return child_program();
	if (strcmp(argv[1], "damage") == 0 && argc == 3)
		test_damage(argv[2]);
	if (strcmp(argv[1], "limit") == 0 && argc == 3)
		test_limit(argv[2]);
	if (strcmp(argv[1], "where") == 0 && argc == 3)
		return is_in_arena(malloc((size_t)atoi(argv[2]))) ? 1 : 0;
	for (size_t at = 0; at < sizeof(tests) / sizeof(tests[0]); at++) {
		if (strcmp(argv[1], tests[at].name) == 0) {
			tests[at].run();
			puts("all is well");
			return 0;
		}
	}
	return 2;
}
