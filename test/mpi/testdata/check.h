// The common part of the MPI programs of this folder: checks that print the failed line, patterns in buffers, and the
// check of the library.
#ifndef CHECK_H
#define CHECK_H

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static const char *part = "start"; // the part of the test that runs

// CHECK ends all ranks and prints the line if a condition is false.
#define CHECK(cond)                                                                                         \
	do {                                                                                                \
		if (!(cond)) {                                                                              \
			fprintf(stderr, "%s:%d: rank %d: %s: %s\n", __FILE__, __LINE__, rank, part, #cond); \
			MPI_Abort(MPI_COMM_WORLD, 1);                                                       \
		}                                                                                           \
	} while (0)

// fill writes a pattern that depends on the seed and the position. matches checks it.
static inline void fill(void *buf, size_t n, unsigned seed)
{
	unsigned char *b = buf;
	for (size_t i = 0; i < n; i++)
		b[i] = (unsigned char)(seed * 131 + i * 7 + (i >> 8) * 3 + (i >> 16));
}

static inline int matches(const void *buf, size_t n, unsigned seed)
{
	const unsigned char *b = buf;
	for (size_t i = 0; i < n; i++)
		if (b[i] != (unsigned char)(seed * 131 + i * 7 + (i >> 8) * 3 + (i >> 16)))
			return 0;
	return 1;
}

// mapped checks that the libfabric of this process is the file that FABRIC_LIBRARY names. Where a library is missing
// the loader silently takes the system's.
static inline void mapped(void)
{
	const char *want = getenv("FABRIC_LIBRARY");
	char line[PATH_MAX + 200];
	int ours = 0;
	CHECK(want);
	FILE *f = fopen("/proc/self/maps", "r");
	CHECK(f);
	while (fgets(line, sizeof line, f)) {
		char *path = strchr(line, '/');
		if (!path || !strstr(path, "libfabric.so"))
			continue;
		path[strcspn(path, "\n")] = 0;
		if (strcmp(path, want) != 0) {
			fprintf(stderr, "rank %d runs on %s, not on %s\n", rank, path, want);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
		ours = 1;
	}
	fclose(f);
	CHECK(ours);
}

static inline void start(int *argc, char ***argv, int level)
{
	int got;
	MPI_Init_thread(argc, argv, level, &got);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	CHECK(got >= level);
	CHECK(ranks >= 2);
	mapped();
}

// finish prints "ok" once, when all ranks have called it.
static inline int finish(void)
{
	part = "finish";
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("ok\n");
	MPI_Finalize();
	return 0;
}

// RUN runs a part of a program in all ranks. GOFABRIC_MPI_VERBOSE=1 prints its name.
#define RUN(f)                                                                 \
	do {                                                                   \
		part = #f;                                                     \
		MPI_Barrier(MPI_COMM_WORLD);                                   \
		double begin = MPI_Wtime();                                    \
		f();                                                           \
		if (rank == 0 && getenv("GOFABRIC_MPI_VERBOSE"))               \
			fprintf(stderr, "%-12s %.3fs\n", part, MPI_Wtime() - begin); \
	} while (0)

#endif
