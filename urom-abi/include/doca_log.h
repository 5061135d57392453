/*
 * Logging.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A source file declares its name with DOCA_LOG_REGISTER(NAME) and logs with DOCA_LOG_INFO("%d
 * links", n) and similar macros. Without a backend, warnings and more severe messages go to
 * standard error. Any thread may call these functions.
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

enum doca_log_level {
	DOCA_LOG_LEVEL_DISABLE = 10,
	DOCA_LOG_LEVEL_CRIT = 20,
	DOCA_LOG_LEVEL_ERROR = 30,
	DOCA_LOG_LEVEL_WARNING = 40,
	DOCA_LOG_LEVEL_INFO = 50,
	DOCA_LOG_LEVEL_DEBUG = 60,
	DOCA_LOG_LEVEL_TRACE = 70
};

/* A destination of messages. The library owns it until the process ends. */
struct doca_log_backend;

/* Receives a full buffer of a doca_log_backend_create_with_buf() backend. */
typedef void (*log_flush_callback)(char *buffer);

/* ---- Messages ---- */

/* Logs a message like printf(), for the macros below. `source` was registered. */
DOCA_STABLE __attribute__((format(printf, 6, 7))) doca_error_t doca_log(uint32_t level, int source,
									const char *file, int line,
									const char *func,
									const char *format, ...);

/* Registers a message source. The name is not kept. Works before main() and other constructors. */
DOCA_STABLE
doca_error_t doca_log_register_source(const char *source_name, int *source);

DOCA_STABLE
doca_error_t doca_log_unregister_source(int source);

/* Once in each file that logs: sets the file's message source, NAME without quotes. */
#define DOCA_LOG_REGISTER(NAME)                                                         \
	static int log_source;                                                          \
	__attribute__((constructor(101))) static void doca_log_register_this_file(void) \
	{                                                                               \
		doca_log_register_source(#NAME, &log_source);                           \
	}

/* Logs a message; the first variable argument is the format. */
#define DOCA_LOG(level, ...) doca_log(level, log_source, __FILE__, __LINE__, __func__, __VA_ARGS__)

#define DOCA_LOG_CRIT(...) DOCA_LOG(DOCA_LOG_LEVEL_CRIT, __VA_ARGS__)
#define DOCA_LOG_ERR(...) DOCA_LOG(DOCA_LOG_LEVEL_ERROR, __VA_ARGS__)
#define DOCA_LOG_WARN(...) DOCA_LOG(DOCA_LOG_LEVEL_WARNING, __VA_ARGS__)
#define DOCA_LOG_INFO(...) DOCA_LOG(DOCA_LOG_LEVEL_INFO, __VA_ARGS__)
#define DOCA_LOG_DBG(...) DOCA_LOG(DOCA_LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Compiled only with DOCA_LOGGING_ALLOW_TRACE. */
#ifdef DOCA_LOGGING_ALLOW_TRACE
#define DOCA_LOG_TRC(...) DOCA_LOG(DOCA_LOG_LEVEL_TRACE, __VA_ARGS__)
#else
#define DOCA_LOG_TRC(...) \
	do {              \
	} while (0)
#endif

/* ---- Backends ---- */

/* Creates the default backends: standard output up to INFO, standard error from WARNING.
 *
 * Each function below with _sdk creates a backend for the library's messages, the others for the
 * program's. Their arguments stay the caller's and must outlive the backend. */
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

/* Passes full buffers of `capacity` bytes to `handler`. NOT_SUPPORTED here. */
DOCA_STABLE
doca_error_t doca_log_backend_create_with_buf(char *buf, uint32_t capacity,
					      log_flush_callback handler,
					      struct doca_log_backend **backend);
DOCA_STABLE
doca_error_t doca_log_backend_create_with_buf_sdk(char *buf, uint32_t capacity,
						  log_flush_callback handler,
						  struct doca_log_backend **backend);

/* The system log, under `name`. NOT_SUPPORTED here. */
DOCA_STABLE
doca_error_t doca_log_backend_create_with_syslog(const char *name,
						 struct doca_log_backend **backend);
DOCA_STABLE
doca_error_t doca_log_backend_create_with_syslog_sdk(const char *name,
						     struct doca_log_backend **backend);

/* ---- Levels ---- */

/* Level of a library backend. The last call counts, here or for the global level. */
DOCA_STABLE
doca_error_t doca_log_backend_set_sdk_level(struct doca_log_backend *backend, uint32_t level);

/* The limits of a backend for the program's messages: at least up to the lower one, at most up to
 * the upper one. The global limits narrow them, unless they were set strictly. */
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

/* Limits of all backends: INFO, or CRIT for the upper one of the program's messages. */
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
