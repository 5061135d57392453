/* Logging and the argument parser: NULL, invalid arguments, and calls before the initialization. */
#ifndef TESTS_EVERY_UTILITY_H
#define TESTS_EVERY_UTILITY_H

#include "expect.h"

#include <doca_argp.h>
#include <doca_log.h>

#define INVALID DOCA_ERROR_INVALID_VALUE

static inline void logging(void)
{
	static const uint32_t no_levels[] = {0, 9, 71, UINT32_MAX};
	struct doca_log_backend *program, *sdk, *none = (void *)&program;
	char buffer[64];
	FILE *file = tmpfile();
	int source, second, level;

	GIVES(INVALID, doca_log_register_source, NULL, &source);
	GIVES(INVALID, doca_log_register_source, "HOSTILE", NULL);
	GIVES(DOCA_SUCCESS, doca_log_register_source, "HOSTILE", &source);
	GIVES(DOCA_SUCCESS, doca_log_register_source, "HOSTILE", &second);
	IS(1, source != second);
	GIVES(DOCA_SUCCESS, doca_log_unregister_source, second);
	GIVES(INVALID, doca_log_unregister_source, second);
	GIVES(INVALID, doca_log_unregister_source, -1);

	GIVES(INVALID, doca_log_backend_create_with_file, NULL, &program);
	GIVES(INVALID, doca_log_backend_create_with_file, file, NULL);
	GIVES(DOCA_SUCCESS, doca_log_backend_create_with_file, file, &program);
	GIVES(INVALID, doca_log_backend_create_with_file_sdk, NULL, &sdk);
	GIVES(INVALID, doca_log_backend_create_with_file_sdk, file, NULL);
	GIVES(DOCA_SUCCESS, doca_log_backend_create_with_file_sdk, file, &sdk);
	GIVES(INVALID, doca_log_backend_create_with_fd, -1, &none);
	GIVES(INVALID, doca_log_backend_create_with_fd, fileno(file), NULL);
	GIVES(INVALID, doca_log_backend_create_with_fd_sdk, -1, &none);
	GIVES(INVALID, doca_log_backend_create_with_fd_sdk, fileno(file), NULL);
	GIVES(INVALID, doca_log_backend_create_with_buf, NULL, 1, NULL, &none);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_log_backend_create_with_buf, buffer, sizeof(buffer),
	      (void (*)(char *))abort, &none);
	GIVES(INVALID, doca_log_backend_create_with_buf_sdk, NULL, 1, NULL, &none);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_log_backend_create_with_buf_sdk, buffer,
	      sizeof(buffer), (void (*)(char *))abort, &none);
	GIVES(INVALID, doca_log_backend_create_with_syslog, NULL, &none);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_log_backend_create_with_syslog, "hostile", &none);
	GIVES(INVALID, doca_log_backend_create_with_syslog_sdk, NULL, &none);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_log_backend_create_with_syslog_sdk, "hostile", &none);
	IS((uintptr_t)&program, (uintptr_t)none);

	/* NULL, an invalid pointer or a backend of the other kind is refused. */
	GIVES(INVALID, doca_log_backend_set_sdk_level, NULL, DOCA_LOG_LEVEL_INFO);
	GIVES(INVALID, doca_log_backend_set_sdk_level, program, DOCA_LOG_LEVEL_INFO);
	GIVES(INVALID, doca_log_backend_set_sdk_level, none, DOCA_LOG_LEVEL_INFO);
	GIVES(INVALID, doca_log_backend_set_level_lower_limit, NULL, DOCA_LOG_LEVEL_INFO);
	GIVES(INVALID, doca_log_backend_set_level_lower_limit, sdk, DOCA_LOG_LEVEL_INFO);
	GIVES(INVALID, doca_log_backend_set_level_lower_limit_strict, NULL, DOCA_LOG_LEVEL_INFO);
	GIVES(INVALID, doca_log_backend_set_level_lower_limit_strict, none, DOCA_LOG_LEVEL_INFO);
	GIVES(INVALID, doca_log_backend_set_level_upper_limit, NULL, DOCA_LOG_LEVEL_CRIT);
	GIVES(INVALID, doca_log_backend_set_level_upper_limit, sdk, DOCA_LOG_LEVEL_CRIT);
	GIVES(INVALID, doca_log_backend_set_level_upper_limit_strict, NULL, DOCA_LOG_LEVEL_CRIT);
	GIVES(INVALID, doca_log_backend_set_level_upper_limit_strict, none, DOCA_LOG_LEVEL_CRIT);
	for (level = 0; level < 4; ++level) {
		GIVES(INVALID, doca_log_backend_set_sdk_level, sdk, no_levels[level]);
		GIVES(INVALID, doca_log_backend_set_level_lower_limit, program, no_levels[level]);
		GIVES(INVALID, doca_log_backend_set_level_lower_limit_strict, program,
		      no_levels[level]);
		GIVES(INVALID, doca_log_backend_set_level_upper_limit, program, no_levels[level]);
		GIVES(INVALID, doca_log_backend_set_level_upper_limit_strict, program,
		      no_levels[level]);
		GIVES(INVALID, doca_log_level_set_global_lower_limit, no_levels[level]);
		GIVES(INVALID, doca_log_level_set_global_upper_limit, no_levels[level]);
		GIVES(INVALID, doca_log_level_set_global_sdk_limit, no_levels[level]);
		GIVES(INVALID, doca_log, no_levels[level], source, "a.c", 1, "f", "text");
	}
	GIVES(DOCA_SUCCESS, doca_log_backend_set_sdk_level, sdk, DOCA_LOG_LEVEL_ERROR);
	GIVES(DOCA_LOG_LEVEL_INFO, doca_log_level_get_global_lower_limit);
	GIVES(DOCA_SUCCESS, doca_log_level_set_global_lower_limit, DOCA_LOG_LEVEL_DEBUG);
	GIVES(DOCA_LOG_LEVEL_DEBUG, doca_log_level_get_global_lower_limit);
	GIVES(DOCA_LOG_LEVEL_CRIT, doca_log_level_get_global_upper_limit);
	GIVES(DOCA_SUCCESS, doca_log_level_set_global_upper_limit, DOCA_LOG_LEVEL_CRIT);
	GIVES(DOCA_SUCCESS, doca_log_level_set_global_sdk_limit, DOCA_LOG_LEVEL_ERROR);
	GIVES(DOCA_LOG_LEVEL_ERROR, doca_log_level_get_global_sdk_limit);
	GIVES(DOCA_SUCCESS, doca_log_backend_create_standard);
	GIVES(DOCA_SUCCESS, doca_log_backend_create_standard);

	/* For enabled and disabled levels. */
	for (level = DOCA_LOG_LEVEL_CRIT; level <= DOCA_LOG_LEVEL_TRACE; level += 10) {
		GIVES(INVALID, doca_log, level, source, NULL, 1, "f", "text");
		GIVES(INVALID, doca_log, level, source, "a.c", 1, NULL, "text");
		GIVES(INVALID, doca_log, level, source, "a.c", 1, "f", NULL);
	}
	GIVES(INVALID, doca_log, 45, source, "a.c", 1, "f", "text");
	GIVES(DOCA_SUCCESS, doca_log, DOCA_LOG_LEVEL_INFO, source, "a.c", 1, "f", "%d%%", 100);
	/* An unknown source does not lose the line. */
	GIVES(DOCA_SUCCESS, doca_log, DOCA_LOG_LEVEL_INFO, -7, "a.c", -1, "", "%s", "");
	GIVES(DOCA_SUCCESS, doca_log_unregister_source, source);
}

