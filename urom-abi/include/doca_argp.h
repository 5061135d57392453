/*
 * The argument parser: a program's own flags beside DOCA's, from the command line and from JSON
 * files.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Order: init, then create, describe and register each parameter, then start, and destroy at the
 * end. One thread.
 */
#ifndef DOCA_ARGP_H_
#define DOCA_ARGP_H_

#include <stdbool.h>

#include <doca_compat.h>
#include <doca_error.h>
#include <doca_log.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A flag of the program's. */
struct doca_argp_param;

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
 * INVALID_VALUE for a value that is wrong or missing, NOT_SUPPORTED for a flag that is not known,
 * IO_FAILED for a JSON file, or a callback's code.
 */
DOCA_STABLE
doca_error_t doca_argp_start(int argc, char **argv);

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

/*
 * Adds a parameter, which is the library's from here on, whatever the code: INITIALIZATION when
 * something is missing, ALREADY_EXIST for a name that is taken, NOT_SUPPORTED for a JSON object.
 */
DOCA_STABLE
doca_error_t doca_argp_register_param(struct doca_argp_param *input_param);

#ifdef __cplusplus
}
#endif

#endif /* DOCA_ARGP_H_ */
