// Loads the library with dlopen(3) in a process with almost no static thread-local storage left, as after loading
// other libraries. A library that needs more of it than is left cannot be loaded. Then it uses the library, and closes
// it, which has no effect.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>

static size_t tls;
static const char *path;

static int measure(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (strcmp(info->dlpi_name, path))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			tls = info->dlpi_phdr[i].p_memsz;
	return 1;
}

int main(int argc, char **argv)
{
	path = getenv("DROPIN_LIBRARY");
	for (int round = 0; round < 3; round++) {
		void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		struct fi_info *info = NULL;
		if (!lib) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
			struct fi_info **) = dlsym(lib, "fi_getinfo");
		void (*freeinfo)(struct fi_info *) = dlsym(lib, "fi_freeinfo");
		if (!getinfo || !freeinfo || getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info) || !info) {
			fprintf(stderr, "fi_getinfo in round %d\n", round);
			return 1;
		}
		freeinfo(info);
		dl_iterate_phdr(measure, NULL);
		dlclose(lib);
	}
	printf("%zu\n", tls);
	return 0;
}
