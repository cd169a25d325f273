// Point to point: sizes, order, wildcards, unexpected messages, all send modes, requests of all kinds, probes,
// cancelled and short receives.
#include "check.h"

#define WORLD MPI_COMM_WORLD
#define MOST (4 << 20)

static const int lengths[] = {0, 1, 2, 3, 7, 8, 63, 64, 65, 100, 1000, 1024, 4095, 4096, 4097, 16383, 16384, 16385,
	32768, 65535, 65536, 100000, 131072,
			      1 << 20, (1 << 20) + 1, MOST};
#define LENGTHS ((int)(sizeof lengths / sizeof lengths[0]))

static unsigned char *out, *in;

static int right(void) { return (rank + 1) % ranks; }
static int left(void) { return (rank + ranks - 1) % ranks; }

// received checks a status and the pattern.
static void received(MPI_Status *s, int source, int tag, const void *buf, int n, unsigned seed)
{
	int count = -1;
	MPI_Get_count(s, MPI_BYTE, &count);
	CHECK(s->MPI_SOURCE == source);
	CHECK(s->MPI_TAG == tag);
	CHECK(count == n);
	CHECK(matches(buf, n, seed));
}

// Every length around the ring, in both directions at once, and back and forth between neighbours.
static void sizes(void)
{
	for (int i = 0; i < LENGTHS; i++) {
		MPI_Status s;
		int n = lengths[i];
		fill(out, n, rank + i);
		memset(in, 0, n);
		MPI_Sendrecv(out, n, MPI_BYTE, right(), i, in, MOST, MPI_BYTE, left(), i, WORLD, &s);
		received(&s, left(), i, in, n, left() + i);
		if (rank / 2 * 2 + 1 >= ranks)
			continue;
		memset(in, 0, n);
		if (rank % 2 == 0) {
			MPI_Send(out, n, MPI_BYTE, rank + 1, i, WORLD);
			MPI_Recv(in, n, MPI_BYTE, rank + 1, i, WORLD, &s);
			received(&s, rank + 1, i, in, n, rank + 1 + i);
		} else {
			MPI_Recv(in, n, MPI_BYTE, rank - 1, i, WORLD, &s);
			received(&s, rank - 1, i, in, n, rank - 1 + i);
			MPI_Send(out, n, MPI_BYTE, rank - 1, i, WORLD);
		}
	}
}

// Any source, any tag: messages of one sender arrive in the order of the sends.
static void wildcards(void)
{
	enum { EACH = 50 };
	if (rank != 0) {
		for (int i = 0; i < EACH; i++) {
			fill(out, 100 + i, rank * 1000 + i);
			MPI_Send(out, 100 + i, MPI_BYTE, 0, i, WORLD);
		}
		return;
	}
	int next[64] = {0};
	for (int i = 0; i < EACH * (ranks - 1); i++) {
		MPI_Status s;
		MPI_Recv(in, MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &s);
		int from = s.MPI_SOURCE;
		CHECK(from > 0 && from < ranks);
		received(&s, from, next[from], in, 100 + next[from], from * 1000 + next[from]);
		next[from]++;
	}
}

// Unexpected messages, received in reverse order of their tags. Some are too long to be sent before their receives are
// posted.
static void unexpected(void)
{
	enum { COUNT = 200 };
	MPI_Request r[COUNT];
	unsigned char *at = out;
	for (int i = 0; i < COUNT; i++) {
		int n = i % 50 == 49 ? 300000 : i * 17;
		fill(at, n, rank + i);
		MPI_Isend(at, n, MPI_BYTE, right(), i, WORLD, &r[i]);
		at += n;
	}
	MPI_Barrier(WORLD);
	for (int i = COUNT - 1; i >= 0; i--) {
		MPI_Status s;
		int n = i % 50 == 49 ? 300000 : i * 17;
		MPI_Recv(in, n, MPI_BYTE, left(), i, WORLD, &s);
		received(&s, left(), i, in, n, left() + i);
	}
	MPI_Waitall(COUNT, r, MPI_STATUSES_IGNORE);
}

