package telemetry

import "strings"

// Kind says how figures of one name are combined.
type Kind uint8

const (
	Counter Kind = iota // grows; the totals include closed endpoints
	Gauge               // a present value; the sum counts
	Highest             // a present value; the largest counts
)

// Metric describes a name in Counts. A name with a dot, "operations.send", belongs to the metric before the dot.
// The part behind it is the label's value.
type Metric struct {
	Name  string
	Label string // name of the label, "" if there is none
	Kind  Kind
	Unit  string // bytes, seconds (the figures are nanoseconds then), or ""
	Help  string
}

// Metrics has all names.
var Metrics = []Metric{
	{"operations", "op", Counter, "", "Operations that completed without error, by kind"},
	{"bytes", "op", Counter, "bytes", "Payload of the operations that completed without error, by kind"},
	{"errors", "op", Counter, "", "Operations that ended with an error, by kind"},
	{"again", "call", Counter, "", "Calls refused with FI_EAGAIN, by direction"},
	{"datagrams", "direction", Counter, "", "Datagrams of the endpoints' ports"},
	{"datagram_bytes", "direction", Counter, "bytes", "Bytes of datagrams of the endpoints' ports"},
	{"bypassed", "way", Counter, "", "Datagrams that bypassed the system's network stack through AF_XDP (xdp) or shared memory (memory), by way and direction"},
	{"segments", "direction", Counter, "", "Segments with data of TCP connections"},
	{"retransmitted", "", Counter, "", "Datagrams that were sent again, and segments of TCP connections"},
	{"lost", "", Counter, "", "Segments considered lost"},
	{"timeouts", "", Counter, "", "Retransmission time-outs"},
	{"spurious", "", Counter, "", "Retransmissions that were not needed"},
	{"window_cuts", "", Counter, "", "Times that a congestion window was made smaller"},
	{"black_holes", "", Counter, "", "Times that datagrams were made shorter, because the path dropped long ones silently"},
	{"drops", "reason", Counter, "", "Datagrams and requests that were dropped, by reason"},
	{"restarts", "", Counter, "", "Peers that came back after a restart"},
	{"posted_receives", "", Gauge, "", "Receives that wait for a message"},
	{"pending_operations", "", Gauge, "", "Operations that are posted and not complete"},
	{"queued_bytes", "", Gauge, "bytes", "Bytes that wait for transmission or acknowledgement"},
	{"completions", "", Gauge, "", "Completions that are not read yet, of all queues of the domain"},
	{"unexpected_messages", "", Gauge, "", "Messages that arrived before a matching receive was posted"},
	{"unexpected_bytes", "", Gauge, "bytes", "Memory of messages that arrived before a matching receive was posted"},
	{"registered_regions", "", Gauge, "", "Memory regions that are registered"},
	{"registered_bytes", "", Gauge, "bytes", "Memory that is registered"},
	{"connections", "state", Gauge, "", "Connections, by state"},
	{"window", "", Gauge, "bytes", "Bytes that may be in flight to all peers"},
	{"in_flight", "", Gauge, "bytes", "Bytes in flight to all peers"},
	{"rtt", "", Highest, "seconds", "Smoothed round-trip time of the slowest peer"},
	// Of a peer alone:
	{"messages", "direction", Counter, "", "Messages and requests of a connection"},
	{"stream_bytes", "direction", Counter, "bytes", "Bytes of a connection's stream"},
	{"min_rtt", "", Highest, "seconds", "Shortest round-trip time of a path"},
}

var byName = func() map[string]*Metric {
	m := map[string]*Metric{}
	for i := range Metrics {
		m[Metrics[i].Name] = &Metrics[i]
	}
	return m
}()

// MetricOf returns the metric of a name in Counts, and its label's value. It is nil if there is none.
func MetricOf(name string) (m *Metric, label string) {
	name, label, dotted := strings.Cut(name, ".")
	m = byName[name]
	if m == nil || dotted != (m.Label != "") {
		return nil, ""
	}
	return m, label
}

// Add adds o to c. With countersOnly it skips metrics that are not counters.
func (c Counts) Add(o Counts, countersOnly bool) {
	for name, v := range o {
		m, _ := MetricOf(name)
		switch {
		case m == nil || countersOnly && m.Kind != Counter:
		case m.Kind == Highest:
			c[name] = max(c[name], v)
		default:
			c[name] += v
		}
	}
}
