// Package fabrictest is a network inside the process, for tests of programs that use fabrics. Its nodes have
// providers of their own. Their traffic never leaves the process. It passes over links that lose, duplicate,
// reorder, delay and corrupt datagrams as the test asks.
//
//	func TestService(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			net := fabrictest.New(t, 3, fabrictest.Config{Faults: fabrictest.Faults{Loss: 0.05, Delay: time.Millisecond}})
//			infos, _, err := net.Node(0).GetInfo(core.Query{Hints: hints})
//			...
//			fabric, err := net.Node(0).OpenFabric(infos[0])
//			...
//			net.Partition([]int{0}) // cuts node 0 off from all others
//			time.Sleep(time.Minute) // takes no real time in a bubble
//			net.Heal()
//		})
//	}
//
// # Providers
//
// Each node has these providers:
//
//   - "mem", whose endpoints exchange datagrams (FI_EP_DGRAM)
//   - "mem;ofi_rxd", reliable datagrams over it (FI_EP_RDM)
//   - "mem;fault" and "mem;fault;ofi_rxd", with the layer fault (package util/fault)
//   - what Config.Providers make
//
// Node i has the address 10.0.0.0 plus i+1 and the name "node<i>". GetInfo and address vectors know both. A process
// may have any number of networks.
//
// # Faults
//
// Every ordered pair of nodes has a Link of its own. Two of them make a path, which need not be alike in both
// directions. The seed, the link's settings and the sequence of its datagrams decide what happens on it. A failing
// test logs the seed. A node's link to itself is perfect unless Link changes it.
//
// # Time
//
// Without testing/synctest the network runs in real time. In a bubble of testing/synctest, in which the Fabric must
// have been made, it runs in the bubble's time: delays and timeouts take no real time. There
//
//   - wait with SRead, Wait or time.Sleep: the bubble's clock stands still while a goroutine polls in a loop, and
//     with core.WaitYield;
//   - do not sleep on descriptors (core.WaitFD), which are outside of the bubble;
//   - close what was opened: a domain's goroutine ends with it.
package fabrictest
