package api

// Emulation is the answer of GET /v1/emulation: the emulated fabric.
type Emulation struct {
	Name       string     `json:"name"`
	Seed       uint64     `json:"seed"`
	Seconds    float64    `json:"seconds"` // since its start, the time of its schedule
	Nodes      []Node     `json:"nodes"`
	Switches   []Switch   `json:"switches"`
	Links      []Link     `json:"links"`
	Partitions [][]string `json:"partitions"` // groups of nodes that do not reach each other
}

// Node is an emulated node.
type Node struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
	PID       int      `json:"pid"`      // of the process that holds its namespace
	Programs  int      `json:"programs"` // that fabricd exec runs in it
	Up        bool     `json:"up"`
}

// Switch is an emulated switch.
type Switch struct {
	Name string `json:"name"`
	Lost uint64 `json:"lost"` // frames that no way led on for
}

// Link is an emulated cable.
type Link struct {
	ID      string    `json:"id"`
	A       string    `json:"a"`
	B       string    `json:"b"`
	Up      bool      `json:"up"`
	Capture string    `json:"capture,omitempty"` // the file
	AB      Direction `json:"ab"`
	BA      Direction `json:"ba"`
}

// Direction is one direction of a link.
type Direction struct {
	Faults Faults    `json:"faults"`
	Stats  LinkStats `json:"stats"`
}

// Faults are what an emulated link does to frames. Probabilities are between 0 and 1.
type Faults struct {
	Loss       float64 `json:"loss"`
	Burst      Burst   `json:"burst"`
	DelayMS    float64 `json:"delay_ms"`
	JitterMS   float64 `json:"jitter_ms"`
	RateMbit   float64 `json:"rate_mbit"`     // 0: no limit
	Queue      int     `json:"queue_packets"` // 0: 1000
	QueueBytes int     `json:"queue_bytes"`   // 0: no limit
	ECN        int     `json:"ecn"`           // frames in the queue from which on frames are marked; 0: never
	Dup        float64 `json:"dup"`
	Reorder    float64 `json:"reorder"`
	Corrupt    float64 `json:"corrupt"`
}

// Burst is the model of Gilbert and Elliott: probabilities of getting into the bad state and out of it with each frame, and of loss in it.
type Burst struct {
	Enter float64 `json:"enter"`
	Leave float64 `json:"leave"`
	Loss  float64 `json:"loss"`
}

// LinkStats counts what happened to frames.
type LinkStats struct {
	Frames     uint64 `json:"frames"`
	Bytes      uint64 `json:"bytes"`
	Lost       uint64 `json:"lost"`    // by chance
	Dropped    uint64 `json:"dropped"` // because a queue was full
	Marked     uint64 `json:"marked"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Corrupted  uint64 `json:"corrupted"`
	Cut        uint64 `json:"cut"` // while the link was down, or by a partition
	Queue      int    `json:"queue"`
}

// LinkChange is the body of PATCH /v1/emulation/links/{id}.
type LinkChange struct {
	Direction string        `json:"direction,omitempty"` // both (as ""), ab or ba
	Up        *bool         `json:"up,omitempty"`
	Faults    *FaultsChange `json:"faults,omitempty"`
}

// FaultsChange has the faults to change; what is nil stays.
type FaultsChange struct {
	Loss       *float64 `json:"loss,omitempty"`
	Burst      *Burst   `json:"burst,omitempty"`
	DelayMS    *float64 `json:"delay_ms,omitempty"`
	JitterMS   *float64 `json:"jitter_ms,omitempty"`
	RateMbit   *float64 `json:"rate_mbit,omitempty"`
	Queue      *int     `json:"queue_packets,omitempty"`
	QueueBytes *int     `json:"queue_bytes,omitempty"`
	ECN        *int     `json:"ecn,omitempty"`
	Dup        *float64 `json:"dup,omitempty"`
	Reorder    *float64 `json:"reorder,omitempty"`
	Corrupt    *float64 `json:"corrupt,omitempty"`
}

// Partition is the body of PUT /v1/emulation/partition. Nodes that are in no group form one more.
type Partition struct {
	Groups [][]string `json:"groups"`
}

// Capture is the body of POST /v1/emulation/links/{id}/capture.
type Capture struct {
	File  string `json:"file"`            // absolute, of the daemon's file system
	Point string `json:"point,omitempty"` // "sent" (as ""): all frames that enter the link; "arrived": those that come out of it
}

// Captured is the answer of DELETE /v1/emulation/links/{id}/capture.
type Captured struct {
	File   string `json:"file"`
	Missed uint64 `json:"missed"` // frames that came faster than the file was written
}

// Program is a line of the answer of POST /v1/emulation/nodes/{name}/programs, which lasts as long as the caller has a program in the node: first where to
// enter, and when the fabric ends, that it does.
type Program struct {
	Net  string `json:"net,omitempty"`  // the file of the network namespace
	User string `json:"user,omitempty"` // of the user namespace, where the fabric has its own
	End  bool   `json:"end,omitempty"`
}
