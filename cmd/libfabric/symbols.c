//go:build linux

// The symbols of libfabric.so.1 with their versions (fabric(7), libfabric's ABI). Older versions of a call have
// shorter structures.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "_cgo_export.h"
#include "fork.h"
#include "gf.h"

#define VERSIONED(alias, name, version) __asm__(".symver " #alias ", " #name "@" #version)
#define DEFAULT(alias, name, version) __asm__(".symver " #alias ", " #name "@@" #version)

typedef struct fi_info info_t;

#define GETINFO(abi, attach)                                                                                                                                   \
	int gf_getinfo_##abi(uint32_t version, const char *node, const char *service, uint64_t flags, const info_t *hints, info_t **info)                      \
	{                                                                                                                                                      \
		GF_CHILD(int, -FI_EOPBADSTATE, "fi_getinfo", "FABRIC_1." #abi, (uint32_t, const char *, const char *, uint64_t, const info_t *, info_t **),    \
			 (version, node, service, flags, hints, info));                                                                                        \
		gf_used = 1;                                                                                                                                   \
		gf_enter();                                                                                                                                    \
		return goGetInfo(abi, version, (char *)node, (char *)service, flags, (info_t *)hints, info);                                                   \
	}                                                                                                                                                      \
	info_t *gf_dupinfo_##abi(const info_t *info)                                                                                                           \
	{                                                                                                                                                      \
		GF_CHILD(info_t *, NULL, "fi_dupinfo", "FABRIC_1." #abi, (const info_t *), (info));                                                            \
		gf_enter();                                                                                                                                    \
		return goDupInfo(abi, (info_t *)info);                                                                                                         \
	}                                                                                                                                                      \
	void gf_freeinfo_##abi(info_t *info)                                                                                                                   \
	{                                                                                                                                                      \
		if (!gf_forked) {                                                                                                                              \
			gf_enter();                                                                                                                            \
			goFreeInfo(info);                                                                                                                      \
			return;                                                                                                                                \
		}                                                                                                                                              \
		void (*fn)(info_t *) = (void (*)(info_t *))gf_child_symbol("fi_freeinfo", "FABRIC_1." #abi);                                                   \
		if (fn)                                                                                                                                        \
			fn(info);                                                                                                                              \
	}                                                                                                                                                      \
	attach(gf_getinfo_##abi, fi_getinfo, FABRIC_1.abi);                                                                                                    \
	attach(gf_dupinfo_##abi, fi_dupinfo, FABRIC_1.abi);                                                                                                    \
	attach(gf_freeinfo_##abi, fi_freeinfo, FABRIC_1.abi)

GETINFO(0, VERSIONED);
GETINFO(1, VERSIONED);
GETINFO(2, VERSIONED);
GETINFO(3, VERSIONED);
GETINFO(7, VERSIONED);
GETINFO(8, VERSIONED);
GETINFO(9, VERSIONED);
GETINFO(10, DEFAULT);

int gf_fabric_0(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	GF_CHILD(int, -FI_EOPBADSTATE, "fi_fabric", "FABRIC_1.0", (struct fi_fabric_attr *, struct fid_fabric **, void *), (attr, fabric, context));
	gf_used = 1;
	gf_enter();
	return goFabric(0, attr, (void **)fabric, 0, context);
}
int gf_fabric_1(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	GF_CHILD(int, -FI_EOPBADSTATE, "fi_fabric", "FABRIC_1.1", (struct fi_fabric_attr *, struct fid_fabric **, void *), (attr, fabric, context));
	gf_used = 1;
	gf_enter();
	return goFabric(1, attr, (void **)fabric, 0, context);
}
int gf_fabric2(struct fi_info *info, struct fid_fabric **fabric, uint64_t flags, void *context)
{
	GF_CHILD(int, -FI_EOPBADSTATE, "fi_fabric2", "FABRIC_1.8", (struct fi_info *, struct fid_fabric **, uint64_t, void *), (info, fabric, flags, context));
	gf_used = 1;
	gf_enter();
	return info && info->fabric_attr ? goFabric(1, info->fabric_attr, (void **)fabric, flags, context) : -FI_EINVAL;
}
VERSIONED(gf_fabric_0, fi_fabric, FABRIC_1.0);
DEFAULT(gf_fabric_1, fi_fabric, FABRIC_1.1);
DEFAULT(gf_fabric2, fi_fabric2, FABRIC_1.8);

uint32_t gf_version(void) { return 2 << 16 | 6; }
DEFAULT(gf_version, fi_version, FABRIC_1.0);

int gf_open(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags, struct fid **fid, void *context) { return -FI_ENOSYS; }
DEFAULT(gf_open, fi_open, FABRIC_1.5);

// fi_strerror returns a text that Go copied to C memory once. A buffer for each thread would need thread-local
// storage, of which dlopen(3) has little left.
const char *gf_strerror(int errnum)
{
	GF_CHILD(const char *, "Call in a child of fork", "fi_strerror", "FABRIC_1.0", (int), (errnum));
	gf_enter();
	return goErrText(errnum);
}
DEFAULT(gf_strerror, fi_strerror, FABRIC_1.0);

char *gf_tostr_r(char *buf, size_t len, const void *data, int type)
{
	GF_CHILD(char *, NULL, "fi_tostr_r", "FABRIC_1.4", (char *, size_t, const void *, int), (buf, len, data, type));
	gf_enter();
	return goToStr(buf, len, (void *)data, type);
}
DEFAULT(gf_tostr_r, fi_tostr_r, FABRIC_1.4);

// fi_tostr may overwrite its buffer with the next call, of any thread.
char *gf_tostr(const void *data, int type)
{
	static char text[16384];
	return gf_tostr_r(text, sizeof text, data, type);
}
DEFAULT(gf_tostr, fi_tostr, FABRIC_1.0);
