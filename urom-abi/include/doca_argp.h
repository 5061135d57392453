/*
 * The argument parser: flags and commands, from the command line and JSON files.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Order: init, then create, describe and register each parameter and command, then start, and
 * finally destroy. One thread. Functions without a result log their errors.
 */
#ifndef DOCA_ARGP_H_
#define DOCA_ARGP_H_

#include <stdarg.h>
#include <stdbool.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_log.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_argp_param;

/* A command of the program, with its own flags and commands. */
struct doca_argp_cmd;

/* The type of a flag's value, which its callback receives by pointer. */
enum doca_argp_type {
	DOCA_ARGP_TYPE_UNKNOWN = 0,
	DOCA_ARGP_TYPE_STRING = 1,  /* the characters themselves, to be copied */
	DOCA_ARGP_TYPE_INT = 2,     /* an int */
	DOCA_ARGP_TYPE_BOOLEAN = 3, /* a bool; the flag takes no value */
	DOCA_ARGP_TYPE_JSON_OBJ = 4 /* an object of json-c; this project's library has none */
};

/* Called for each flag; `config` is from doca_argp_init(). An error ends parsing. */
typedef doca_error_t (*doca_argp_param_cb_t)(void *param, void *config);

/* For the selected command, and to validate all flags. `config` is from doca_argp_init(). */
typedef doca_error_t (*doca_argp_cmd_cb_t)(void *config);
typedef doca_error_t (*doca_argp_validation_cb_t)(void *config);

typedef doca_error_t (*doca_argp_dpdk_cb_t)(int argc, char **argv);

/* Receives a message, as vprintf() does. Its result is ignored. */
typedef doca_error_t (*doca_argp_logger_cb_t)(enum doca_log_level log_level, const char *format,
					      va_list args);

/* Initializes the parser. `program_name` is copied; NULL selects the command line's name.
 * `program_config` is passed to every callback. BAD_STATE for a second call. */
DOCA_STABLE
doca_error_t doca_argp_init(const char *program_name, void *program_config);

/* Destroys the parser and everything registered. BAD_STATE before doca_argp_init(). */
DOCA_STABLE
doca_error_t doca_argp_destroy(void);

/* Parses the command line and calls the callbacks; --help and --version end the program.
 * INVALID_VALUE for a missing, invalid or surplus value, flag or command, NOT_SUPPORTED for an
 * unknown flag or command, IO_FAILED for a JSON file, or a callback's code. Callbacks run only
 * after the whole command line and all files are valid. */
DOCA_STABLE
doca_error_t doca_argp_start(int argc, char **argv);

DOCA_EXPERIMENTAL
void doca_argp_usage(void);

/* The log levels from the command line: BAD_STATE before doca_argp_start(). */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_get_log_level(int *log_level);
DOCA_EXPERIMENTAL
doca_error_t doca_argp_get_sdk_log_level(int *log_level);

/* ---- Optional callbacks; the last of each kind counts. BAD_STATE after the start ---- */

/* Called by --version with a bool and the config, instead of printing the release. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_register_version_callback(doca_argp_param_cb_t callback);

DOCA_EXPERIMENTAL
doca_error_t doca_argp_register_validation_callback(doca_argp_validation_cb_t callback);

/* Receives messages, which otherwise go to standard error. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_register_logger_callback(doca_argp_logger_cb_t callback);

DOCA_EXPERIMENTAL
doca_error_t doca_argp_disable_logger_callback(void);

/* Arguments before "--", or all without "--", are DPDK's. Called before all flags. */
DOCA_EXPERIMENTAL
void doca_argp_set_dpdk_program(doca_argp_dpdk_cb_t callback);

/* ---- Parameters ---- */

/* Creates a parameter of the caller, until it is registered. BAD_STATE before the init. */
DOCA_STABLE
doca_error_t doca_argp_param_create(struct doca_argp_param **param);

/* Describe a parameter. A name, description, callback and type are required. Texts are copied. */
DOCA_STABLE
void doca_argp_param_set_short_name(struct doca_argp_param *param, const char *name);
DOCA_STABLE
void doca_argp_param_set_long_name(struct doca_argp_param *param, const char *name);
/* The help's placeholder for the value, such as "<name>". */
DOCA_STABLE
void doca_argp_param_set_arguments(struct doca_argp_param *param, const char *arguments);
DOCA_STABLE
void doca_argp_param_set_description(struct doca_argp_param *param, const char *description);
DOCA_STABLE
void doca_argp_param_set_callback(struct doca_argp_param *param, doca_argp_param_cb_t callback);
DOCA_STABLE
void doca_argp_param_set_type(struct doca_argp_param *param, enum doca_argp_type type);
DOCA_STABLE
void doca_argp_param_set_mandatory(struct doca_argp_param *param);
/* Not allowed in JSON files. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_cli_only(struct doca_argp_param *param);
/* Allowed more than once, in a JSON file as a list. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_multiplicity(struct doca_argp_param *param);
/* Must be the only flag; a command is then not required. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_singular(struct doca_argp_param *param);
/* Inherited by commands that do not define a flag of this name. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_inherited(struct doca_argp_param *param);
/* Hidden in the help. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_hidden(struct doca_argp_param *param);

DOCA_EXPERIMENTAL
doca_error_t doca_argp_param_destroy(struct doca_argp_param *param);

/* Registers a parameter, which the library then owns, even on errors: INITIALIZATION for an
 * incomplete parameter, ALREADY_EXIST for a duplicate name, NOT_SUPPORTED for a JSON object. */
DOCA_STABLE
doca_error_t doca_argp_register_param(struct doca_argp_param *input_param);

/* ---- Commands: "program [flags] command [flags] command [flags]" ---- */

/* Creates a command of the caller, until it is registered. BAD_STATE before the init. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_cmd_create(struct doca_argp_cmd **cmd);

/* Describe a command: the name, the description, and the callback. A command without a callback
 * requires a subcommand. Texts are copied. Only the last command's callback is called. */
DOCA_EXPERIMENTAL
void doca_argp_cmd_set_name(struct doca_argp_cmd *cmd, const char *name);
DOCA_EXPERIMENTAL
void doca_argp_cmd_set_description(struct doca_argp_cmd *cmd, const char *description);
DOCA_EXPERIMENTAL
void doca_argp_cmd_set_callback(struct doca_argp_cmd *cmd, doca_argp_cmd_cb_t callback);
/* Hidden in the help. */
DOCA_EXPERIMENTAL
void doca_argp_cmd_set_hidden(struct doca_argp_cmd *cmd);

/* Add a flag or a command to an unregistered command. Codes as for the program's functions. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_cmd_register_param(struct doca_argp_cmd *cmd,
					  struct doca_argp_param *input_param);
DOCA_EXPERIMENTAL
doca_error_t doca_argp_cmd_register_cmd(struct doca_argp_cmd *cmd,
					struct doca_argp_cmd *input_cmd);

/* Frees an unregistered command and its contents. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_cmd_destroy(struct doca_argp_cmd *cmd);

/* Registers a command of the program, which then requires a command. The library then owns it, even
 * on errors: INITIALIZATION for an incomplete command, ALREADY_EXIST for a duplicate name. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_register_cmd(struct doca_argp_cmd *input_cmd);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_ARGP_H_ */