static inline doca_error_t take_nothing(void *param, void *config)
{
	(void)param, (void)config;
	return DOCA_SUCCESS;
}

/* Calls that describe a parameter; an invalid parameter is ignored. */
static inline void describe(struct doca_argp_param *param)
{
	RETURNS(doca_argp_param_set_short_name, param, "x");
	RETURNS(doca_argp_param_set_long_name, param, "hostile");
	RETURNS(doca_argp_param_set_arguments, param, "<x>");
	RETURNS(doca_argp_param_set_description, param, "Nothing");
	RETURNS(doca_argp_param_set_callback, param, take_nothing);
	RETURNS(doca_argp_param_set_type, param, DOCA_ARGP_TYPE_STRING);
	RETURNS(doca_argp_param_set_mandatory, param);
}

static inline void describe_rarer(struct doca_argp_param *param)
{
	RETURNS(doca_argp_param_set_cli_only, param);
	RETURNS(doca_argp_param_set_multiplicity, param);
	RETURNS(doca_argp_param_set_singular, param);
	RETURNS(doca_argp_param_set_inherited, param);
	RETURNS(doca_argp_param_set_hidden, param);
}

static inline doca_error_t do_nothing(void *config)
{
	(void)config;
	return DOCA_SUCCESS;
}

static inline void describe_command(struct doca_argp_cmd *cmd)
{
	RETURNS(doca_argp_cmd_set_name, cmd, "hostile");
	RETURNS(doca_argp_cmd_set_description, cmd, "Nothing");
	RETURNS(doca_argp_cmd_set_callback, cmd, do_nothing);
	RETURNS(doca_argp_cmd_set_hidden, cmd);
}

static inline doca_error_t take_no_message(enum doca_log_level level, const char *format,
					   va_list args)
{
	(void)level, (void)format, (void)args;
	return DOCA_SUCCESS;
}

static inline doca_error_t take_no_flags(int argc, char **argv)
{
	(void)argc, (void)argv;
	return DOCA_SUCCESS;
}

