/*
 * Logs as the first argument selects; the tests check the output. Exits with 0 if every call
 * returned the expected value.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <doca_dev.h>
#include <doca_error.h>
#define DOCA_LOGGING_ALLOW_TRACE
#include <doca_log.h>

#include "check.h"

DOCA_LOG_REGISTER(LOG::HOST);

static int early_source, early_sources_differ;
static doca_error_t early_log;

/* The priority of DOCA_LOG_REGISTER: runs before other code of this program. */
__attribute__((constructor(101))) static void early(void)
{
	int other = 0;

	if (doca_log_register_source("LOG::EARLY", &early_source) == DOCA_SUCCESS &&
	    doca_log_register_source("LOG::OTHER", &other) == DOCA_SUCCESS)
		early_sources_differ = early_source != other;
	early_log = getenv("LOG_EARLY") == NULL
			    ? DOCA_SUCCESS
			    : doca_log(DOCA_LOG_LEVEL_ERROR, early_source, __FILE__, __LINE__,
				       __func__, "before main");
}

static void one_of_each(void)
{
	DOCA_LOG_CRIT("this is %s", "crit");
	DOCA_LOG_ERR("this is %s", "err");
	DOCA_LOG_WARN("this is %s", "warn");
	DOCA_LOG_INFO("this is %s", "info");
	DOCA_LOG_DBG("this is %s", "dbg");
	DOCA_LOG_TRC("this is %s", "trc");
}

static void standard(const char *lower, const char *upper)
{
	INSIST(doca_log_level_get_global_lower_limit() == DOCA_LOG_LEVEL_INFO);
	INSIST(doca_log_level_get_global_upper_limit() == DOCA_LOG_LEVEL_CRIT);
	INSIST(doca_log_level_get_global_sdk_limit() == DOCA_LOG_LEVEL_INFO);
	INSIST(doca_log_backend_create_standard() == DOCA_SUCCESS);
	INSIST(doca_log_backend_create_standard() == DOCA_SUCCESS);
	INSIST(doca_log_level_set_global_lower_limit(atoi(lower)) == DOCA_SUCCESS);
	INSIST(doca_log_level_set_global_upper_limit(atoi(upper)) == DOCA_SUCCESS);
	INSIST(doca_log_level_get_global_lower_limit() == (uint32_t)atoi(lower));
	one_of_each();
}

/* printf conversions, with more arguments than registers. */
static void conversions(void)
{
	int stars = 6;

	INSIST(doca_log_backend_create_standard() == DOCA_SUCCESS);
	DOCA_LOG_INFO("%d %i %u %o %x %X %c %s %p %%", -1, 2, 3u, 8, 255, 255, 'c', "str",
		      (void *)NULL);
	DOCA_LOG_INFO("%hhd %hd %ld %lld %zu %jd %td", (signed char)-3, (short)-4, -5L, -6LL,
		      (size_t)7, (intmax_t)8, (ptrdiff_t)9);
	DOCA_LOG_INFO("%f %.2f %e %g %a %Lf %d %f", 1.5, 2.345, 10.0, 0.5, 1.0, 2.5L, 42, 9.5);
	DOCA_LOG_INFO("[%5d|%-5d|%05d|%+d|%*d|%.3s|%ls]", 1, 2, 3, 4, stars, 5, "abcdef", L"wide");
	DOCA_LOG_INFO("%.1f %d %.1f %d %.1f %d %.1f %d %.1f %d %.1f %d", 0.1, 1, 0.2, 2, 0.3, 3,
		      0.4, 4, 0.5, 5, 0.6, 6);
	DOCA_LOG_INFO("%3$s %1$s %2$s", "b", "c", "a");
	errno = ENOENT;
	DOCA_LOG_INFO("%m");
	INSIST(errno == ENOENT);
	DOCA_LOG_INFO("one\ntwo\ttabs \033[31mred\n");
	DOCA_LOG_INFO("not UTF-8: \xff.");
	DOCA_LOG_INFO("%s", "");
}

static void lines_of(size_t len, size_t count)
{
	char *text = malloc(len + 1);

	INSIST(text != NULL && doca_log_backend_create_standard() == DOCA_SUCCESS);
	memset(text, 'x', len);
	text[len] = '\0';
	for (size_t i = 0; i < count; i++)
		DOCA_LOG_INFO("%s", text + i % 4);
	free(text);
}

