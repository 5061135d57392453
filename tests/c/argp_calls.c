/* Calls of doca_argp in valid and invalid order. The library writes to standard error. */
#include <string.h>

#include <doca_argp.h>

#include "check.h"

static int calls;

static doca_error_t count(void *param, void *config)
{
	(void)param;
	(void)config;
	calls++;
	return DOCA_SUCCESS;
}

/* Makes a parameter; NULL omits a property. */
static struct doca_argp_param *make(const char *short_name, const char *long_name,
				    const char *description, doca_argp_param_cb_t callback,
				    int type)
{
	struct doca_argp_param *param = NULL;

	MUST(doca_argp_param_create(&param));
	INSIST(param != NULL);
	doca_argp_param_set_short_name(param, short_name);
	doca_argp_param_set_long_name(param, long_name);
	doca_argp_param_set_arguments(param, "<value>");
	doca_argp_param_set_description(param, description);
	doca_argp_param_set_callback(param, callback);
	doca_argp_param_set_type(param, (enum doca_argp_type)type);
	return param;
}

static void registering(void)
{
	struct doca_argp_param *param;
	char buffer[] = "name";

	MUST(doca_argp_init("calls", NULL));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_init("calls", NULL));

	EXPECT(DOCA_ERROR_INITIALIZATION,
	       doca_argp_register_param(make(NULL, NULL, "x", count, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_INITIALIZATION,
	       doca_argp_register_param(make("a", "b", NULL, count, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_INITIALIZATION,
	       doca_argp_register_param(make("a", "b", "x", NULL, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_INITIALIZATION,
	       doca_argp_register_param(make("a", "b", "x", count, DOCA_ARGP_TYPE_UNKNOWN)));
	EXPECT(DOCA_ERROR_NOT_SUPPORTED,
	       doca_argp_register_param(make("a", "b", "x", count, DOCA_ARGP_TYPE_JSON_OBJ)));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_param(make("a", "b", "x", count, 77)));
	EXPECT(DOCA_ERROR_INVALID_VALUE,
	       doca_argp_register_param(make("-a", "b", "x", count, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_INVALID_VALUE,
	       doca_argp_register_param(make("a", "b c", "x", count, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_INVALID_VALUE,
	       doca_argp_register_param(make("a", "", "x", count, DOCA_ARGP_TYPE_INT)));

	/* Registering frees a refused parameter and takes ownership of an accepted parameter. */
	param = make("a", NULL, NULL, count, DOCA_ARGP_TYPE_INT);
	EXPECT(DOCA_ERROR_INITIALIZATION, doca_argp_register_param(param));
	doca_argp_param_set_description(param, "x");
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_param(param));
	param = make("a", buffer, "x", count, DOCA_ARGP_TYPE_INT);
	memset(buffer, 'z', sizeof(buffer) - 1);
	MUST(doca_argp_register_param(param));
	doca_argp_param_set_mandatory(param);
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_param(param));

	/* The library copied the texts, so the name has not changed. */
	EXPECT(DOCA_ERROR_ALREADY_EXIST,
	       doca_argp_register_param(make("q", "name", "x", count, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_ALREADY_EXIST,
	       doca_argp_register_param(make("a", "other", "x", count, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_ALREADY_EXIST,
	       doca_argp_register_param(make("l", "other", "x", count, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_ALREADY_EXIST,
	       doca_argp_register_param(make("q", "json", "x", count, DOCA_ARGP_TYPE_INT)));
	MUST(doca_argp_register_param(make("q", "zzzz", "x", count, DOCA_ARGP_TYPE_INT)));

	param = make("r", NULL, "x", count, DOCA_ARGP_TYPE_INT);
	MUST(doca_argp_destroy());
	doca_argp_param_set_mandatory(param);
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_param(param));
	MUST(doca_argp_init("calls", NULL));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_param(param));
	MUST(doca_argp_destroy());
}

static void starting(void)
{
	struct doca_argp_param *param;
	char *argv[] = {"program", "-a", "1", "--name=2", NULL, NULL};

	MUST(doca_argp_init(NULL, NULL));
	param = make("a", "name", "x", count, DOCA_ARGP_TYPE_INT);
	doca_argp_param_set_multiplicity(param);
	MUST(doca_argp_register_param(param));
	param = make("b", NULL, "x", count, DOCA_ARGP_TYPE_INT);
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_start(5, argv));
	calls = 0;
	MUST(doca_argp_start(4, argv));
	INSIST(calls == 2);
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_start(4, argv));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_param(param));
	INSIST(calls == 2);
	MUST(doca_argp_destroy());
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_destroy());
}

static doca_error_t run(void *config)
{
	(void)config;
	calls++;
	return DOCA_SUCCESS;
}

/* Makes a command; NULL omits a property. */
static struct doca_argp_cmd *make_cmd(const char *name, const char *description,
				      doca_argp_cmd_cb_t callback)
{
	struct doca_argp_cmd *cmd = NULL;

	MUST(doca_argp_cmd_create(&cmd));
	INSIST(cmd != NULL);
	doca_argp_cmd_set_name(cmd, name);
	doca_argp_cmd_set_description(cmd, description);
	doca_argp_cmd_set_callback(cmd, callback);
	return cmd;
}

static void commands(void)
{
	char buffer[] = "outer", *good[] = {"program", "outer", "-a", "1", "inner", NULL};
	struct doca_argp_param *param;
	struct doca_argp_cmd *cmd, *inner;

	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_cmd_create(&cmd));
	MUST(doca_argp_init("commands", NULL));
	EXPECT(DOCA_ERROR_INITIALIZATION, doca_argp_register_cmd(make_cmd(NULL, "x", run)));
	EXPECT(DOCA_ERROR_INITIALIZATION, doca_argp_register_cmd(make_cmd("a", NULL, run)));
	EXPECT(DOCA_ERROR_INITIALIZATION, doca_argp_register_cmd(make_cmd("a", "x", NULL)));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_cmd(make_cmd("", "x", run)));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_cmd(make_cmd("-a", "x", run)));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_cmd(make_cmd("a b", "x", run)));

	/* A command with subcommands needs no callback. */
	cmd = make_cmd(buffer, "x", NULL);
	memset(buffer, 'z', sizeof(buffer) - 1);
	param = make("a", NULL, "x", count, DOCA_ARGP_TYPE_INT);
	MUST(doca_argp_cmd_register_param(cmd, param));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_cmd_register_param(cmd, param));
	EXPECT(DOCA_ERROR_ALREADY_EXIST,
	       doca_argp_cmd_register_param(cmd, make("a", NULL, "x", count, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_ALREADY_EXIST,
	       doca_argp_cmd_register_param(cmd, make("h", NULL, "x", count, DOCA_ARGP_TYPE_INT)));
	EXPECT(DOCA_ERROR_INITIALIZATION,
	       doca_argp_cmd_register_param(cmd, make("b", NULL, "x", NULL, DOCA_ARGP_TYPE_INT)));
	inner = make_cmd("inner", "x", run);
	MUST(doca_argp_cmd_register_cmd(cmd, inner));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_cmd_register_cmd(cmd, inner));
	EXPECT(DOCA_ERROR_ALREADY_EXIST,
	       doca_argp_cmd_register_cmd(cmd, make_cmd("inner", "x", run)));

	/* Each pointer keeps its type until it is registered. */
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_param((void *)cmd));
	param = make("c", NULL, "x", count, DOCA_ARGP_TYPE_INT);
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_cmd((void *)param));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_cmd_destroy((void *)param));
	MUST(doca_argp_param_destroy(param));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_param_destroy(param));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_param(param));
	MUST(doca_argp_register_cmd(cmd));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_cmd(cmd));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_cmd_destroy(cmd));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_cmd_destroy(NULL));
	EXPECT(DOCA_ERROR_INVALID_VALUE,
	       doca_argp_cmd_register_cmd(cmd, make_cmd("late", "x", run)));
	/* A command cannot contain itself; the library freed it. */
	cmd = make_cmd("self", "x", run);
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_cmd_register_cmd(cmd, cmd));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_cmd(cmd));
	EXPECT(DOCA_ERROR_ALREADY_EXIST, doca_argp_register_cmd(make_cmd("outer", "x", run)));
	cmd = make_cmd("gone", "x", run);
	MUST(doca_argp_cmd_register_cmd(cmd, make_cmd("inner", "x", run)));
	MUST(doca_argp_cmd_destroy(cmd));

	cmd = make_cmd("late", "x", run);
	calls = 0;
	MUST(doca_argp_start(5, good));
	INSIST(calls == 2);
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_cmd(cmd));
	make_cmd("left", "x", run);
	MUST(doca_argp_destroy());
}

