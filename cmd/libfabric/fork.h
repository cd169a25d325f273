// What symbols.c needs in a child of fork(2).
#ifndef GF_CHILD_H
#define GF_CHILD_H

// gf_used is set with the first call that opens something or looks for it.
extern int gf_used;

// gf_child_symbol returns a symbol of a fresh copy of this library; NULL if the parent had used it, or there can be no copy.
void *gf_child_symbol(const char *name, const char *version);

// GF_CHILD calls the same function of the copy, or has the value otherwise.
#define GF_CHILD(type, otherwise, name, version, params, args)                                                                                                 \
	do {                                                                                                                                                   \
		if (__builtin_expect(gf_forked, 0)) {                                                                                                          \
			type(*fn) params = (type(*) params)gf_child_symbol(name, version);                                                                     \
			return fn ? fn args : (otherwise);                                                                                                     \
		}                                                                                                                                              \
	} while (0)

#endif
