//go:build linux

// A child of fork(2) has none of Go's threads, so that it cannot use objects that the parent opened. But if the
// parent has not called the library yet, as a program that forks its workers first, a fresh copy of this library
// serves the child. The copy is another object to the dynamic linker, and has a Go runtime of its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fork.h"

int gf_used;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *copy;

// open_copy loads this library's file again from memory: dlopen(3) of the same file would return the library
// itself.
static void open_copy(void)
{
	Dl_info self;
	struct stat st;
	char path[64];
	if (!dladdr((void *)open_copy, &self))
		return;
	int in = open(self.dli_fname, O_RDONLY | O_CLOEXEC), out = memfd_create("libfabric", MFD_CLOEXEC);
	if (in >= 0 && out >= 0 && !fstat(in, &st)) {
		off_t left = st.st_size;
		ssize_t n;
		while (left > 0 && (n = sendfile(out, in, NULL, left)) > 0)
			left -= n;
		snprintf(path, sizeof path, "/proc/self/fd/%d", out);
		if (!left)
			copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
}

void *gf_child_symbol(const char *name, const char *version)
{
	if (gf_used)
		return NULL;
	pthread_once(&once, open_copy);
	return copy ? dlvsym(copy, name, version) : NULL;
}
