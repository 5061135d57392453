/* A plugin that a service must refuse: each macro selects one fault; without a macro it is
 * valid. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef VERSION_IS_DATA
/* Hides the header's declaration. */
#define urom_plugin_get_version declared_by_the_header
#endif
#include "quiet.h"
#undef urom_plugin_get_version

static doca_error_t odd_open(struct urom_worker_ctx *ctx)
{
	(void)ctx;
	return DOCA_SUCCESS;
}

__attribute__((constructor)) static void loaded(void)
{
#if defined(LOAD_CRASHES)
	fputs("cannot go on\n", stderr);
	abort();
#elif defined(LOAD_EXITS)
	exit(3);
#elif defined(LOAD_HANGS)
	for (;;)
		pause();
#elif defined(LOAD_PRINTS)
	puts("{\"Version\":99}\nLoaded");
	fflush(stdout);
#endif
}

#ifdef EXIT_CRASHES
__attribute__((destructor)) static void unloaded(void)
{
	abort();
}
#endif

#ifdef UNDEFINED
extern void nobody_has_this(void);
#endif

#ifdef MORE_EXPORTS
int spare_of_odd_plugin(void)
{
	return 1;
}
#endif

#ifndef NO_IFACE
doca_error_t urom_plugin_get_iface(struct urom_plugin_iface *iface)
{
	doca_error_t result = quiet_get_iface(iface, odd_open);

#ifdef UNDEFINED
	nobody_has_this();
#endif
#ifdef IFACE_FAILS
	result = DOCA_ERROR_NO_MEMORY;
#endif
#ifdef IFACE_CRASHES
	abort();
#endif
#ifdef NO_WORD
	iface->__doca_api_version = 0;
#endif
#ifdef OLD_WORD
	iface->__doca_api_version = (size_t)2 << 24 | 6 << 16;
#endif
#ifdef NO_METHODS
	iface->addr = NULL;
	iface->progress = NULL;
#endif
	return result;
}
#endif

#if defined(VERSION_IS_DATA)
uint64_t urom_plugin_get_version = 1;
#elif defined(TWO_VERSIONS)
doca_error_t version_one(uint64_t *version)
{
	return quiet_get_version(version);
}

doca_error_t version_two(uint64_t *version)
{
	*version = 2;
	return DOCA_SUCCESS;
}

__asm__(".symver version_one, urom_plugin_get_version@ONE");
__asm__(".symver version_two, urom_plugin_get_version@@TWO");
#elif !defined(NO_VERSION)
doca_error_t urom_plugin_get_version(uint64_t *version)
{
#ifdef VERSION_CRASHES
	abort();
#endif
#ifdef VERSION_FAILS
	return DOCA_ERROR_BAD_STATE;
#endif
	return quiet_get_version(version);
}
#endif
