//go:build linux

// A child of fork(2) has none of the threads of Go, so what the parent opened is of no use there. But a program that has not asked for anything yet,
// as one that forks its workers first, is served in the child by a fresh copy of this library: another object to the dynamic linker, with a Go of its own.
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

// open_copy loads the file of this library again from memory: a file that is the same would be the same library to dlopen(3).
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
