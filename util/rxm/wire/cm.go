package wire

// littleEndian is the byte order of little-endian processes (ofi_detect_endianness). Peers of the other order are
// refused.
const littleEndian = 2

// FlowCtrl says whether an end wants credits (docs/wire/rxm.md, "Credits").
type FlowCtrl uint8

// FlowCtrlLocal comes from old peers, which leave the field 0: each end then decides alone.
const (
	FlowCtrlLocal FlowCtrl = iota
	FlowCtrlOn
	FlowCtrlOff
)

// Connect is the private data of a connection request (union rxm_cm_data, fi_cm(3)).
type Connect struct {
	Port       uint16 // where the sender listens; its address is that of the connection
	FlowCtrl   FlowCtrl
	Index      uint8  // of the connection among those to this peer, from 0 (FI_OFI_RXM_NUM_MSG_EPS)
	EagerLimit uint32 // bytes; both ends must have the same
	RxSize     uint32 // posted receives
	Conn       uint64 // see ConnID
}

// ConnID returns a connection id: the process id, and the endpoint's index of the peer. The process id
// distinguishes a restarted peer from the one before.
func ConnID(pid, index uint32) uint64 { return uint64(pid)<<32 | uint64(index) }

// ConnIndex returns the index in a connection id as packets carry it: native sign-extends it.
func ConnIndex(id uint64) uint64 { return uint64(int32(uint32(id))) }

// ConnPID returns the process id in a connection id.
func ConnPID(id uint64) uint32 { return uint32(id >> 32) }

// Append appends the encoded data to b.
func (c *Connect) Append(b []byte) []byte {
	b = append(b, CMVersion, littleEndian, CtrlVersion, OpVersion)
	b = le.AppendUint16(b, c.Port)
	b = append(b, byte(c.FlowCtrl), c.Index)
	b = le.AppendUint32(b, c.EagerLimit)
	b = le.AppendUint32(b, c.RxSize)
	return le.AppendUint64(b, c.Conn)
}

// Parse reads the data and checks the versions and the byte order. Bytes behind it are ignored.
func (c *Connect) Parse(b []byte) error {
	if len(b) < ConnectLen {
		return ErrShort
	}
	if b[0] != CMVersion || b[2] != CtrlVersion || b[3] != OpVersion {
		return ErrVersion
	}
	if b[1] != littleEndian {
		return ErrOrder
	}
	*c = Connect{
		Port: le.Uint16(b[4:]), FlowCtrl: FlowCtrl(b[6]), Index: b[7],
		EagerLimit: le.Uint32(b[8:]), RxSize: le.Uint32(b[12:]), Conn: le.Uint64(b[16:]),
	}
	return nil
}

// Accept is the private data of the answer to a connection request.
type Accept struct {
	Conn     uint64 // see ConnID
	RxSize   uint32 // posted receives
	FlowCtrl FlowCtrl
}

// Append appends the encoded data to b.
func (a *Accept) Append(b []byte) []byte {
	b = le.AppendUint64(b, a.Conn)
	b = le.AppendUint32(b, a.RxSize)
	return append(b, byte(a.FlowCtrl), 0, 0, 0)
}

// Parse reads the data. Bytes behind it are ignored.
func (a *Accept) Parse(b []byte) error {
	if len(b) < AcceptLen {
		return ErrShort
	}
	*a = Accept{Conn: le.Uint64(b), RxSize: le.Uint32(b[8:]), FlowCtrl: FlowCtrl(b[12])}
	return nil
}

// Reason says why a connection request was rejected.
type Reason uint8

// The reasons.
const (
	ReasonNone    Reason = iota
	ReasonRefused        // the ends do not fit together, or there is no memory
	ReasonAlready        // there is a connection, or the request lost against one of the other direction
)

// AppendReject appends the private data of a rejection to b.
func AppendReject(b []byte, r Reason) []byte { return append(b, CMVersion, byte(r)) }

// ParseReject reads the private data of a rejection. Data that it cannot read counts as ReasonRefused.
func ParseReject(b []byte) Reason {
	if len(b) < RejectLen || b[0] != CMVersion {
		return ReasonRefused
	}
	return Reason(b[1])
}
