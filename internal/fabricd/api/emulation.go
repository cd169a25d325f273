package api

// Emulation is the answer of GET /v1/emulation: the emulated fabric.
type Emulation struct {
	Name       string     `json:"name"`
	Seed       uint64     `json:"seed"`
	Seconds    float64    `json:"seconds"` // since the start of the schedule
	Nodes      []Node     `json:"nodes"`
	Switches   []Switch   `json:"switches"`
	Links      []Link     `json:"links"`
	Partitions [][]string `json:"partitions"` // groups of nodes that cannot reach each other
}

// Node is an emulated node.
type Node struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"`
	PID       int      `json:"pid"`      // of the process that has its namespace open
	Programs  int      `json:"programs"` // number of programs that fabricd exec runs in it
	Up        bool     `json:"up"`
}

// Switch is an emulated switch.
type Switch struct {
	Name string `json:"name"`
	Lost uint64 `json:"lost"` // frames without a route
}

// Link is an emulated cable.
type Link struct {
	ID      string    `json:"id"`
	A       string    `json:"a"`
	B       string    `json:"b"`
	Up      bool      `json:"up"`
	Capture string    `json:"capture,omitempty"` // path of the file
	AB      Direction `json:"ab"`
	BA      Direction `json:"ba"`
}

// Direction is one direction of a link.
type Direction struct {
	Faults Faults    `json:"faults"`
	Stats  LinkStats `json:"stats"`
}

// Faults are the faults of an emulated link. Probabilities are from 0 to 1.
type Faults struct {
	Loss       float64 `json:"loss"`
	Burst      Burst   `json:"burst"`
	DelayMS    float64 `json:"delay_ms"`
	JitterMS   float64 `json:"jitter_ms"`
	RateMbit   float64 `json:"rate_mbit"`     // 0: no limit
	Queue      int     `json:"queue_packets"` // 0: 1000
	QueueBytes int     `json:"queue_bytes"`   // 0: no limit
	ECN        int     `json:"ecn"`           // frames are marked if this many are in the queue; 0: never
	Dup        float64 `json:"dup"`
	Reorder    float64 `json:"reorder"`
	Corrupt    float64 `json:"corrupt"`
}

// Burst is the model of Gilbert and Elliott. It has the probabilities, for each frame, of entering the bad state, of
// leaving it, and of loss in it.
type Burst struct {
	Enter float64 `json:"enter"`
	Leave float64 `json:"leave"`
	Loss  float64 `json:"loss"`
}

// LinkStats has counts of frames.
type LinkStats struct {
	Frames     uint64 `json:"frames"`
	Bytes      uint64 `json:"bytes"`
	Lost       uint64 `json:"lost"`    // by chance
	Dropped    uint64 `json:"dropped"` // because a queue was full
	Marked     uint64 `json:"marked"`
	Duplicated uint64 `json:"duplicated"`
	Reordered  uint64 `json:"reordered"`
	Corrupted  uint64 `json:"corrupted"`
	Cut        uint64 `json:"cut"` // lost while the link was down, or in a partition
	Queue      int    `json:"queue"`
}

// LinkChange is the body of PATCH /v1/emulation/links/{id}.
type LinkChange struct {
	Direction string        `json:"direction,omitempty"` // both (default), ab or ba
	Up        *bool         `json:"up,omitempty"`
	Faults    *FaultsChange `json:"faults,omitempty"`
}

// FaultsChange has the faults to change. Nil ones do not change.
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

// Partition is the body of PUT /v1/emulation/partition. Nodes in no group form one more.
type Partition struct {
	Groups [][]string `json:"groups"`
}

// Capture is the body of POST /v1/emulation/links/{id}/capture.
type Capture struct {
	File string `json:"file"` // absolute path in the daemon's file system
	// Point selects all frames that enter the link ("sent"), or those that leave it ("arrived").
	Point string `json:"point,omitempty"` // "sent" (default) or "arrived"
}

// Captured is the answer of DELETE /v1/emulation/links/{id}/capture.
type Captured struct {
	File   string `json:"file"`
	Missed uint64 `json:"missed"` // frames that were faster than writing the file
}

// Program is a line of the answer of POST /v1/emulation/nodes/{name}/programs. The answer lasts as long as the caller
// has a program in the node. Its first line says where to enter. Its last line reports the end of the fabric.
type Program struct {
	Net  string `json:"net,omitempty"`  // path of the network namespace
	User string `json:"user,omitempty"` // path of the user namespace, if the fabric has its own
	End  bool   `json:"end,omitempty"`
}
