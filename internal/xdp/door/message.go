package door

import "net/netip"

// The requests.
const (
	Ask    = "ask"
	Open   = "open"
	Bind   = "bind"
	Unbind = "unbind"
	MTU    = "mtu"
)

const (
	// MessageMax is the longest message, bytes.
	MessageMax = 8 << 10
	// QueuesMax is how many queues one process may have: a message carries 253 descriptors at most (SCM_MAX_FD).
	QueuesMax = 64
	filesMax  = QueuesMax + 1
)

// Request is what a process wants.
type Request struct {
	Op        string         `json:"op"`
	Interface string         `json:"interface,omitempty"`
	Index     int            `json:"index,omitempty"`  // of the interface
	Mode      int            `json:"mode,omitempty"`   // xdp.Mode; who comes first decides
	Queues    int            `json:"queues,omitempty"` // 0: as many as the daemon gives
	Address   netip.AddrPort `json:"address,omitzero"` // of bind and unbind
}

// Answer is what the daemon says. Refusal is empty if it was done.
type Answer struct {
	Refusal string `json:"refusal,omitempty"`
	Reason  int    `json:"reason,omitempty"` // xdp.Reason, 0 if there is none for it
	Terms   *Terms `json:"terms,omitempty"`
}

// Terms describe what comes with an open interface.
type Terms struct {
	Mode      int      `json:"mode"`
	Multi     bool     `json:"multi"`
	ZeroCopy  bool     `json:"zero_copy"`
	ChunkSize int      `json:"chunk_size"`
	RxFrames  int      `json:"rx_frames"`
	TxFrames  int      `json:"tx_frames"`
	Queues    []uint32 `json:"queues"` // of the sockets, in their order
}
