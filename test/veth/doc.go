// Package veth makes network namespaces and veth pairs between them, for tests of links that bypass the kernel's
// stack, and of links that go down.
//
//	// Two hosts, 10.98.0.1 and 10.98.0.2, fd98::1 and fd98::2, at the ends of one veth pair.
//	a, b := veth.Pair(t, veth.Options{Net: 98})
//	// One host with both ends. Packets from 10.96.0.1 to 10.96.0.2 pass the veth pair, too.
//	h := veth.Circle(t, 96)
//	// Run this test again, in a process whose threads are all in the host.
//	h.Rerun(t)
//
// It needs root and ip(8). Without them tests are skipped, or fail if GOFABRIC_PEERS is "required". The namespaces are
// deleted with the test. Those of a killed test process are deleted when the next test begins.
package veth
