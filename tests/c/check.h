/* Checks that name what they found. SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHECK_H_
#define CHECK_H_

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <doca_error.h>

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

/* That a call ends with a code. */
#define GIVES(code, call)                                                                                              \
	do {                                                                                                           \
		doca_error_t got_ = (call);                                                                            \
		if (got_ != (code)) {                                                                                  \
			fprintf(stderr, "%s:%d: %s gives %s\n", __FILE__, __LINE__, #call, doca_error_get_name(got_)); \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

#define OK(call) GIVES(DOCA_SUCCESS, call)

#endif /* CHECK_H_ */