static void *thread(void *number)
{
	int source;

	for (int i = 0; i < 500; i++) {
		INSIST(doca_log_register_source("LOG::THREAD", &source) == DOCA_SUCCESS);
		DOCA_LOG_INFO("thread %d line %d end", (int)(intptr_t)number, i);
		INSIST(doca_log_unregister_source(source) == DOCA_SUCCESS);
	}
	return NULL;
}

static void threads(void)
{
	pthread_t all[8];

	INSIST(doca_log_backend_create_standard() == DOCA_SUCCESS);
	for (intptr_t i = 0; i < 8; i++)
		INSIST(pthread_create(&all[i], NULL, thread, (void *)i) == 0);
	for (int i = 0; i < 8; i++)
		INSIST(pthread_join(all[i], NULL) == 0);
}

/* Between printf calls on a pipe, where stdio buffers the output. */
static void in_order(void)
{
	INSIST(doca_log_backend_create_standard() == DOCA_SUCCESS);
	for (int i = 0; i < 3; i++) {
		printf("printed %d\n", i);
		DOCA_LOG_INFO("logged %d", i);
	}
}

static void backends(const char *stream_path, const char *fd_path)
{
	struct doca_log_backend *stream, *fd;
	FILE *file = fopen(stream_path, "w");
	int descriptor = open(fd_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	INSIST(file != NULL && descriptor >= 0);
	INSIST(doca_log_backend_create_with_file(file, &stream) == DOCA_SUCCESS);
	INSIST(doca_log_backend_create_with_fd(descriptor, &fd) == DOCA_SUCCESS);
	INSIST(doca_log_backend_set_level_upper_limit(stream, DOCA_LOG_LEVEL_WARNING) ==
	       DOCA_SUCCESS);
	INSIST(doca_log_backend_set_level_lower_limit(stream, DOCA_LOG_LEVEL_TRACE) ==
	       DOCA_SUCCESS);
	INSIST(doca_log_backend_set_level_lower_limit_strict(fd, DOCA_LOG_LEVEL_TRACE) ==
	       DOCA_SUCCESS);
	INSIST(doca_log_backend_set_level_upper_limit_strict(fd, DOCA_LOG_LEVEL_DEBUG) ==
	       DOCA_SUCCESS);
	one_of_each();
}

/* An unknown device makes the library warn. */
static void make_it_warn(void)
{
	struct doca_devinfo **list;
	uint32_t count;

	INSIST(setenv("UROM_DEVICE", "bad device@nowhere", 1) == 0);
	INSIST(doca_devinfo_create_list(&list, &count) == DOCA_SUCCESS);
	INSIST(doca_devinfo_destroy_list(list) == DOCA_SUCCESS);
}

static void sdk(const char *path)
{
	struct doca_log_backend *backend;
	FILE *file = fopen(path, "w");

	INSIST(file != NULL);
	make_it_warn(); /* To standard error. */
	INSIST(doca_log_backend_create_with_file_sdk(file, &backend) == DOCA_SUCCESS);
	INSIST(doca_log_backend_set_sdk_level(backend, DOCA_LOG_LEVEL_WARNING) == DOCA_SUCCESS);
	make_it_warn(); /* To the file. */
	INSIST(doca_log_backend_set_sdk_level(backend, DOCA_LOG_LEVEL_ERROR) == DOCA_SUCCESS);
	make_it_warn(); /* Not at all. */
	INSIST(doca_log_level_set_global_sdk_limit(DOCA_LOG_LEVEL_TRACE) == DOCA_SUCCESS);
	make_it_warn();                 /* To the file. */
	DOCA_LOG_ERR("of the program"); /* To standard error: this backend is not the program's. */
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *first = argc > 2 ? argv[2] : "", *second = argc > 3 ? argv[3] : "";

	INSIST(log_source > 0 && early_source > 0 && early_sources_differ &&
	       early_log == DOCA_SUCCESS);
	INSIST(log_source != early_source);
	if (strcmp(what, "nothing set up") == 0)
		one_of_each();
	else if (strcmp(what, "standard") == 0)
		standard(first, second);
	else if (strcmp(what, "conversions") == 0)
		conversions();
	else if (strcmp(what, "long") == 0)
		lines_of(strtoul(first, NULL, 10), strtoul(second, NULL, 10));
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "in order") == 0)
		in_order();
	else if (strcmp(what, "backends") == 0)
		backends(first, second);
	else if (strcmp(what, "sdk") == 0)
		sdk(first);
	else
		INSIST(!"an argument that names the action");
	return 0;
}
