// Prints what a C compiler makes of the operations of fi_atomic(3), for TestNative:
//   gcc -O1 -fwrapv -ffp-contract=off -o native native.c && ./native | gzip -9n > native.txt.gz     (on x86-64, whose long double is the one of this package)
// A type's lines are "type N", then hexadecimal memory: "target", "operand", "compare", and for each operation's number what it leaves of target.
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MIN, MAX, SUM, PROD, LOR, LAND, BOR, BAND, LXOR, BXOR, READ, WRITE, CSWAP, NE, LE, LT, GE, GT, MSWAP, DIFF };

static uint64_t state = 88172645463325252u;
static uint64_t rnd(void) {
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void hex(const char *name, const void *p, size_t n) {
	printf("%s ", name);
	for (size_t i = 0; i < n; i++)
		printf("%02x", ((const unsigned char *)p)[i]);
	printf("\n");
}

static void result(int op, const void *p, size_t n) {
	char name[8];
	snprintf(name, sizeof name, "%d", op);
	hex(name, p, n);
}

// EACH does one statement on all elements of a copy of the target; d is the target, s the operand, c what to compare with.
#define EACH(op, used, stmt) do { \
	memcpy(r, t, sizeof t); \
	for (int i = 0; i < N; i++) { \
		T d = t[i], s = o[i], c = m[i]; (void)c; (void)s; \
		stmt; \
		memcpy(&r[i], &d, used); \
	} \
	result(op, r, sizeof r); \
} while (0)

#define COMMON(used) \
	EACH(SUM, used, d += s); EACH(PROD, used, d *= s); EACH(DIFF, used, d -= s); EACH(LOR, used, d = d || s); EACH(LAND, used, d = d && s); \
	EACH(LXOR, used, d = (d && !s) || (!d && s)); EACH(NE, used, if (c != d) d = s)
#define ORDER(used) \
	EACH(MIN, used, if (d > s) d = s); EACH(MAX, used, if (d < s) d = s); EACH(LE, used, if (c <= d) d = s); EACH(LT, used, if (c < d) d = s); \
	EACH(GE, used, if (c >= d) d = s); EACH(GT, used, if (c > d) d = s)
#define BITS(used) \
	EACH(BOR, used, d |= s); EACH(BAND, used, d &= s); EACH(BXOR, used, d ^= s); EACH(MSWAP, used, d = (s & c) | (d & ~c))

#define START(id) \
	memset(t, 0, sizeof t); memset(o, 0, sizeof o); memset(m, 0, sizeof m); memset(r, 0, sizeof r);
#define SHOW(id) \
	printf("type %d\n", id); hex("target", t, sizeof t); hex("operand", o, sizeof o); hex("compare", m, sizeof m)

#define INTEGER(name, type, id) static void name(void) { \
	typedef type T; enum { N = 24 }; static T t[N], o[N], m[N], r[N]; START(id) \
	for (int i = 0; i < N; i++) { \
		T v[3]; \
		for (int k = 0; k < 3; k++) { \
			v[k] = (T)rnd() * (T)rnd(); \
			switch (rnd() % 6) { case 0: v[k] = 0; break; case 1: v[k] = (T)-1; break; case 2: v[k] = (T)1 << (8 * sizeof(T) - 1); break; case 3: v[k] %= 4; } \
		} \
		t[i] = v[0]; o[i] = v[1]; m[i] = rnd() % 3 ? v[2] : v[0]; \
	} \
	SHOW(id); COMMON(sizeof(T)); ORDER(sizeof(T)); BITS(sizeof(T)); }

// Specials of a real type: its limits, and neighbours of them.
#define REAL(name, type, id, used, max, min, tiny, eps) static void name(void) { \
	typedef type T; enum { K = 20, N = K * K + 80 }; static T t[N], o[N], m[N], r[N]; START(id) \
	T x[K] = {0, -(T)0, 1, -1, max, -max, min, -min, tiny, -tiny, INFINITY, -INFINITY, NAN, 1 + eps, -1 - eps, 3, min / 2, (T)1 / 3, eps / 2, max / 2}; \
	x[1] = -x[0]; \
	for (int i = 0; i < N; i++) { \
		T a = x[i % K], b = x[i / K % K]; \
		if (i >= K * K) { \
			int e = (int)(rnd() % 200) - 100; \
			a = (T)(rnd() >> 1) * (rnd() % 2 ? 1 : -1); \
			b = (T)((type)(rnd() >> 1) * (e < 0 ? eps : 1) + (type)(e % 2)); \
		} \
		memcpy(&t[i], &a, used); memcpy(&o[i], &b, used); \
		T c = rnd() % 3 ? x[rnd() % K] : a; memcpy(&m[i], &c, used); \
	} \
	SHOW(id); COMMON(used); ORDER(used); }

// Complex numbers of few bits, whose products are exact.
#define COMPLEX(name, type, id, part, used) static void name(void) { \
	typedef type complex T; enum { N = 40 }; static T t[N], o[N], m[N], r[N]; START(id) \
	for (int i = 0; i < N; i++) { \
		T *to[3] = {t, o, m}; \
		for (int k = 0; k < 3; k++) { \
			type re = (type)((int)(rnd() % 9) - 4) / 4, im = (type)((int)(rnd() % 9) - 4) * 8; \
			memcpy((char *)&to[k][i], &re, used); memcpy((char *)&to[k][i] + part, &im, used); \
		} \
		if (rnd() % 3 == 0) m[i] = t[i]; \
		if (rnd() % 6 == 0) memset(&o[i], 0, sizeof o[i]); \
	} \
	SHOW(id); \
	COMMON(2 * part); }

INTEGER(i8, int8_t, 0)
INTEGER(u8, uint8_t, 1)
INTEGER(i16, int16_t, 2)
INTEGER(u16, uint16_t, 3)
INTEGER(i32, int32_t, 4)
INTEGER(u32, uint32_t, 5)
INTEGER(i64, int64_t, 6)
INTEGER(u64, uint64_t, 7)
REAL(f32, float, 8, 4, FLT_MAX, FLT_MIN, FLT_TRUE_MIN, FLT_EPSILON)
REAL(f64, double, 9, 8, DBL_MAX, DBL_MIN, DBL_TRUE_MIN, DBL_EPSILON)
COMPLEX(c32, float, 10, 4, 4)
COMPLEX(c64, double, 11, 8, 8)
REAL(f80, long double, 12, 10, LDBL_MAX, LDBL_MIN, LDBL_TRUE_MIN, LDBL_EPSILON)
COMPLEX(c80, long double, 13, 16, 10)
INTEGER(i128, __int128, 14)
INTEGER(u128, unsigned __int128, 15)

int main(void) {
	i8(); u8(); i16(); u16(); i32(); u32(); i64(); u64();
	f32(); f64(); c32(); c64(); f80(); c80(); i128(); u128();
}
