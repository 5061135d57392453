/*
 * A process with DOCA's log, like NVIDIA's worker: a plugin must find the log and use it.
 *
 * Usage: c_log PLUGIN.so, where the plugin is worker_faulty or worker_talkative. Linked with
 * -rdynamic, to export the two functions to the plugin.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <doca_urom_plugin.h>

#define CHECK(rule)                                                                        \
	do {                                                                               \
		if (!(rule)) {                                                             \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #rule); \
			exit(1);                                                           \
		}                                                                          \
	} while (0)

#define SOURCE 7
#define LEVEL_WARNING 40
#define LEVEL_INFO 50

/* A command, and the line that the plugin then logs. */
struct trial {
	const char *name;
	uint64_t command[5];
	size_t len;
	int warnings;
	const char *last;
};

static const struct trial trials[] = {
	/* Fail, with DOCA_ERROR_NOT_FOUND. */
	{"worker_faulty",
	 {2, DOCA_ERROR_NOT_FOUND},
	 40,
	 1,
	 "connection 9 failed: the command asked for it (DOCA_ERROR_NOT_FOUND)"},
	/* SayElsewhere: through the crates log and tracing, on another thread. */
	{"worker_talkative", {1, 5}, 16, 2, "elsewhere by tracing 5"},
};

static const struct trial *trial;
static bool registered;
static int lines;
static char text[512];

doca_error_t doca_log_register_source(const char *source_name, int *source)
{
	CHECK(!registered && strcmp(source_name, trial->name) == 0);
	registered = true;
	*source = SOURCE;
	return DOCA_SUCCESS;
}

__attribute__((format(printf, 6, 7))) doca_error_t doca_log(uint32_t level, int source,
							    const char *file, int line,
							    const char *func, const char *format,
							    ...)
{
	va_list arguments;

	CHECK(registered && source == SOURCE);
	CHECK(strstr(file, ".rs") != NULL && line > 0 && strcmp(func, trial->name) == 0);
	/* A plugin logs that it opens. */
	if (level == LEVEL_INFO)
		return DOCA_SUCCESS;
	CHECK(level == LEVEL_WARNING);
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	lines++;
	return DOCA_SUCCESS;
}

int main(int argc, char **argv)
{
	struct urom_worker_ctx *ctx = calloc(1, sizeof(*ctx));
	struct urom_worker_cmd_desc *desc = malloc(sizeof(*desc) + sizeof(trial->command));
	doca_error_t (*get_iface)(struct urom_plugin_iface *iface);
	ucs_list_link_t commands;
	void *library;

	CHECK(argc == 2 && ctx != NULL && desc != NULL);
	trial = strstr(argv[1], trials[0].name) != NULL ? &trials[0] : &trials[1];
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	CHECK(library != NULL);
	*(void **)&get_iface = dlsym(library, "urom_plugin_get_iface");
	CHECK(get_iface != NULL && get_iface(&ctx->iface) == DOCA_SUCCESS);
	CHECK(ctx->iface.open(ctx) == DOCA_SUCCESS);

	desc->dest_id = 9;
	desc->worker_cmd.type = 1;
	desc->worker_cmd.urom_context = 1;
	desc->worker_cmd.len = trial->len;
	memcpy(desc->worker_cmd.plugin_cmd, trial->command, trial->len);
	ucs_list_head_init(&commands);
	ucs_list_add_tail(&commands, &desc->entry);
	CHECK(ctx->iface.worker_cmd(ctx, &commands) == DOCA_SUCCESS);
	ctx->iface.close(ctx);
	free(ctx);

	CHECK(lines == trial->warnings);
	CHECK(strstr(text, trial->last) != NULL);
	printf("the plugin found the log\n");
	return 0;
}
