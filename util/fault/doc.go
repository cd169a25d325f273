// Package fault is a layer that does to datagrams what bad networks do: it loses, doubles, reorders, delays and corrupts them. It stands where it is named
// and nowhere else: "udp;fault" has the datagrams of udp, "udp;fault;ofi_rxd" reliable ones that have to survive the faults.
//
// Over a provider of connections, as "tcp;fault" or "tcp;fault;ofi_rxm", what happens to packets shows as time: what was lost, corrupted or overtaken comes
// late, and all that follows it. Connections can also be cut into pieces at any byte, stand still in a partition, be refused, and be reset. What has come waits
// in the socket until the faults let it through, so that TCP bounds it; single copies and local sockets, which go around the network, are off.
//
// The variables FI_FAULT_* say what happens, with which probability; without them nothing does. What happens depends on FI_FAULT_SEED and on the sequence of
// datagrams that a port sends, so that a run can be repeated as far as its traffic can: the ports of a process decide independently of each other, those of
// two processes with the same seed alike, in the order in which they are opened. So do the connections of a fabric, by what comes over them. The line
// (FI_FAULT_RATE) and partitions depend on time as well.
//
// It is no hook (util/hook): it stands under layers, which see ports of its own, and DGRAM endpoints of its own stand on those. Its base is internal/layer.
//
// Faults happen to datagrams on the way out, and to connections on the way in, but for cuts and partitions, which are for both: for both directions of a path,
// both ends need the layer.
package fault
