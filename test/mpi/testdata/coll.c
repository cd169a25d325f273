// Collectives: every call, several types and lengths, in place, nonblocking, over the world, a duplicate, halves, and
// reversed ranks.
#include "check.h"
#include <complex.h>
#include <time.h>

static MPI_Comm comm; // the communicator under test
static int me, size;

static const int lengths[] = {1, 17, 1000, 40000};
#define LENGTHS ((int)(sizeof lengths / sizeof lengths[0]))
#define MOST 40000

static int a[MOST * 8], b[MOST * 8], counts[8], places[8];

static void put(int *at, int n, int seed)
{
	for (int i = 0; i < n; i++)
		at[i] = seed * 100003 + i;
}

static int has(const int *at, int n, int seed)
{
	for (int i = 0; i < n; i++)
		if (at[i] != seed * 100003 + i)
			return 0;
	return 1;
}

static void bcast(void)
{
	for (int l = 0; l < LENGTHS; l++)
		for (int root = 0; root < size; root++) {
			MPI_Request r;
			int n = lengths[l];
			put(a, n, me == root ? root + 5 : 99);
			MPI_Bcast(a, n, MPI_INT, root, comm);
			CHECK(has(a, n, root + 5));
			put(a, n, me == root ? root + 6 : 99);
			MPI_Ibcast(a, n, MPI_INT, root, comm, &r);
			MPI_Wait(&r, MPI_STATUS_IGNORE);
			CHECK(has(a, n, root + 6));
		}
}

static void gather_scatter(void)
{
	for (int l = 0; l < LENGTHS; l++)
		for (int root = 0; root < size; root++) {
			int n = lengths[l];
			put(a, n, me + root);
			memset(b, 0, sizeof(int) * n * size);
			MPI_Gather(a, n, MPI_INT, b, n, MPI_INT, root, comm);
			for (int p = 0; me == root && p < size; p++)
				CHECK(has(b + p * n, n, p + root));
			for (int p = 0; p < size; p++)
				put(b + p * n, n, me == root ? p * 2 + root : 99);
			MPI_Scatter(b, n, MPI_INT, a, n, MPI_INT, root, comm);
			CHECK(has(a, n, me * 2 + root));
		}
	int total = 0; // the v calls: rank p has p+3 elements, with holes between them
	for (int p = 0; p < size; p++) {
		counts[p] = p + 3;
		places[p] = total;
		total += p + 5;
	}
	put(a, me + 3, me);
	put(b, total, 77);
	MPI_Gatherv(a, me + 3, MPI_INT, b, counts, places, MPI_INT, size - 1, comm);
	for (int p = 0; me == size - 1 && p < size; p++)
		CHECK(has(b + places[p], p + 3, p) && b[places[p] + p + 3] == 77 * 100003 + places[p] + p + 3);
	for (int p = 0; p < size; p++)
		put(b + places[p], counts[p], me == 0 ? p + 1 : 99);
	MPI_Scatterv(b, counts, places, MPI_INT, a, me + 3, MPI_INT, 0, comm);
	CHECK(has(a, me + 3, me + 1));
	put(a, me + 3, me + 2);
	MPI_Allgatherv(a, me + 3, MPI_INT, b, counts, places, MPI_INT, comm);
	for (int p = 0; p < size; p++)
		CHECK(has(b + places[p], p + 3, p + 2));
}

