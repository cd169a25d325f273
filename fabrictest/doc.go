// Package fabrictest is a network inside the process, for tests of programs that use fabrics: nodes with providers of their own, whose traffic never leaves
// the process, over links that lose, double, reorder, delay and corrupt datagrams as the test says.
//
//	func TestService(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			net := fabrictest.New(t, 3, fabrictest.WithFaults(fabrictest.Faults{Loss: 0.05, Delay: time.Millisecond}))
//			infos, _, err := net.Node(0).GetInfo(core.Query{Hints: hints})
//			...
//			fabric, err := net.Node(0).OpenFabric(infos[0])
//			...
//			net.Partition([]int{0}) // node 0 hears nobody
//			time.Sleep(time.Minute) // takes no time at all in a bubble
//			net.Heal()
//		})
//	}
//
// # Providers
//
// Each node has the provider "mem", whose endpoints exchange datagrams (FI_EP_DGRAM), reliable datagrams over it ("mem;ofi_rxd", FI_EP_RDM), the layer fault
// ("mem;fault", "mem;fault;ofi_rxd", package util/fault), and what WithProviders adds. Node i has the address 10.0.0.0 plus i+1 and the name "node<i>",
// which GetInfo and address vectors know. A process may have any number of networks.
//
// # Faults
//
// Every ordered pair of nodes has a Link of its own: two of them make a path, which need not be alike in both directions. What happens on it depends on the
// seed, on its settings and on the sequence of its datagrams; a failing test logs the seed. A node's link to itself is perfect unless Link changes it.
//
// # Time
//
// Without testing/synctest the network runs in real time. In a bubble of testing/synctest, where the Fabric must have been made, it runs in the bubble's: delays
// and time-outs take no time. There
//
//   - wait with SRead, Wait or time.Sleep: the bubble's clock stands still while anybody polls in a loop, and with core.WaitYield;
//   - do not sleep on descriptors (core.WaitFD), which are outside of the bubble;
//   - close what was opened: a domain's goroutine ends with it.
package fabrictest
