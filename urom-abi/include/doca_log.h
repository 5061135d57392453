/*
 * Logging.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A source file names itself with DOCA_LOG_REGISTER(NAME) and logs with DOCA_LOG_INFO("%d links",
 * n) and its like. Without a backend for them, warnings and what is graver go to standard error.
 * Any thread may call any of these.
 */
#ifndef DOCA_LOG_H_
#define DOCA_LOG_H_

#include <stdint.h>
#include <stdio.h>

#include <doca_compat.h>
#include <doca_error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A message is written when its level is at most the limit. */
enum doca_log_level {
	DOCA_LOG_LEVEL_DISABLE = 10,
	DOCA_LOG_LEVEL_CRIT = 20,
	DOCA_LOG_LEVEL_ERROR = 30,
	DOCA_LOG_LEVEL_WARNING = 40,
	DOCA_LOG_LEVEL_INFO = 50,
	DOCA_LOG_LEVEL_DEBUG = 60,
	DOCA_LOG_LEVEL_TRACE = 70
};

/* Where messages go. The library owns it and keeps it until the process ends. */
struct doca_log_backend;

/* Takes over a full buffer of a backend of doca_log_backend_create_with_buf(). */
typedef void (*log_flush_callback)(char *buffer);

/* ---- Messages ---- */

/*
 * Logs a message as printf() would format it; `source` is an id of doca_log_register_source(). What
 * the macros below call.
 */
DOCA_STABLE __attribute__((format(printf, 6, 7))) doca_error_t doca_log(uint32_t level, int source,
									const char *file, int line,
									const char *func,
									const char *format, ...);

/* Gives a source of messages an id. The name is not kept. Works before main() and before any other
 * constructor. */
DOCA_STABLE
doca_error_t doca_log_register_source(const char *source_name, int *source);

/* Takes an id back. */
DOCA_STABLE
doca_error_t doca_log_unregister_source(int source);

/* Once in a file that logs: names the file's messages, NAME without quotes. */
#define DOCA_LOG_REGISTER(NAME)                                                         \
	static int log_source;                                                          \
	__attribute__((constructor(101))) static void doca_log_register_this_file(void) \
	{                                                                               \
		doca_log_register_source(#NAME, &log_source);                           \
	}

/* A message of a level; the first of the arguments that follow is the format. */
#define DOCA_LOG(level, ...) doca_log(level, log_source, __FILE__, __LINE__, __func__, __VA_ARGS__)

#define DOCA_LOG_CRIT(...) DOCA_LOG(DOCA_LOG_LEVEL_CRIT, __VA_ARGS__)
#define DOCA_LOG_ERR(...) DOCA_LOG(DOCA_LOG_LEVEL_ERROR, __VA_ARGS__)
#define DOCA_LOG_WARN(...) DOCA_LOG(DOCA_LOG_LEVEL_WARNING, __VA_ARGS__)
#define DOCA_LOG_INFO(...) DOCA_LOG(DOCA_LOG_LEVEL_INFO, __VA_ARGS__)
#define DOCA_LOG_DBG(...) DOCA_LOG(DOCA_LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Nothing at all, unless the program is compiled with DOCA_LOGGING_ALLOW_TRACE. */
#ifdef DOCA_LOGGING_ALLOW_TRACE
#define DOCA_LOG_TRC(...) DOCA_LOG(DOCA_LOG_LEVEL_TRACE, __VA_ARGS__)
#else
#define DOCA_LOG_TRC(...) \
	do {              \
	} while (0)
#endif

/* ---- Backends ---- */

/*
 * The usual two: standard output for the program's messages up to INFO, standard error from WARNING
 * on.
 *
 * Each function below with _sdk makes a backend for the library's own messages, the one without for
 * the program's. What they are given stays the caller's and has to outlive the backend.
 * INVALID_VALUE for NULL; NO_MEMORY.
 */
DOCA_STABLE
doca_error_t doca_log_backend_create_standard(void);

DOCA_STABLE
doca_error_t doca_log_backend_create_with_file(FILE *fptr, struct doca_log_backend **backend);
DOCA_STABLE
doca_error_t doca_log_backend_create_with_file_sdk(FILE *fptr, struct doca_log_backend **backend);

DOCA_STABLE
doca_error_t doca_log_backend_create_with_fd(int fd, struct doca_log_backend **backend);
DOCA_STABLE
doca_error_t doca_log_backend_create_with_fd_sdk(int fd, struct doca_log_backend **backend);

/* Collects messages in `capacity` bytes at `buf`, and gives them to `handler` when they are full.
 * NOT_SUPPORTED here. */
DOCA_STABLE
doca_error_t doca_log_backend_create_with_buf(char *buf, uint32_t capacity,
					      log_flush_callback handler,
					      struct doca_log_backend **backend);
DOCA_STABLE
doca_error_t doca_log_backend_create_with_buf_sdk(char *buf, uint32_t capacity,
						  log_flush_callback handler,
						  struct doca_log_backend **backend);

/* The system's log, under `name`. NOT_SUPPORTED here. */
DOCA_STABLE
doca_error_t doca_log_backend_create_with_syslog(const char *name,
						 struct doca_log_backend **backend);
DOCA_STABLE
doca_error_t doca_log_backend_create_with_syslog_sdk(const char *name,
						     struct doca_log_backend **backend);

/* ---- Levels ---- */

/* Up to which level a backend for the library's messages writes. Of this and the global level the
 * last one set counts. */
DOCA_STABLE
doca_error_t doca_log_backend_set_sdk_level(struct doca_log_backend *backend, uint32_t level);

/*
 * The limits of a backend for the program's messages: the lower one is what is written at least,
 * the upper one at most. The global limits narrow what a backend writes, unless its own were set
 * strictly.
 */
DOCA_STABLE
doca_error_t doca_log_backend_set_level_lower_limit(struct doca_log_backend *backend,
						    uint32_t level);
DOCA_STABLE
doca_error_t doca_log_backend_set_level_lower_limit_strict(struct doca_log_backend *backend,
							   uint32_t level);
DOCA_STABLE
doca_error_t doca_log_backend_set_level_upper_limit(struct doca_log_backend *backend,
						    uint32_t level);
DOCA_STABLE
doca_error_t doca_log_backend_set_level_upper_limit_strict(struct doca_log_backend *backend,
							   uint32_t level);

/* The limits of all backends: INFO for the lower one and for the library's messages, CRIT for the
 * upper one. */
DOCA_STABLE
doca_error_t doca_log_level_set_global_lower_limit(uint32_t level);
DOCA_STABLE
uint32_t doca_log_level_get_global_lower_limit(void);
DOCA_STABLE
doca_error_t doca_log_level_set_global_upper_limit(uint32_t level);
DOCA_STABLE
uint32_t doca_log_level_get_global_upper_limit(void);
DOCA_STABLE
doca_error_t doca_log_level_set_global_sdk_limit(uint32_t level);
DOCA_STABLE
uint32_t doca_log_level_get_global_sdk_limit(void);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_LOG_H_ */