static void allgather(void)
{
	for (int l = 0; l < LENGTHS; l++) {
		MPI_Request r;
		int n = lengths[l];
		put(a, n, me);
		MPI_Allgather(a, n, MPI_INT, b, n, MPI_INT, comm);
		for (int p = 0; p < size; p++)
			CHECK(has(b + p * n, n, p));
		memset(b, 0, sizeof(int) * n * size);
		put(b + me * n, n, me + 1);
		MPI_Iallgather(MPI_IN_PLACE, n, MPI_INT, b, n, MPI_INT, comm, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		for (int p = 0; p < size; p++)
			CHECK(has(b + p * n, n, p + 1));
	}
}

static void alltoall(void)
{
	for (int l = 0; l < LENGTHS; l++) {
		MPI_Request r;
		int n = lengths[l];
		for (int p = 0; p < size; p++)
			put(a + p * n, n, me * 10 + p);
		MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, comm);
		for (int p = 0; p < size; p++)
			CHECK(has(b + p * n, n, p * 10 + me));
		memset(b, 0, sizeof(int) * n * size);
		MPI_Ialltoall(a, n, MPI_INT, b, n, MPI_INT, comm, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		for (int p = 0; p < size; p++)
			CHECK(has(b + p * n, n, p * 10 + me));
	}
	int rcounts[8], rplaces[8], bytes[8], rbytes[8]; // me sends me+p elements to p
	MPI_Datatype types[8];
	for (int p = 0; p < size; p++) {
		counts[p] = rcounts[p] = me + p;
		places[p] = rplaces[p] = p * 100;
		bytes[p] = rbytes[p] = p * 400;
		types[p] = MPI_INT;
		put(a + p * 100, me + p, me * 10 + p);
	}
	memset(b, 0, 4 * 100 * size);
	MPI_Alltoallv(a, counts, places, MPI_INT, b, rcounts, rplaces, MPI_INT, comm);
	for (int p = 0; p < size; p++)
		CHECK(has(b + p * 100, me + p, p * 10 + me));
	memset(b, 0, 4 * 100 * size);
	MPI_Alltoallw(a, counts, bytes, types, b, rcounts, rbytes, types, comm);
	for (int p = 0; p < size; p++)
		CHECK(has(b + p * 100, me + p, p * 10 + me));
}

// REDUCED checks MPI_Reduce, MPI_Allreduce and MPI_Scan of a type: element i of rank p is p + i.
#define REDUCED(T, type)                                                            \
	do {                                                                        \
		static T x[MOST], y[MOST];                                          \
		for (int l = 0; l < LENGTHS; l++) {                                 \
			int n = lengths[l], root = l % size;                        \
			for (int i = 0; i < n; i++)                                 \
				x[i] = (T)(me + i % 50);                            \
			memset(y, 0, sizeof y);                                     \
			MPI_Reduce(x, y, n, type, MPI_SUM, root, comm);             \
			for (int i = 0; me == root && i < n; i++)                   \
				CHECK(y[i] == (T)(size * (size - 1) / 2 + size * (i % 50))); \
			MPI_Allreduce(x, y, n, type, MPI_SUM, comm);                \
			for (int i = 0; i < n; i++)                                 \
				CHECK(y[i] == (T)(size * (size - 1) / 2 + size * (i % 50))); \
			MPI_Scan(x, y, n, type, MPI_SUM, comm);                     \
			for (int i = 0; i < n; i++)                                 \
				CHECK(y[i] == (T)(me * (me + 1) / 2 + (me + 1) * (i % 50))); \
		}                                                                   \
	} while (0)

static void reductions(void)
{
	REDUCED(short, MPI_SHORT);
	REDUCED(int, MPI_INT);
	REDUCED(long long, MPI_LONG_LONG);
	REDUCED(unsigned long, MPI_UNSIGNED_LONG);
	REDUCED(float, MPI_FLOAT);
	REDUCED(double, MPI_DOUBLE);
	REDUCED(long double, MPI_LONG_DOUBLE);
	REDUCED(double complex, MPI_C_DOUBLE_COMPLEX);
}

static void largest(void *in, void *io, int *n, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *n; i++)
		if (((int *)in)[i] % 10 > ((int *)io)[i] % 10)
			((int *)io)[i] = ((int *)in)[i];
}

