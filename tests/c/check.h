/* Checks that end the program and print the failed call or condition. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include <doca_error.h>

#define INSIST(condition)                                                                       \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

#define EXPECT(code, call)                                                                \
	do {                                                                              \
		doca_error_t expect_code = (call);                                        \
		if (expect_code != (code)) {                                              \
			fprintf(stderr, "%s:%d: %s gave %s\n", __FILE__, __LINE__, #call, \
				doca_error_get_name(expect_code));                        \
			exit(1);                                                          \
		}                                                                         \
	} while (0)

#define MUST(call) EXPECT(DOCA_SUCCESS, call)

#endif /* TESTS_CHECK_H */
