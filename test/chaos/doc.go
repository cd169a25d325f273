// Package chaos has processes exchange tagged messages, RMA and atomics while one after another is killed and started again.
//
// Every byte is checked: what is sent says who sent it, in which of its lives, and which one it is. No operation may stay without a completion, nothing may
// come twice, out of order or not at all that was said to be delivered, sums of atomics must be right, the living must talk to those that came back, and
// what a process has of memory, descriptors and goroutines must return to where it was.
//
// By itself it is short. GOFABRIC_MANY=1 has it run for two minutes over each stack, GOFABRIC_CHAOS=10m for as long as that, GOFABRIC_CHAOS_SEED=n with other
// choices, GOFABRIC_CHAOS_STACK over another stack. FI_* variables reach the processes, so that FI_FAULT_RESET=1000000 over tcp;fault has connections break as well.
package chaos