static doca_error_t no_logger(enum doca_log_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	calls++;
	return DOCA_SUCCESS;
}

static doca_error_t no_dpdk(int argc, char **argv)
{
	(void)argc, (void)argv;
	return DOCA_SUCCESS;
}

static void other_callbacks(void)
{
	char *argv[] = {"program", "--what", NULL};
	int level = 7;

	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_version_callback(count));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_validation_callback(run));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_logger_callback(no_logger));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_disable_logger_callback());
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_get_log_level(&level));
	MUST(doca_argp_init("callbacks", NULL));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_version_callback(NULL));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_validation_callback(NULL));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_register_logger_callback(NULL));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_get_log_level(&level));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_get_sdk_log_level(&level));
	INSIST(level == 7);
	calls = 0;
	MUST(doca_argp_register_logger_callback(no_logger));
	doca_argp_set_dpdk_program(NULL);
	INSIST(calls == 1);
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_argp_start(2, argv));
	INSIST(calls == 2);
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_get_log_level(NULL));
	EXPECT(DOCA_ERROR_INVALID_VALUE, doca_argp_get_sdk_log_level(NULL));
	MUST(doca_argp_get_log_level(&level));
	INSIST(level == (int)doca_log_level_get_global_lower_limit());
	MUST(doca_argp_get_sdk_log_level(&level));
	INSIST(level == (int)doca_log_level_get_global_sdk_limit());
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_version_callback(count));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_validation_callback(run));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_logger_callback(no_logger));
	calls = 0;
	doca_argp_set_dpdk_program(no_dpdk);
	INSIST(calls == 1);
	MUST(doca_argp_destroy());
}