static inline void unknown_commands(void)
{
	char *good[] = {"program", "hostile", NULL};
	struct doca_argp_cmd *cmd = NULL;
	struct doca_argp_param *param;
	void *unknown = &good;
	int level;

	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_cmd_create, &cmd);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_register_cmd, unknown);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_cmd_destroy, unknown);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_param_destroy, unknown);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_cmd_register_param, unknown, unknown);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_cmd_register_cmd, unknown, unknown);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_register_version_callback, take_nothing);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_register_validation_callback, do_nothing);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_register_logger_callback, take_no_message);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_disable_logger_callback);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_get_log_level, &level);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_get_sdk_log_level, &level);
	RETURNS(doca_argp_set_dpdk_program, take_no_flags);
	RETURNS(doca_argp_usage);
	describe_command(NULL);

	GIVES(DOCA_SUCCESS, doca_argp_init, NULL, NULL);
	GIVES(INVALID, doca_argp_cmd_create, NULL);
	GIVES(INVALID, doca_argp_register_cmd, NULL);
	GIVES(INVALID, doca_argp_register_cmd, unknown);
	GIVES(INVALID, doca_argp_cmd_destroy, unknown);
	GIVES(INVALID, doca_argp_param_destroy, NULL);
	GIVES(INVALID, doca_argp_register_version_callback, NULL);
	GIVES(INVALID, doca_argp_register_validation_callback, NULL);
	GIVES(INVALID, doca_argp_register_logger_callback, NULL);
	RETURNS(doca_argp_set_dpdk_program, NULL);
	describe_command(NULL);
	describe_command(unknown);
	describe_rarer(unknown);
	GIVES(DOCA_SUCCESS, doca_argp_cmd_create, &cmd);
	GIVES(INVALID, doca_argp_cmd_register_param, cmd, NULL);
	GIVES(INVALID, doca_argp_cmd_register_cmd, cmd, NULL);
	GIVES(DOCA_SUCCESS, doca_argp_param_create, &param);
	describe(param);
	describe_rarer(param);
	/* The library takes the parameter although the command is invalid. */
	GIVES(INVALID, doca_argp_cmd_register_param, unknown, param);
	GIVES(INVALID, doca_argp_param_destroy, param);
	describe_command(cmd);
	GIVES(DOCA_SUCCESS, doca_argp_register_cmd, cmd);
	describe_command(cmd);
	GIVES(DOCA_SUCCESS, doca_argp_start, 2, good);
	GIVES(INVALID, doca_argp_get_log_level, NULL);
	GIVES(DOCA_SUCCESS, doca_argp_get_sdk_log_level, &level);
	GIVES(DOCA_SUCCESS, doca_argp_disable_logger_callback);
	GIVES(DOCA_SUCCESS, doca_argp_destroy);
}

static inline void parsing(void)
{
	char *good[] = {"program", "--hostile", "value", NULL},
	     *bad[] = {"program", "--unknown", NULL};
	struct doca_argp_param *param = NULL, *empty;
	void *unknown = &good;

	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_destroy);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_param_create, &param);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_register_param, param);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_start, 3, good);
	describe(NULL);
	describe(unknown);

	GIVES(DOCA_SUCCESS, doca_argp_init, NULL, NULL);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_init, "again", NULL);
	GIVES(INVALID, doca_argp_param_create, NULL);
	GIVES(INVALID, doca_argp_register_param, NULL);
	GIVES(INVALID, doca_argp_register_param, unknown);
	describe(NULL);
	describe(unknown);
	GIVES(DOCA_SUCCESS, doca_argp_param_create, &empty);
	/* The library takes the parameter although it refuses it. */
	GIVES(DOCA_ERROR_INITIALIZATION, doca_argp_register_param, empty);
	GIVES(INVALID, doca_argp_register_param, empty);
	describe(empty);
	GIVES(DOCA_SUCCESS, doca_argp_param_create, &param);
	describe(param);
	GIVES(DOCA_SUCCESS, doca_argp_register_param, param);
	GIVES(INVALID, doca_argp_register_param, param);
	GIVES(INVALID, doca_argp_start, 0, good);
	GIVES(INVALID, doca_argp_start, -1, good);
	GIVES(INVALID, doca_argp_start, 3, NULL);
	GIVES(DOCA_SUCCESS, doca_argp_start, 3, good);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_start, 3, good);
	GIVES(DOCA_SUCCESS, doca_argp_destroy);
	GIVES(DOCA_ERROR_BAD_STATE, doca_argp_destroy);
	describe(param);

	GIVES(DOCA_SUCCESS, doca_argp_init, "program", NULL);
	GIVES(DOCA_ERROR_NOT_SUPPORTED, doca_argp_start, 2, bad);
	GIVES(DOCA_SUCCESS, doca_argp_destroy);
	unknown_commands();
}

#endif /* TESTS_EVERY_UTILITY_H */
