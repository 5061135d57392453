/*
 * doca_log() as far as only C can do it: turns the format and its arguments into text. The rest is
 * src/doca_log.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Whether there is a line to make; if not, why. */
int urom_doca_log_wanted(uint32_t level, const char *file, const char *func, const char *format,
			 uint32_t *why_not);

uint32_t urom_doca_log_line(uint32_t level, const char *file, int line, const char *func,
			    const char *text, size_t len);

uint32_t urom_doca_log(uint32_t level, int source, const char *file, int line, const char *func,
		       const char *format, ...)
{
	/* Callers look at errno after they logged, and %m names it. */
	int error = errno;
	char stack[1024], *text = stack;
	uint32_t result;
	va_list args;
	int len;

	(void)source;
	if (!urom_doca_log_wanted(level, file, func, format, &result))
		return result;
	va_start(args, format);
	errno = error;
	len = vsnprintf(stack, sizeof(stack), format, args);
	va_end(args);
	if (len >= (int)sizeof(stack)) {
		text = malloc((size_t)len + 1);
		if (text == NULL) {
			text = stack; /* Its beginning is better than nothing. */
			len = sizeof(stack) - 1;
		} else {
			int capacity = len;

			va_start(args, format);
			errno = error;
			len = vsnprintf(text, (size_t)capacity + 1, format, args);
			va_end(args);
			/* Another thread may have changed a string in the meantime. */
			len = len > capacity ? capacity : len;
		}
	}
	result = len < 0 ? 6 /* DOCA_ERROR_INVALID_VALUE */
			 : urom_doca_log_line(level, file, line, func, text, (size_t)len);
	if (text != stack)
		free(text);
	errno = error;
	return result;
}