// A synchronous send does not complete before its receive has started. A buffered one completes at once. A ready one
// finds its receive.
static void modes(void)
{
	static const int some[] = {0, 1000, 200000};
	for (int i = 0; i < 3; i++) {
		MPI_Request r;
		MPI_Status s;
		int n = some[i], done = 1;
		fill(out, n, rank);
		MPI_Issend(out, n, MPI_BYTE, right(), 5, WORLD, &r);
		MPI_Barrier(WORLD);
		MPI_Test(&r, &done, MPI_STATUS_IGNORE);
		CHECK(!done);
		MPI_Barrier(WORLD);
		MPI_Recv(in, n, MPI_BYTE, left(), 5, WORLD, &s);
		received(&s, left(), 5, in, n, left());
		MPI_Wait(&r, MPI_STATUS_IGNORE);

		MPI_Irecv(in, n, MPI_BYTE, left(), 6, WORLD, &r);
		MPI_Barrier(WORLD);
		MPI_Rsend(out, n, MPI_BYTE, right(), 6, WORLD);
		MPI_Wait(&r, &s);
		received(&s, left(), 6, in, n, left());
	}
	int size = 4 * (1000 + MPI_BSEND_OVERHEAD);
	void *buf = malloc(size);
	MPI_Buffer_attach(buf, size);
	for (int i = 0; i < 4; i++) {
		fill(out, 1000, i);
		MPI_Bsend(out, 1000, MPI_BYTE, right(), 7, WORLD);
	}
	for (int i = 0; i < 4; i++) {
		MPI_Status s;
		MPI_Recv(in, 1000, MPI_BYTE, left(), 7, WORLD, &s);
		received(&s, left(), 7, in, 1000, i);
	}
	MPI_Buffer_detach(&buf, &size);
	free(buf);
}

// Many requests at once, with all ranks including this one, completed by each of the waiting calls.
static void requests(void)
{
	enum { EACH = 8, LEN = 20000, PEERS = 8 };
	static MPI_Request r[2 * EACH * PEERS];
	static int idx[2 * EACH * PEERS];
	for (int round = 0; round < 4; round++) {
		int n = 0, left_over = 0, total = EACH * ranks;
		for (int p = 0; p < ranks; p++)
			for (int i = 0; i < EACH; i++)
				MPI_Irecv(in + (p * EACH + i) * LEN, LEN, MPI_BYTE, p, i, WORLD, &r[n++]);
		for (int p = 0; p < ranks; p++)
			for (int i = 0; i < EACH; i++) {
				unsigned char *b = out + (p * EACH + i) * LEN;
				fill(b, LEN - i * 2000, rank * 64 + p * 8 + i + round);
				MPI_Isend(b, LEN - i * 2000, MPI_BYTE, p, i, WORLD, &r[n++]);
			}
		switch (round) {
		case 0:
			MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
			break;
		case 1:
			for (int k = 0; k < n; k++) {
				int which;
				MPI_Waitany(n, r, &which, MPI_STATUS_IGNORE);
				CHECK(which != MPI_UNDEFINED);
			}
			break;
		case 2:
			for (left_over = n; left_over > 0;) {
				int some;
				MPI_Waitsome(n, r, &some, idx, MPI_STATUSES_IGNORE);
				CHECK(some > 0);
				left_over -= some;
			}
			break;
		case 3:
			for (int done = 0; !done;)
				MPI_Testall(n, r, &done, MPI_STATUSES_IGNORE);
		}
		for (int k = 0; k < total; k++)
			CHECK(matches(in + k * LEN, LEN - k % EACH * 2000, k / EACH * 64 + rank * 8 + k % EACH + round));
		MPI_Barrier(WORLD);
	}
}

static void persistent(void)
{
	MPI_Request r[4];
	MPI_Status s[4];
	MPI_Recv_init(in, 1000, MPI_BYTE, left(), 1, WORLD, &r[0]);
	MPI_Recv_init(in + 1000, 100000, MPI_BYTE, left(), 2, WORLD, &r[1]);
	MPI_Send_init(out, 1000, MPI_BYTE, right(), 1, WORLD, &r[2]);
	MPI_Ssend_init(out + 1000, 100000, MPI_BYTE, right(), 2, WORLD, &r[3]);
	for (int i = 0; i < 20; i++) {
		fill(out, 1000, rank + i);
		fill(out + 1000, 100000, rank + i + 1);
		MPI_Startall(4, r);
		MPI_Waitall(4, r, s);
		received(&s[0], left(), 1, in, 1000, left() + i);
		received(&s[1], left(), 2, in + 1000, 100000, left() + i + 1);
	}
	for (int i = 0; i < 4; i++)
		MPI_Request_free(&r[i]);
}

