// Package mr keeps the memory regions of a domain (fi_mr(3)): registration, keys, and the check of every remote access against key, permission and
// bounds before a byte moves.
//
// Without mode bits, remote addresses are offsets into a region and keys are the application's choice. MRModeVirtAddr makes remote addresses the
// virtual addresses of the registered memory, MRModeProvKey makes keys random 64-bit numbers, MRModeLocal gives local buffers descriptors,
// MRModeEndpoint and MRModeRMAEvent make a region useful only once it is enabled. MRModeAllocated asks nothing of us: Go memory is.
package mr
