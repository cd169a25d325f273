//go:build linux

// Signals that somebody sends must find the application's threads, where its handlers are and its masks count (signal(7)).
//
// Go's threads start with all of them blocked: the first constructor here blocks them, the runtime starts in one of the next, and the last gives the
// loading thread its mask back. But the runtime keeps a few open on every thread that it runs on, those of the application included: its table of signals
// marks them. Of these, SIGCHLD, SIGPROF and SIGSTKFLT can be sent, and the marks are taken away before the runtime starts. SIGURG, with which the runtime
// interrupts its own threads, and system calls of the application with them, is switched off by the Makefile (asyncpreemptoff).
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include "gf.h"

static sigset_t mask_before;

// An entry of the runtime's table, whose index is the signal's number; the name is not ended by a NUL.
struct entry {
	int32_t flags;
	const char *name;
	int64_t len;
};

enum { UNBLOCK = 1 << 7 }; // in entry.flags

struct image {
	const char *base; // something in this library
	struct dl_phdr_info info;
};

static int find_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct image *im = arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && (uintptr_t)im->base >= at && (uintptr_t)im->base < at + p->p_memsz) {
			im->info = *info;
			return 1;
		}
	}
	return 0;
}

// inside says whether n bytes at p are of this library's own memory.
static int inside(const struct image *im, const void *p, size_t n)
{
	for (int i = 0; i < im->info.dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &im->info.dlpi_phdr[i];
		uintptr_t at = im->info.dlpi_addr + h->p_vaddr;
		if (h->p_type == PT_LOAD && (uintptr_t)p >= at && (uintptr_t)p + n <= at + h->p_memsz)
			return 1;
	}
	return 0;
}

static int named(const struct image *im, const struct entry *e, const char *name)
{
	size_t n = strlen(name);
	return e->len > (int64_t)n && e->len < 64 && inside(im, e->name, e->len) && !memcmp(e->name, name, n);
}

// clear_marks takes the marks away. The table has no symbol to link to, so it is known by the names in it; where it is not found nothing changes.
static void clear_marks(void)
{
	struct image im = {.base = (const char *)&mask_before};
	if (!dl_iterate_phdr(find_image, &im))
		return;
	for (int i = 0; i < im.info.dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &im.info.dlpi_phdr[i];
		if (h->p_type != PT_LOAD || !(h->p_flags & PF_W))
			continue;
		char *at = (char *)im.info.dlpi_addr + h->p_vaddr, *end = at + h->p_filesz;
		for (; at + 33 * sizeof(struct entry) <= end; at += 8) {
			struct entry *e = (struct entry *)at;
			if (e[SIGHUP].len != 28 || !named(&im, &e[SIGHUP], "SIGHUP:") || !named(&im, &e[SIGCHLD], "SIGCHLD:") ||
			    !named(&im, &e[SIGPROF], "SIGPROF:") || !named(&im, &e[SIGSTKFLT], "SIGSTKFLT:"))
				continue;
			e[SIGCHLD].flags &= ~UNBLOCK;
			e[SIGPROF].flags &= ~UNBLOCK;
			e[SIGSTKFLT].flags &= ~UNBLOCK;
			return;
		}
	}
}

__attribute__((constructor(101))) static void block_signals(void)
{
	sigset_t all;
	sigfillset(&all);
	for (const int *s = (const int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, 0}; *s; s++)
		sigdelset(&all, *s); // these belong to the thread that causes them
	pthread_sigmask(SIG_BLOCK, &all, &mask_before);
	clear_marks();
}

static void after_fork(void) { gf_forked = 1; }

__attribute__((constructor)) static void restore_signals(void)
{
	pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
	pthread_atfork(NULL, NULL, after_fork);
}