static void operations(void)
{
	int x, y = 0, first = 0;
	x = me + 1;
	MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_MAX, comm);
	CHECK(y == size);
	MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_MIN, comm);
	CHECK(y == 1);
	MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_PROD, comm);
	for (first = 1, x = 2; x <= size; x++)
		first *= x;
	CHECK(y == first);
	x = 1 << me;
	MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_BOR, comm);
	CHECK(y == (1 << size) - 1);
	MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_BXOR, comm);
	CHECK(y == (1 << size) - 1);
	x = me != 0;
	MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_LAND, comm);
	CHECK(y == 0);
	struct {
		double v;
		int at;
	} in = {(me * 7 + 3) % size, me}, out;
	MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
	CHECK(out.v == size - 1 && (out.at * 7 + 3) % size == size - 1);

	MPI_Op own;
	MPI_Op_create(largest, 1, &own);
	x = 100 + me;
	MPI_Allreduce(&x, &y, 1, MPI_INT, own, comm);
	CHECK(y == 100 + size - 1);
	MPI_Op_free(&own);

	x = me + 1;
	y = -1;
	MPI_Exscan(&x, &y, 1, MPI_INT, MPI_SUM, comm);
	CHECK(me == 0 || y == me * (me + 1) / 2);
	MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, comm);
	CHECK(x == size * (size + 1) / 2);
}

static void scattered(void)
{
	for (int l = 0; l < LENGTHS; l++) {
		int n = lengths[l];
		for (int i = 0; i < n * size; i++)
			a[i] = i + me;
		MPI_Reduce_scatter_block(a, b, n, MPI_INT, MPI_SUM, comm);
		for (int i = 0; i < n; i++)
			CHECK(b[i] == size * (me * n + i) + size * (size - 1) / 2);
	}
	int before = 0, total = 0;
	for (int p = 0; p < size; p++) {
		counts[p] = p * 5 + 1;
		before += p < me ? counts[p] : 0;
		total += counts[p];
	}
	for (int i = 0; i < total; i++)
		a[i] = i * (me + 1);
	MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, comm);
	for (int i = 0; i < counts[me]; i++)
		CHECK(b[i] == (before + i) * size * (size + 1) / 2);
}

// now reads a clock that all ranks share, because they are on one machine. MPI_Wtime starts separately in each rank.
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

// Several collectives pending at once, and a barrier that no rank leaves before the last one has entered.
static void overlapping(void)
{
	MPI_Request r[4];
	int sum = 0, x = me + 1, from = me == 0 ? 42 : 0;
	MPI_Ibarrier(comm, &r[0]);
	MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, comm, &r[1]);
	MPI_Ibcast(&from, 1, MPI_INT, 0, comm, &r[2]);
	put(a, 1000, me);
	MPI_Igather(a, 1000, MPI_INT, b, 1000, MPI_INT, 0, comm, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	CHECK(sum == size * (size + 1) / 2 && from == 42);
	for (int p = 0; me == 0 && p < size; p++)
		CHECK(has(b + p * 1000, 1000, p));
	for (int last = 0; last < size; last++) {
		double came = me == last ? now() : 0, left, latest;
		MPI_Barrier(comm);
		left = now();
		MPI_Allreduce(&came, &latest, 1, MPI_DOUBLE, MPI_MAX, comm);
		CHECK(left >= latest);
	}
}

static void neighbours(void)
{
	MPI_Comm ring;
	int yes = 1, x[2], y[2], before, after;
	MPI_Cart_create(comm, 1, &size, &yes, 0, &ring);
	MPI_Cart_shift(ring, 0, 1, &before, &after);
	x[0] = me * 2;
	x[1] = me * 2 + 1;
	MPI_Neighbor_alltoall(x, 1, MPI_INT, y, 1, MPI_INT, ring);
	CHECK(size == 2 || (y[0] == before * 2 + 1 && y[1] == after * 2));
	MPI_Comm_free(&ring);
}

static void over(MPI_Comm c)
{
	comm = c;
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &size);
	RUN(bcast);
	RUN(gather_scatter);
	RUN(allgather);
	RUN(alltoall);
	RUN(reductions);
	RUN(operations);
	RUN(scattered);
	RUN(overlapping);
	RUN(neighbours);
}

int main(int argc, char **argv)
{
	MPI_Comm c;
	start(&argc, &argv, MPI_THREAD_SINGLE);
	CHECK(ranks <= 8);
	over(MPI_COMM_WORLD);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &c);
	over(c);
	MPI_Comm_free(&c);
	MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &c);
	over(c);
	MPI_Comm_free(&c);
	return finish();
}