static void probes(void)
{
	MPI_Status s, s2;
	MPI_Request r[4];
	MPI_Message m;
	int there = 0, n;
	for (int i = 0; i < 4; i++) {
		n = i == 3 ? 500000 : 10 + i;
		fill(out + i * 20, n, rank + i);
		if (i == 3)
			fill(out + 100, n, rank + i);
		MPI_Isend(i == 3 ? out + 100 : out + i * 20, n, MPI_BYTE, right(), 10 + i, WORLD, &r[i]);
	}
	MPI_Probe(left(), 11, WORLD, &s);
	MPI_Get_count(&s, MPI_BYTE, &n);
	CHECK(n == 11 && s.MPI_SOURCE == left() && s.MPI_TAG == 11);
	MPI_Recv(in, n, MPI_BYTE, left(), 11, WORLD, &s2);
	received(&s2, left(), 11, in, 11, left() + 1);

	while (!there)
		MPI_Iprobe(MPI_ANY_SOURCE, 10, WORLD, &there, &s);
	MPI_Recv(in, 100, MPI_BYTE, s.MPI_SOURCE, s.MPI_TAG, WORLD, &s2);
	received(&s2, left(), 10, in, 10, left());

	MPI_Mprobe(MPI_ANY_SOURCE, 13, WORLD, &m, &s);
	MPI_Get_count(&s, MPI_BYTE, &n);
	CHECK(n == 500000);
	MPI_Mrecv(in, n, MPI_BYTE, &m, &s2);
	received(&s2, left(), 13, in, n, left() + 3);

	for (there = 0; !there;)
		MPI_Improbe(left(), MPI_ANY_TAG, WORLD, &there, &m, &s);
	MPI_Request got;
	MPI_Imrecv(in, 100, MPI_BYTE, &m, &got);
	MPI_Wait(&got, &s2);
	received(&s2, left(), 12, in, 12, left() + 2);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &there, &s);
	CHECK(!there);
}

// A receive that is cancelled takes no message. One that is too short reports an error.
static void ends(void)
{
	MPI_Request r;
	MPI_Status s;
	int yes = 0, code, kind;
	MPI_Irecv(in, 100, MPI_BYTE, left(), 20, WORLD, &r);
	MPI_Cancel(&r);
	MPI_Wait(&r, &s);
	MPI_Test_cancelled(&s, &yes);
	CHECK(yes);
	MPI_Barrier(WORLD);
	fill(out, 100, rank);
	MPI_Sendrecv(out, 100, MPI_BYTE, right(), 20, in, 100, MPI_BYTE, left(), 20, WORLD, &s);
	received(&s, left(), 20, in, 100, left());

	MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
	MPI_Isend(out, 100, MPI_BYTE, right(), 21, WORLD, &r);
	code = MPI_Recv(in, 50, MPI_BYTE, left(), 21, WORLD, &s);
	MPI_Error_class(code, &kind);
	CHECK(kind == MPI_ERR_TRUNCATE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
}

// Types with holes, and the same tag in two communicators.
static void types(void)
{
	enum { ROWS = 300, COLS = 200 };
	static double a[ROWS][COLS], b[ROWS][COLS];
	MPI_Datatype column;
	MPI_Comm dup;
	MPI_Request r;
	int x = 1, y = 2;
	for (int i = 0; i < ROWS; i++)
		for (int j = 0; j < COLS; j++)
			a[i][j] = rank * 1e6 + i * 1e3 + j;
	MPI_Type_vector(ROWS, 1, COLS, MPI_DOUBLE, &column);
	MPI_Type_commit(&column);
	MPI_Sendrecv(&a[0][3], 1, column, right(), 30, &b[0][7], 1, column, left(), 30, WORLD, MPI_STATUS_IGNORE);
	for (int i = 0; i < ROWS; i++)
		CHECK(b[i][7] == left() * 1e6 + i * 1e3 + 3 && b[i][6] == 0 && b[i][8] == 0);
	MPI_Type_free(&column);

	MPI_Comm_dup(WORLD, &dup);
	MPI_Isend(&x, 1, MPI_INT, right(), 31, WORLD, &r);
	MPI_Send(&y, 1, MPI_INT, right(), 31, dup);
	int got = 0;
	MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, dup, MPI_STATUS_IGNORE);
	CHECK(got == 2);
	MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, MPI_STATUS_IGNORE);
	CHECK(got == 1);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Comm_free(&dup);
}

int main(int argc, char **argv)
{
	start(&argc, &argv, MPI_THREAD_SINGLE);
	out = malloc(MOST);
	in = malloc(MOST);
	CHECK(out && in && ranks <= 8);
	RUN(sizes);
	RUN(wildcards);
	RUN(unexpected);
	RUN(modes);
	RUN(requests);
	RUN(persistent);
	RUN(probes);
	RUN(ends);
	RUN(types);
	free(out);
	free(in);
	return finish();
}
