// One-sided communication: put, get, accumulate and the atomic calls, with fences, locks and post-start-complete-wait,
// on windows of all kinds.
//
// Two arguments leave out what Open MPI 4.1 cannot do over btl ofi with any library. "fixed" uses no dynamic windows:
// osc rdma would wait for a lock that it holds itself. "sums" uses sums and replacements as the only operations:
// others, which btl ofi would get as atomics, end the program.
#include "check.h"

enum { BYTES = 1 << 20, CELLS = BYTES / 8 };

static MPI_Win win;
static unsigned char *mem; // this rank's window
static MPI_Aint base[8]; // start of each rank's window: 0, except with dynamic windows
static int every = 1;      // all operations, not only sums and replacing
static int moving = 1; // also test windows to which memory is attached later

static int right(void) { return (rank + 1) % ranks; }
static int left(void) { return (rank + ranks - 1) % ranks; }

// clean clears this rank's window, and waits for the other ranks.
static void clean(void)
{
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
	memset(mem, 0, BYTES);
	MPI_Win_unlock(rank, win);
	MPI_Barrier(MPI_COMM_WORLD);
}

static const int lengths[] = {1, 4, 8, 13, 64, 100, 1024, 4096, 16384, 50001, 200000, BYTES};
#define LENGTHS ((int)(sizeof lengths / sizeof lengths[0]))

static void fences(void)
{
	unsigned char *out = malloc(BYTES), *in = malloc(BYTES);
	CHECK(out && in);
	clean();
	MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	for (int i = 0; i < LENGTHS; i++) {
		int n = lengths[i];
		fill(out, n, rank + i);
		MPI_Put(out, n, MPI_BYTE, right(), base[right()], n, MPI_BYTE, win);
		MPI_Win_fence(0, win);
		CHECK(matches(mem, n, left() + i));
		memset(in, 0, n);
		MPI_Get(in, n, MPI_BYTE, right(), base[right()], n, MPI_BYTE, win);
		MPI_Win_fence(0, win);
		CHECK(matches(in, n, rank + i));
	}
	// Many at once: every rank writes its cells into all windows.
	long mine[100];
	for (int i = 0; i < 100; i++)
		mine[i] = rank * 1000 + i;
	for (int p = 0; p < ranks; p++)
		for (int i = 0; i < 100; i++)
			MPI_Put(&mine[i], 1, MPI_LONG, p, base[p] + 8 * (i * ranks + rank), 1, MPI_LONG, win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	for (int p = 0; p < ranks; p++)
		for (int i = 0; i < 100; i++)
			CHECK(((long *)mem)[i * ranks + p] == p * 1000 + i);
	MPI_Barrier(MPI_COMM_WORLD);
	free(out);
	free(in);
}

// With locks: no rank sees a part of an update under an exclusive lock, and readers share the lock.
static void locks(void)
{
	enum { ROUNDS = 20 };
	long v[2], sum = 0;
	clean();
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Get(v, 2, MPI_LONG, 0, base[0], 2, MPI_LONG, win);
		MPI_Win_flush(0, win);
		CHECK(v[1] == -v[0]);
		v[0] += rank + 1;
		v[1] = -v[0];
		MPI_Put(&v[0], 1, MPI_LONG, 0, base[0], 1, MPI_LONG, win);
		MPI_Put(&v[1], 1, MPI_LONG, 0, base[0] + 8, 1, MPI_LONG, win);
		MPI_Win_unlock(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
	MPI_Get(v, 2, MPI_LONG, 0, base[0], 2, MPI_LONG, win);
	MPI_Win_unlock(0, win);
	for (int p = 0; p < ranks; p++)
		sum += ROUNDS * (p + 1);
	CHECK(v[0] == sum && v[1] == -sum);
	MPI_Barrier(MPI_COMM_WORLD);

	// lock_all, flushes, and requests.
	MPI_Request r[8];
	long mine = rank + 7, got[8];
	MPI_Win_lock_all(0, win);
	for (int p = 0; p < ranks; p++)
		MPI_Rput(&mine, 1, MPI_LONG, p, base[p] + 8 * (10 + rank), 1, MPI_LONG, win, &r[p]);
	MPI_Waitall(ranks, r, MPI_STATUSES_IGNORE);
	MPI_Win_flush_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int p = 0; p < ranks; p++)
		MPI_Rget(&got[p], 1, MPI_LONG, right(), base[right()] + 8 * (10 + p), 1, MPI_LONG, win, &r[p]);
	MPI_Waitall(ranks, r, MPI_STATUSES_IGNORE);
	for (int p = 0; p < ranks; p++)
		CHECK(got[p] == p + 7);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
}

// Post, start, complete, wait: with the neighbours only.
static void pscw(void)
{
	MPI_Group all, to, from;
	int r = right(), l = left(), done;
	long v[1000];
	clean();
	MPI_Comm_group(MPI_COMM_WORLD, &all);
	MPI_Group_incl(all, 1, &r, &to);
	MPI_Group_incl(all, 1, &l, &from);
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 1000; k++)
			v[k] = rank * 100000 + i * 1000 + k;
		MPI_Win_post(from, 0, win);
		MPI_Win_start(to, 0, win);
		MPI_Put(v, 1000, MPI_LONG, r, base[r], 1000, MPI_LONG, win);
		MPI_Win_complete(win);
		if (i % 2)
			MPI_Win_wait(win);
		else
			for (done = 0; !done;)
				MPI_Win_test(win, &done);
		for (int k = 0; k < 1000; k++)
			CHECK(((long *)mem)[k] == l * 100000 + i * 1000 + k);
	}
	MPI_Group_free(&all);
	MPI_Group_free(&to);
	MPI_Group_free(&from);
}

