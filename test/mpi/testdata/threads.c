// Threads: each thread of a rank exchanges messages with the same thread of its neighbours, with lengths of its own,
// while the other threads do the same.
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 60, MOST = 70000 };

static void *talk(void *arg)
{
	int me = (int)(long)arg, right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
	unsigned char *out = malloc(MOST), *in = malloc(MOST);
	CHECK(out && in);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Request r[2];
		MPI_Status s[2];
		int n = (i * 997 + me * 31) % 2000, count;
		if (i % 10 == 9)
			n = MOST - i;
		fill(out, n, rank * 16 + me + i);
		MPI_Irecv(in, MOST, MPI_BYTE, left, me, MPI_COMM_WORLD, &r[0]);
		MPI_Isend(out, n, MPI_BYTE, right, me, MPI_COMM_WORLD, &r[1]);
		MPI_Waitall(2, r, s);
		MPI_Get_count(&s[0], MPI_BYTE, &count);
		CHECK(count == n && s[0].MPI_TAG == me);
		CHECK(matches(in, n, left * 16 + me + i));
	}
	free(out);
	free(in);
	return NULL;
}

static void together(void)
{
	pthread_t t[THREADS];
	for (long i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, talk, (void *)i) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	start(&argc, &argv, MPI_THREAD_MULTIPLE);
	RUN(together);
	return finish();
}
