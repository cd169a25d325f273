//go:build linux

// Signals to the process must reach the application's threads, which have its handlers and masks (signal(7)).
//
// Go's threads start with all signals blocked. The first constructor here blocks them, the runtime starts in a
// later one, and the last constructor restores the mask of the loading thread. But the runtime unblocks a few
// signals on every thread that enters it, the application's included; its table of signals marks them. Of these,
// processes send SIGCHLD, SIGPROF and SIGSTKFLT. Their marks are removed before the runtime starts. The Makefile
// disables SIGURG (asyncpreemptoff), with which the runtime interrupts its own threads, and with them system calls
// of the application.
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include "gf.h"

static sigset_t mask_before;

// An entry of the runtime's table, whose index is the signal's number. The name has no NUL at its end.
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

// inside reports whether n bytes at p are memory of this library.
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

// clear_marks removes the marks. The table has no symbol, so that the function recognizes it by the names in it. If
// it finds no table, it changes nothing.
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
		sigdelset(&all, *s); // a fault belongs to the thread that causes it
	pthread_sigmask(SIG_BLOCK, &all, &mask_before);
	clear_marks();
}

static void after_fork(void) { gf_forked = 1; }

__attribute__((constructor)) static void restore_signals(void)
{
	pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
	pthread_atfork(NULL, NULL, after_fork);
}
