/*
 * Loads libraries in the order of the arguments and makes a service with each library that has
 * UROM. Exits with 2 if an engine refuses a service's context.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <doca_ctx.h>
#include <doca_error.h>
#include <doca_pe.h>

#include "check.h"

struct doca_urom_service;

static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		exit(127);
	}
	return library;
}

static int use(void *urom)
{
	doca_error_t (*create)(struct doca_urom_service **) = NULL;
	doca_error_t (*destroy)(struct doca_urom_service *) = NULL;
	struct doca_ctx *(*as_ctx)(struct doca_urom_service *) = NULL;
	enum doca_ctx_states state = DOCA_CTX_STATE_STOPPING;
	struct doca_urom_service *service;
	struct doca_pe *pe;
	doca_error_t code;

	*(void **)&create = dlsym(urom, "doca_urom_service_create");
	*(void **)&destroy = dlsym(urom, "doca_urom_service_destroy");
	*(void **)&as_ctx = dlsym(urom, "doca_urom_service_as_ctx");
	if (create == NULL)
		return 0; /* another library */
	MUST(create(&service));
	MUST(doca_pe_create(&pe));
	code = doca_pe_connect_ctx(pe, as_ctx(service));
	printf("connect: %s\n", doca_error_get_name(code));
	if (code == DOCA_SUCCESS) {
		MUST(doca_ctx_get_state(as_ctx(service), &state));
		printf("%s\n", state == DOCA_CTX_STATE_IDLE ? "idle" : "not idle");
	}
	fflush(stdout);
	MUST(destroy(service));
	MUST(doca_pe_destroy(pe));
	return code == DOCA_SUCCESS ? 0 : 2;
}

int main(int argc, char **argv)
{
	int result = 0;

	for (int i = 1; i < argc && result == 0; i++)
		result = use(load(argv[i]));
	return result;
}
