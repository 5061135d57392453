/*
 * A program with flags of every type: prints the values of its callbacks, then the result. LEVELS=1
 * also prints the log levels. MANDATORY=1 makes two flags mandatory. NAMELESS=1 takes the program's
 * name from the command line.
 */
#include <stdbool.h>
#include <string.h>

#include <doca_argp.h>
#include <doca_log.h>

#include "check.h"

static int config;

static doca_error_t on_device(void *param, void *its_config)
{
	char *text = param;

	INSIST(its_config == &config);
	printf("device=%s\n", text);
	if (strcmp(text, "refused") == 0)
		return DOCA_ERROR_NOT_FOUND;
	memset(text, 'x', strlen(text));
	return DOCA_SUCCESS;
}

static doca_error_t on_number(void *param, void *its_config)
{
	INSIST(its_config == &config);
	printf("number=%d\n", *(int *)param);
	return DOCA_SUCCESS;
}

static doca_error_t on_all(void *param, void *its_config)
{
	INSIST(its_config == &config);
	printf("all=%d\n", *(bool *)param);
	return DOCA_SUCCESS;
}

static doca_error_t on_gid(void *param, void *its_config)
{
	INSIST(its_config == &config);
	printf("gid=%d\n", *(int *)param);
	return DOCA_SUCCESS;
}

static void add(const char *short_name, const char *long_name, const char *arguments,
		const char *description, enum doca_argp_type type, doca_argp_param_cb_t callback,
		bool mandatory)
{
	struct doca_argp_param *param;

	MUST(doca_argp_param_create(&param));
	if (short_name != NULL)
		doca_argp_param_set_short_name(param, short_name);
	doca_argp_param_set_long_name(param, long_name);
	if (arguments != NULL)
		doca_argp_param_set_arguments(param, arguments);
	doca_argp_param_set_description(param, description);
	doca_argp_param_set_callback(param, callback);
	doca_argp_param_set_type(param, type);
	if (mandatory)
		doca_argp_param_set_mandatory(param);
	MUST(doca_argp_register_param(param));
}

int main(int argc, char **argv)
{
	bool mandatory = getenv("MANDATORY") != NULL;
	doca_error_t result;

	MUST(doca_argp_init(getenv("NAMELESS") != NULL ? NULL : "flags-program", &config));
	add("d", "device", "<name>", "Which device", DOCA_ARGP_TYPE_STRING, on_device, mandatory);
	add("n", "number", "<count>", "How many", DOCA_ARGP_TYPE_INT, on_number, mandatory);
	add(NULL, "all", NULL, "Whether all", DOCA_ARGP_TYPE_BOOLEAN, on_all, false);
	add("gid", "gid-index", "<index>", "Which GID", DOCA_ARGP_TYPE_INT, on_gid, false);
	/* Without a line feed: the output must still precede the library's when the parse exits. */
	printf("before ");
	result = doca_argp_start(argc, argv);
	if (getenv("LEVELS") != NULL)
		printf("%u %u\n", doca_log_level_get_global_lower_limit(),
		       doca_log_level_get_global_sdk_limit());
	printf("%s\n", doca_error_get_name(result));
	MUST(doca_argp_destroy());
	return result == DOCA_SUCCESS ? 0 : 1;
}
