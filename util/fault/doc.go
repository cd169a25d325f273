// Package fault is a layer that treats datagrams as bad networks do: it loses, duplicates, reorders, delays and
// corrupts them. It applies exactly where the provider string names it. "udp;fault" has the datagrams of udp;
// "udp;fault;ofi_rxd" has reliable endpoints that must recover from the faults.
//
// Over a provider of connections, as in "tcp;fault" or "tcp;fault;ofi_rxm", faults of packets appear as delay: the
// bytes of a lost, corrupted or overtaken packet come late, and so do all bytes after them. Connections can also
// pass any number of bytes per call, stall in a partition, be refused, and be reset. Received bytes wait in the
// socket until the faults let them through, so TCP's flow control bounds them. Single copies and local sockets,
// which bypass the network, are off.
//
// The variables FI_FAULT_* set the faults and their probabilities. Without them there are none. The faults depend
// on FI_FAULT_SEED and on the sequence of datagrams that a port sends, so a run can be repeated as far as its
// traffic can. The ports of a process decide independently of each other. The ports of two processes with the same
// seed decide alike, in the order in which they are opened. The same holds for the connections of a fabric and the
// bytes that they receive. The line (FI_FAULT_RATE) and partitions also depend on time.
//
// The layer is not a hook (util/hook): layers above use its own ports, and its DGRAM endpoints are built on those.
// Its base is internal/layer.
//
// Datagrams have faults when they are sent, and connections when they receive. Partial calls and partitions affect
// both. For faults in both directions of a path, both ends need the layer.
package fault
