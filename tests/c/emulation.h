/* The arena of the exported memory emulation, as programs see it. */
#ifndef TESTS_EMULATION_H
#define TESTS_EMULATION_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define ARENA_NAME "memfd:urom-ucx-emulation"

static inline int arena_descriptor(void)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = -1;

	INSIST(directory != NULL);
	while (found < 0 && (entry = readdir(directory)) != NULL) {
		char target[128] = "";

		if (readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1) > 0 &&
		    strstr(target, ARENA_NAME) != NULL)
			found = atoi(entry->d_name);
	}
	closedir(directory);
	return found;
}

static inline uint64_t arena_bytes(void)
{
	struct stat status;

	INSIST(fstat(arena_descriptor(), &status) == 0);
	return (uint64_t)status.st_blocks * 512;
}

static inline bool is_in_arena(const volatile void *address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	INSIST(maps != NULL);
	while (!found && fgets(line, sizeof(line), maps) != NULL) {
		uintptr_t start, end;

		INSIST(sscanf(line, "%lx-%lx", &start, &end) == 2);
		found = start <= (uintptr_t)address && (uintptr_t)address < end &&
			strstr(line, ARENA_NAME) != NULL;
	}
	fclose(maps);
	return found;
}

#endif /* TESTS_EMULATION_H */
