/* Checks for C programs: each compares a call's result, prints a difference, and continues. */
#ifndef EXPECT_H_
#define EXPECT_H_

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <doca_error.h>

static int differences;

static const char *called[600];
static size_t called_count;

static inline void note_call(const char *function)
{
	size_t at;

	for (at = 0; at < called_count; ++at)
		if (!strcmp(called[at], function))
			return;
	if (called_count < sizeof(called) / sizeof(*called))
		called[called_count++] = function;
}

static inline void compare(const char *file, int line, const char *what, uint64_t wanted,
			   uint64_t got)
{
	if (wanted == got)
		return;
	++differences;
	printf("%s:%d: %s gives %llu, not %llu\n", file, line, what, (unsigned long long)got,
	       (unsigned long long)wanted);
}

#define GIVES(wanted, function, ...)                                                  \
	do {                                                                          \
		note_call(#function);                                                 \
		compare(__FILE__, __LINE__, #function "(" #__VA_ARGS__ ")", (wanted), \
			(function)(__VA_ARGS__));                                     \
	} while (0)

#define GIVES_NULL(function, ...)                                                             \
	do {                                                                                  \
		note_call(#function);                                                         \
		compare(__FILE__, __LINE__, #function "(" #__VA_ARGS__ ") is NULL, which", 1, \
			(function)(__VA_ARGS__) == NULL);                                     \
	} while (0)

#define RETURNS(function, ...)                 \
	do {                                   \
		note_call(#function);          \
		(void)(function)(__VA_ARGS__); \
	} while (0)

#define IS(wanted, value) compare(__FILE__, __LINE__, #value, (uint64_t)(wanted), (uint64_t)(value))

static inline int conclusion(void)
{
	if (differences)
		printf("%d differences\n", differences);
	return differences != 0;
}

#endif
