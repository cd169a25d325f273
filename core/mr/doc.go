// Package mr keeps the memory regions of a domain (fi_mr(3)): registration, keys, and the check of every remote
// access against key, permission and bounds before a byte moves.
//
// Without mode bits, remote addresses are offsets into a region and the application chooses keys.
//
//   - MRModeVirtAddr makes remote addresses the virtual addresses of the registered memory.
//   - MRModeProvKey makes keys random 64-bit numbers.
//   - MRModeLocal gives local buffers descriptors.
//   - MRModeEndpoint and MRModeRMAEvent make a region usable only after Enable.
//   - MRModeAllocated needs nothing, because Go memory is always allocated.
package mr