// ACCUMULATED adds to all windows from all ranks at once.
#define ACCUMULATED(T, type, n)                                                                             \
	do {                                                                                                \
		static T x[n];                                                                              \
		clean();                                                                                    \
		for (int i = 0; i < (n); i++)                                                               \
			x[i] = (T)(rank + i % 100);                                                         \
		MPI_Win_fence(0, win);                                                                      \
		for (int p = 0; p < ranks; p++)                                                             \
			MPI_Accumulate(x, n, type, p, base[p], n, type, MPI_SUM, win);                      \
		MPI_Win_fence(0, win);                                                                      \
		for (int i = 0; i < (n); i++)                                                               \
			CHECK(((T *)mem)[i] == (T)(ranks * (ranks - 1) / 2 + ranks * (i % 100)));           \
		MPI_Barrier(MPI_COMM_WORLD);                                                                \
	} while (0)

static void accumulates(void)
{
	ACCUMULATED(int, MPI_INT, 1);
	ACCUMULATED(int, MPI_INT, 1000);
	ACCUMULATED(long, MPI_LONG, 1);
	ACCUMULATED(long, MPI_LONG, 20000);
	ACCUMULATED(float, MPI_FLOAT, 100);
	ACCUMULATED(double, MPI_DOUBLE, 1);
	ACCUMULATED(double, MPI_DOUBLE, 5000);
	ACCUMULATED(short, MPI_SHORT, 100);

	long big = rank + 1, all = 1l << rank, old = -1;
	clean();
	MPI_Win_lock_all(0, win);
	if (every) {
		MPI_Accumulate(&big, 1, MPI_LONG, 0, base[0], 1, MPI_LONG, MPI_MAX, win);
		MPI_Accumulate(&all, 1, MPI_LONG, 0, base[0] + 8, 1, MPI_LONG, MPI_BOR, win);
	}
	MPI_Get_accumulate(&big, 1, MPI_LONG, &old, 1, MPI_LONG, 0, base[0] + 16, 1, MPI_LONG, MPI_SUM, win);
	MPI_Win_unlock_all(win);
	CHECK(old >= 0 && old < ranks * (ranks + 1) / 2);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		long *cells = (long *)mem;
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		CHECK(!every || (cells[0] == ranks && cells[1] == (1l << ranks) - 1));
		CHECK(cells[2] == ranks * (ranks + 1) / 2);
		MPI_Win_unlock(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

// Counters that all ranks increment: each value is seen once. Also a lock made of compare-and-swap.
static void atomics(void)
{
	enum { ROUNDS = 50 };
	static char seen[8 * ROUNDS], everybody[8 * ROUNDS];
	long one = 1, old, none = 0, me = rank + 1, v;
	clean();
	memset(seen, 0, sizeof seen);
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, base[0], MPI_SUM, win);
		MPI_Win_flush(0, win);
		CHECK(old >= 0 && old < ranks * ROUNDS && !seen[old]);
		seen[old] = 1;
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Fetch_and_op(NULL, &v, MPI_LONG, 0, base[0], MPI_NO_OP, win);
	MPI_Win_flush(0, win);
	CHECK(v == ranks * ROUNDS);
	MPI_Reduce(seen, everybody, ranks * ROUNDS, MPI_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
	for (int i = 0; rank == 0 && i < ranks * ROUNDS; i++)
		CHECK(everybody[i] == 1);

	for (int i = 0; i < 10; i++) {
		do {
			MPI_Compare_and_swap(&me, &none, &old, MPI_LONG, right(), base[right()] + 64, win);
			MPI_Win_flush(right(), win);
		} while (old != 0);
		MPI_Compare_and_swap(&none, &me, &old, MPI_LONG, right(), base[right()] + 64, win);
		MPI_Win_flush(right(), win);
		CHECK(old == me);
	}
	int first = 0, two = 2;
	MPI_Fetch_and_op(&two, &first, MPI_INT, right(), base[right()] + 128, MPI_REPLACE, win);
	MPI_Win_flush(right(), win);
	CHECK(first == 0);
	MPI_Fetch_and_op(&two, &first, MPI_INT, right(), base[right()] + 128, every ? MPI_PROD : MPI_SUM, win);
	MPI_Win_flush(right(), win);
	CHECK(first == 2);
	MPI_Win_unlock_all(win);
	MPI_Barrier(MPI_COMM_WORLD);
}

// Columns of a matrix at the target, from a row at the origin.
static void strided(void)
{
	enum { ROWS = 100, COLS = 50 };
	double row[ROWS];
	MPI_Datatype column;
	clean();
	MPI_Type_vector(ROWS, 1, COLS, MPI_DOUBLE, &column);
	MPI_Type_commit(&column);
	for (int i = 0; i < ROWS; i++)
		row[i] = rank * 1000 + i;
	MPI_Win_fence(0, win);
	MPI_Put(row, ROWS, MPI_DOUBLE, right(), base[right()] + 3 * sizeof(double), 1, column, win);
	MPI_Win_fence(0, win);
	double *m = (double *)mem;
	for (int i = 0; i < ROWS; i++)
		CHECK(m[i * COLS + 3] == left() * 1000 + i && m[i * COLS + 2] == 0 && m[i * COLS + 4] == 0);
	memset(row, 0, sizeof row);
	MPI_Get(row, ROWS, MPI_DOUBLE, right(), base[right()] + 3 * sizeof(double), 1, column, win);
	MPI_Win_fence(0, win);
	for (int i = 0; i < ROWS; i++)
		CHECK(row[i] == rank * 1000 + i);
	MPI_Type_free(&column);
}

static void all(const char *kind)
{
	if (rank == 0 && getenv("GOFABRIC_MPI_VERBOSE"))
		fprintf(stderr, "%s\n", kind);
	RUN(fences);
	RUN(locks);
	RUN(pscw);
	RUN(accumulates);
	RUN(atomics);
	RUN(strided);
}

int main(int argc, char **argv)
{
	start(&argc, &argv, MPI_THREAD_SINGLE);
	for (int i = 1; i < argc; i++) {
		every = every && strcmp(argv[i], "sums") != 0;
		moving = moving && strcmp(argv[i], "fixed") != 0;
	}
	CHECK(ranks <= 8);

	unsigned char *own = mem = malloc(BYTES);
	CHECK(own);
	MPI_Win_create(mem, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	all("create");
	MPI_Win_free(&win);

	MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
	all("allocate");
	MPI_Win_free(&win);

	mem = own;
	if (moving) {
		MPI_Aint here;
		MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
		MPI_Win_attach(win, mem, BYTES);
		MPI_Get_address(mem, &here);
		MPI_Allgather(&here, 1, MPI_AINT, base, 1, MPI_AINT, MPI_COMM_WORLD);
		all("dynamic");
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Win_detach(win, mem);
		MPI_Win_free(&win);
	}
	free(own);
	return finish();
}
