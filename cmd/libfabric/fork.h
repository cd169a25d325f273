// The part of fork.c that symbols.c uses in a child of fork(2).
#ifndef GF_CHILD_H
#define GF_CHILD_H

// gf_used is set by the first call that opens or searches for an object.
extern int gf_used;

// gf_child_symbol returns a symbol of a fresh copy of this library, NULL if the parent had used the library or a
// copy is not possible.
void *gf_child_symbol(const char *name, const char *version);

// GF_CHILD calls the same function of the copy, or else has the given value.
#define GF_CHILD(type, otherwise, name, version, params, args)                                                                                                 \
	do {                                                                                                                                                   \
		if (__builtin_expect(gf_forked, 0)) {                                                                                                          \
			type(*fn) params = (type(*) params)gf_child_symbol(name, version);                                                                     \
			return fn ? fn args : (otherwise);                                                                                                     \
		}                                                                                                                                              \
	} while (0)

#endif
