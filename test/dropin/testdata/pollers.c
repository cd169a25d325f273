// More polling threads than processors. Threads that wait by reading a counter pass a token on. If each of them kept
// its processor for a time slice, a round of 32 threads would take a second or more. If they yield the processor, a
// round takes some milliseconds.
#include "pair.h"
#include <pthread.h>

#define THREADS 32
#define ROUNDS 20
static struct fid_cntr *turn[THREADS];

static void *runner(void *arg)
{
	int i = (int)(intptr_t)arg;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		while (fi_cntr_read(turn[i]) < round)
			;
		OK(fi_cntr_add(turn[(i + 1) % THREADS], 1));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	begin(argc, argv);
	options.threading = FI_THREAD_SAFE;
	pair_open();
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP};
	for (int i = 0; i < THREADS; i++)
		OK(fi_cntr_open(a.domain, &attr, &turn[i], NULL));
	uint64_t began = now_ms();
	for (intptr_t i = 0; i < THREADS; i++)
		EQUAL(pthread_create(&t[i], NULL, runner, (void *)i), 0);
	OK(fi_cntr_add(turn[0], 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	uint64_t took = now_ms() - began;
	EQUAL(fi_cntr_read(turn[0]), ROUNDS + 1);
	if (took > 500 * ROUNDS)
		failed(__FILE__, __LINE__, "ms for all rounds", took);
	for (int i = 0; i < THREADS; i++)
		OK(fi_close(&turn[i]->fid));
	pair_close();
	return 0;
}
