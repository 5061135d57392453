/*
 * The argument parser: a program's own flags and commands beside DOCA's, from the command line and
 * from JSON files.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Order: init, then create, describe and register each parameter and command, then start, and
 * destroy at the end. One thread. Where no code is given, a call that is refused is only logged.
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

/* A flag of the program's. */
struct doca_argp_param;

/* A command of the program's, with flags and commands of its own. */
struct doca_argp_cmd;

/* What a flag's value is, and what its callback gets a pointer to. */
enum doca_argp_type {
	DOCA_ARGP_TYPE_UNKNOWN = 0,
	DOCA_ARGP_TYPE_STRING = 1,  /* the characters themselves, to be copied */
	DOCA_ARGP_TYPE_INT = 2,     /* an int */
	DOCA_ARGP_TYPE_BOOLEAN = 3, /* a bool; the flag takes no value */
	DOCA_ARGP_TYPE_JSON_OBJ = 4 /* an object of json-c; this project's library has none */
};

/* Called by doca_argp_start() for each flag it finds; `config` is what doca_argp_init() got. An
 * error ends the parsing. */
typedef doca_error_t (*doca_argp_param_cb_t)(void *param, void *config);

/* Called with what doca_argp_init() got: for the command that was given, and to validate all. */
typedef doca_error_t (*doca_argp_cmd_cb_t)(void *config);
typedef doca_error_t (*doca_argp_validation_cb_t)(void *config);

/* Gets the flags of DPDK, behind the name of the program. */
typedef doca_error_t (*doca_argp_dpdk_cb_t)(int argc, char **argv);

/* Gets a message, as vprintf() does. Its code is not looked at. */
typedef doca_error_t (*doca_argp_logger_cb_t)(enum doca_log_level log_level, const char *format,
					      va_list args);

/*
 * Begins. `program_name` is copied; NULL: that of the command line. `program_config` goes to every
 * callback. BAD_STATE when it was called before.
 */
DOCA_STABLE
doca_error_t doca_argp_init(const char *program_name, void *program_config);

/* Ends, and frees everything that was registered. BAD_STATE before doca_argp_init(). */
DOCA_STABLE
doca_error_t doca_argp_destroy(void);

/*
 * Parses the command line and calls the callbacks; --help and --version end the program.
 * INVALID_VALUE for a value, a flag or a command that is missing, wrong or one too many,
 * NOT_SUPPORTED for a flag or a command that is not known, IO_FAILED for a JSON file, or a
 * callback's code. Nothing is called unless the whole command line and all files are in order.
 */
DOCA_STABLE
doca_error_t doca_argp_start(int argc, char **argv);

/* Prints what --help prints. */
DOCA_EXPERIMENTAL
void doca_argp_usage(void);

/* The levels that hold once doca_argp_start() has read them: BAD_STATE before it. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_get_log_level(int *log_level);
DOCA_EXPERIMENTAL
doca_error_t doca_argp_get_sdk_log_level(int *log_level);

/* ---- What else is called; the last callback of each kind counts. BAD_STATE after the start ---- */

/* By --version, with a bool and the config; the program ends when it gives SUCCESS. Without it the
 * release is printed. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_register_version_callback(doca_argp_param_cb_t callback);

/* After all flags have called back. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_register_validation_callback(doca_argp_validation_cb_t callback);

/* For messages, which otherwise go to standard error. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_register_logger_callback(doca_argp_logger_cb_t callback);

/* No message goes anywhere from now on. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_disable_logger_callback(void);

/* The arguments in front of "--", or all without one, are DPDK's. Called before all flags. */
DOCA_EXPERIMENTAL
void doca_argp_set_dpdk_program(doca_argp_dpdk_cb_t callback);

/* ---- Parameters ---- */

/* Makes a parameter. It is the caller's until it is registered. BAD_STATE before doca_argp_init().
 */
DOCA_STABLE
doca_error_t doca_argp_param_create(struct doca_argp_param **param);

/* Describe a parameter: at least one of the names, the description, the callback and the type.
 * Texts are copied. */
DOCA_STABLE
void doca_argp_param_set_short_name(struct doca_argp_param *param, const char *name);
DOCA_STABLE
void doca_argp_param_set_long_name(struct doca_argp_param *param, const char *name);
/* What the help shows in place of the value, such as "<name>". */
DOCA_STABLE
void doca_argp_param_set_arguments(struct doca_argp_param *param, const char *arguments);
DOCA_STABLE
void doca_argp_param_set_description(struct doca_argp_param *param, const char *description);
DOCA_STABLE
void doca_argp_param_set_callback(struct doca_argp_param *param, doca_argp_param_cb_t callback);
DOCA_STABLE
void doca_argp_param_set_type(struct doca_argp_param *param, enum doca_argp_type type);
/* The program does not start without it. */
DOCA_STABLE
void doca_argp_param_set_mandatory(struct doca_argp_param *param);
/* JSON files cannot give it. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_cli_only(struct doca_argp_param *param);
/* It may be given more than once, in a JSON file as a list. Others are given once. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_multiplicity(struct doca_argp_param *param);
/* It is given without other flags of the program, and needs none, nor a command. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_singular(struct doca_argp_param *param);
/* The commands within have it, too, unless one of theirs has its name. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_inherited(struct doca_argp_param *param);
/* The help does not list it. */
DOCA_EXPERIMENTAL
void doca_argp_param_set_hidden(struct doca_argp_param *param);

/* Frees a parameter that is not registered. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_param_destroy(struct doca_argp_param *param);

/*
 * Adds a parameter, which is the library's from here on, whatever the code: INITIALIZATION when
 * something is missing, ALREADY_EXIST for a name that is taken, NOT_SUPPORTED for a JSON object.
 */
DOCA_STABLE
doca_error_t doca_argp_register_param(struct doca_argp_param *input_param);

/* ---- Commands: "program [flags] command [flags] command [flags]" ---- */

/* Makes a command. It is the caller's until it is registered. BAD_STATE before doca_argp_init(). */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_cmd_create(struct doca_argp_cmd **cmd);

/* Describe a command: the name, the description, and the callback, without which one of its
 * commands must be given. Texts are copied. The callback is called at the end, of the last command
 * of the command line only. */
DOCA_EXPERIMENTAL
void doca_argp_cmd_set_name(struct doca_argp_cmd *cmd, const char *name);
DOCA_EXPERIMENTAL
void doca_argp_cmd_set_description(struct doca_argp_cmd *cmd, const char *description);
DOCA_EXPERIMENTAL
void doca_argp_cmd_set_callback(struct doca_argp_cmd *cmd, doca_argp_cmd_cb_t callback);
/* The help does not list it. */
DOCA_EXPERIMENTAL
void doca_argp_cmd_set_hidden(struct doca_argp_cmd *cmd);

/* Add a flag or a command to a command that is not registered yet. The codes are those of the two
 * functions for the program. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_cmd_register_param(struct doca_argp_cmd *cmd,
					  struct doca_argp_param *input_param);
DOCA_EXPERIMENTAL
doca_error_t doca_argp_cmd_register_cmd(struct doca_argp_cmd *cmd,
					struct doca_argp_cmd *input_cmd);

/* Frees a command that is not registered, with all that was added to it. */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_cmd_destroy(struct doca_argp_cmd *cmd);

/*
 * Adds a command to the program, which then needs one. It is the library's from here on, whatever
 * the code: INITIALIZATION when something is missing, ALREADY_EXIST for a name that is taken.
 */
DOCA_EXPERIMENTAL
doca_error_t doca_argp_register_cmd(struct doca_argp_cmd *input_cmd);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_ARGP_H_ */
