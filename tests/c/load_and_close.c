/*
 * Loads the library with dlopen() and closes it while its threads may still run: the code must stay
 * mapped.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "";
	void *library;

	if (dlopen(path, RTLD_NOW | RTLD_NOLOAD) != NULL) {
		printf("%s is loaded already\n", path);
		return 1;
	}
	library = dlopen(path, RTLD_NOW);
	if (library == NULL) {
		printf("%s\n", dlerror());
		return 1;
	}
	if (dlclose(library) != 0 || dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL) {
		printf("%s is gone\n", path);
		return 1;
	}
	return 0;
}
