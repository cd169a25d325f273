// Package capture reads and writes packet captures (pcap, pcapng) and puts the TCP streams in them together again.
// It is the only importer of gopacket.
//
// A capture is untrusted input. Nothing in it makes this package panic, hang or use unbounded memory: lengths are
// checked before gopacket sees them, what gopacket does is wrapped in recover, and streams keep a limited amount of
// data that came out of order.
package capture
