// Calls with valid and with invalid arguments. Each prints its result, so that two libraries can be compared.
#ifndef CALLS_H
#define CALLS_H

#include "../pair.h"
#include <rdma/fi_ext.h>

// where is the subject of the next calls. The output names it before each call.
extern const char *where;

// tells reports whether the program makes the next call, and prints its name. A call that killed the program is left
// out in the next run.
int tells(const char *what, ...) __attribute__((format(printf, 1, 2)));
void returned(long long rc);

// CALL makes a call. NAMED makes a call whose source text does not tell enough.
#define CALL(call) do { if (tells("%s", #call)) returned((long long)(call)); } while (0)
#define NAMED(call, ...) do { if (tells(__VA_ARGS__)) returned((long long)(call)); } while (0)

// OPENED makes a call that opens an object, and closes the object.
#define OPENED(f_, call) do { f_ = NULL; CALL(call); if (f_) fi_close((fid_t)(f_)); f_ = NULL; } while (0)

// drain reads the completions of both ends, including errors.
void drain(void);

void info_calls(void);
void fabric_calls(void);
void queue_calls(void);
void vector_calls(void);
void region_calls(void);
void endpoint_calls(void);
void option_calls(void);
void connection_calls(void);
void transfer_calls(void);
void atomic_calls(void);
void group_calls(void);
void context_calls(void);
void work_calls(void);
void object_calls(void);

#endif