static doca_error_t call_back(void *param, void *config)
{
	struct doca_argp_param *created;
	char *argv[] = {"program", NULL};

	(void)param;
	(void)config;
	/* The library does not hold a lock here, so these calls return. */
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_init("again", NULL));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_start(1, argv));
	MUST(doca_argp_param_create(&created));
	EXPECT(DOCA_ERROR_BAD_STATE, doca_argp_register_param(created));
	MUST(doca_argp_destroy());
	MUST(doca_argp_init("again", NULL));
	return DOCA_SUCCESS;
}

static void calling_from_a_callback(void)
{
	char *argv[] = {"program", "-a", "-b", NULL};

	calls = 0;
	MUST(doca_argp_init("callback", NULL));
	MUST(doca_argp_register_param(make("a", NULL, "x", call_back, DOCA_ARGP_TYPE_BOOLEAN)));
	MUST(doca_argp_register_param(make("b", NULL, "x", count, DOCA_ARGP_TYPE_BOOLEAN)));
	MUST(doca_argp_start(3, argv));
	INSIST(calls == 1);
	/* The instance that the callback started does not have flags. */
	EXPECT(DOCA_ERROR_NOT_SUPPORTED, doca_argp_start(3, argv));
	MUST(doca_argp_destroy());
}

int main(void)
{
	registering();
	starting();
	calling_from_a_callback();
	commands();
	other_callbacks();
	puts("done");
	return 0;
}
