// Package veth makes network namespaces, and the cables (veth interfaces) between them, for tests of what goes past the kernel's stack, or of what happens when
// a cable is cut.
//
//	a, b := cable.Pair(t, cable.Options{Net: 98})   // two hosts, 10.98.0.1 and 10.98.0.2, fd98::1 and fd98::2, at the ends of one cable
//	h := cable.Circle(t, 96)                        // one host with both ends: what goes from 10.96.0.1 to 10.96.0.2 passes the cable, too
//	h.Rerun(t)                                      // this test again, in a process all of whose threads are in the host
//
// It needs root and ip(8). Tests without them are skipped, or fail if GOFABRIC_PEERS is "required". What is made goes with the test; what a test process leaves
// that was killed goes when the next one begins.
package veth
