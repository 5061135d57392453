/*
 * A program with commands: prints the values of its callbacks, then the code of the parse.
 *
 * Flags: -d/--device TEXT, inherited; --peer NUMBER, repeatable; --list, only alone; --secret TEXT,
 * command line only; --internal, hidden. Commands: `net`, with --mtu NUMBER and the commands `add`
 * (-n/--name TEXT, mandatory) and `drop`; `run`, optionally followed by `again`; `debug`, hidden.
 *
 * The environment variable OPTIONS lists other calls: dpdk, version, validation, logger, silence,
 * usage, levels; and refuse-NAME, which makes callback NAME return NOT_PERMITTED.
 */
#include <stdbool.h>
#include <string.h>

#include <doca_argp.h>
#include <doca_version.h>

#include "check.h"

static int config;

static bool has(const char *option)
{
	const char *options = getenv("OPTIONS");

	return options != NULL && strstr(options, option) != NULL;
}

static doca_error_t answer(const char *of)
{
	char refusal[64];

	snprintf(refusal, sizeof(refusal), "refuse-%s", of);
	return has(refusal) ? DOCA_ERROR_NOT_PERMITTED : DOCA_SUCCESS;
}

#define TEXT_CALLBACK(name)                                          \
	static doca_error_t on_##name(void *param, void *its_config) \
	{                                                            \
		INSIST(its_config == &config);                       \
		printf(#name "=%s\n", (char *)param);                \
		return answer(#name);                                \
	}
#define NUMBER_CALLBACK(name)                                        \
	static doca_error_t on_##name(void *param, void *its_config) \
	{                                                            \
		INSIST(its_config == &config);                       \
		printf(#name "=%d\n", *(int *)param);                \
		return answer(#name);                                \
	}
#define BOOL_CALLBACK(name)                                          \
	static doca_error_t on_##name(void *param, void *its_config) \
	{                                                            \
		INSIST(its_config == &config);                       \
		printf(#name "=%d\n", *(bool *)param);               \
		return answer(#name);                                \
	}
#define COMMAND_CALLBACK(name)                          \
	static doca_error_t do_##name(void *its_config) \
	{                                               \
		INSIST(its_config == &config);          \
		printf("do " #name "\n");               \
		return answer(#name);                   \
	}

TEXT_CALLBACK(device)
NUMBER_CALLBACK(peer)
BOOL_CALLBACK(list)
TEXT_CALLBACK(secret)
BOOL_CALLBACK(internal)
NUMBER_CALLBACK(mtu)
TEXT_CALLBACK(name)
COMMAND_CALLBACK(add)
COMMAND_CALLBACK(drop)
COMMAND_CALLBACK(run)
COMMAND_CALLBACK(again)
COMMAND_CALLBACK(debug)
COMMAND_CALLBACK(validation)

static doca_error_t on_version(void *param, void *its_config)
{
	INSIST(its_config == &config && *(bool *)param);
	printf("version %s\n", strcmp(doca_version(), doca_version_runtime()) == 0 ? "as built" :
										     "another");
	return answer("version");
}

static doca_error_t on_dpdk(int argc, char **argv)
{
	int i;

	INSIST(argv[argc] == NULL);
	/* DPDK also changes the order. */
	for (i = argc - 1; i > 0; i--) {
		printf("dpdk %s\n", argv[i]);
		argv[i] = NULL;
	}
	return answer("dpdk");
}

static doca_error_t on_message(enum doca_log_level level, const char *format, va_list args)
{
	va_list again;

	va_copy(again, args);
	printf("level %d: ", (int)level);
	vprintf(format, args);
	printf("; again: ");
	vprintf(format, again);
	va_end(again);
	puts("");
	return DOCA_ERROR_UNEXPECTED;
}

static struct doca_argp_param *flag(const char *short_name, const char *long_name,
				    const char *description, enum doca_argp_type type,
				    doca_argp_param_cb_t callback)
{
	struct doca_argp_param *param;

	MUST(doca_argp_param_create(&param));
	doca_argp_param_set_short_name(param, short_name);
	doca_argp_param_set_long_name(param, long_name);
	doca_argp_param_set_description(param, description);
	doca_argp_param_set_type(param, type);
	doca_argp_param_set_callback(param, callback);
	return param;
}

static struct doca_argp_cmd *command(const char *name, const char *description,
				     doca_argp_cmd_cb_t callback)
{
	struct doca_argp_cmd *cmd;

	MUST(doca_argp_cmd_create(&cmd));
	doca_argp_cmd_set_name(cmd, name);
	doca_argp_cmd_set_description(cmd, description);
	doca_argp_cmd_set_callback(cmd, callback);
	return cmd;
}

static void flags_of_the_program(void)
{
	struct doca_argp_param *param;

	param = flag("d", "device", "Which device", DOCA_ARGP_TYPE_STRING, on_device);
	doca_argp_param_set_inherited(param);
	MUST(doca_argp_register_param(param));
	param = flag(NULL, "peer", "Which peer", DOCA_ARGP_TYPE_INT, on_peer);
	doca_argp_param_set_multiplicity(param);
	MUST(doca_argp_register_param(param));
	param = flag(NULL, "list", "List devices", DOCA_ARGP_TYPE_BOOLEAN, on_list);
	doca_argp_param_set_singular(param);
	MUST(doca_argp_register_param(param));
	param = flag(NULL, "secret", "A key", DOCA_ARGP_TYPE_STRING, on_secret);
	doca_argp_param_set_cli_only(param);
	MUST(doca_argp_register_param(param));
	param = flag(NULL, "internal", "For tests", DOCA_ARGP_TYPE_BOOLEAN, on_internal);
	doca_argp_param_set_hidden(param);
	MUST(doca_argp_register_param(param));
}

static void commands_of_the_program(void)
{
	struct doca_argp_cmd *net = command("net", "Change networks", NULL), *cmd;
	struct doca_argp_param *param;

	MUST(doca_argp_cmd_register_param(
		net, flag(NULL, "mtu", "How long packets are", DOCA_ARGP_TYPE_INT, on_mtu)));
	cmd = command("add", "Add a network", do_add);
	param = flag("n", "name", "Which one", DOCA_ARGP_TYPE_STRING, on_name);
	doca_argp_param_set_mandatory(param);
	MUST(doca_argp_cmd_register_param(cmd, param));
	MUST(doca_argp_cmd_register_cmd(net, cmd));
	MUST(doca_argp_cmd_register_cmd(net, command("drop", "Drop all networks", do_drop)));
	MUST(doca_argp_register_cmd(net));

	cmd = command("run", "Run", do_run);
	MUST(doca_argp_cmd_register_cmd(cmd, command("again", "Once more", do_again)));
	MUST(doca_argp_register_cmd(cmd));
	cmd = command("debug", "For tests", do_debug);
	doca_argp_cmd_set_hidden(cmd);
	MUST(doca_argp_register_cmd(cmd));
}

int main(int argc, char **argv)
{
	doca_error_t result;
	int level, sdk_level;

	MUST(doca_argp_init("commands", &config));
	flags_of_the_program();
	if (!has("flags-only"))
		commands_of_the_program();
	if (has("dpdk"))
		doca_argp_set_dpdk_program(on_dpdk);
	if (has("version"))
		MUST(doca_argp_register_version_callback(on_version));
	if (has("validation"))
		MUST(doca_argp_register_validation_callback(do_validation));
	if (has("logger"))
		MUST(doca_argp_register_logger_callback(on_message));
	if (has("silence"))
		MUST(doca_argp_disable_logger_callback());
	if (has("usage"))
		doca_argp_usage();
	result = doca_argp_start(argc, argv);
	if (has("levels")) {
		MUST(doca_argp_get_log_level(&level));
		MUST(doca_argp_get_sdk_log_level(&sdk_level));
		printf("levels %d %d\n", level, sdk_level);
	}
	printf("%s\n", doca_error_get_name(result));
	MUST(doca_argp_destroy());
	return result == DOCA_SUCCESS ? 0 : 1;
}
