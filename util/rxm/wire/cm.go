package wire

// Endianness of little-endian processes (ofi_detect_endianness): peers of the other kind are refused.
const littleEndian = 2

// FlowCtrl says whether an end wants credits.
type FlowCtrl uint8

// FlowCtrlLocal comes from old peers, which leave the field 0: each end does as it thinks best.
const (
	FlowCtrlLocal FlowCtrl = iota
	FlowCtrlOn
	FlowCtrlOff
)

// Connect is the private data of a connection request: what an rxm endpoint says of itself.
type Connect struct {
	Port       uint16 // where it listens; its address is that of the connection
	FlowCtrl   FlowCtrl
	Index      uint8  // of the connection among those to this peer (FI_OFI_RXM_NUM_MSG_EPS), from 0
	EagerLimit uint32 // bytes; both ends must have the same
	RxSize     uint32 // receives posted
	Conn       uint64 // ConnID
}

// ConnID names a connection: the process and the endpoint's index of the peer there. The upper half tells incarnations apart.
func ConnID(pid, index uint32) uint64 { return uint64(pid)<<32 | uint64(index) }

// ConnIndex is the index in a ConnID, as packets carry it: native extends its sign.
func ConnIndex(id uint64) uint64 { return uint64(int32(uint32(id))) }

// ConnPID is the process in a ConnID.
func ConnPID(id uint64) uint32 { return uint32(id >> 32) }

// Append appends the encoded data.
func (c *Connect) Append(b []byte) []byte {
	b = append(b, CMVersion, littleEndian, CtrlVersion, OpVersion)
	b = le.AppendUint16(b, c.Port)
	b = append(b, byte(c.FlowCtrl), c.Index)
	b = le.AppendUint32(b, c.EagerLimit)
	b = le.AppendUint32(b, c.RxSize)
	return le.AppendUint64(b, c.Conn)
}

// Parse reads the data; what follows it is ignored.
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
	*c = Connect{Port: le.Uint16(b[4:]), FlowCtrl: FlowCtrl(b[6]), Index: b[7], EagerLimit: le.Uint32(b[8:]), RxSize: le.Uint32(b[12:]), Conn: le.Uint64(b[16:])}
	return nil
}

// Accept is the private data of the answer.
type Accept struct {
	Conn     uint64 // ConnID
	RxSize   uint32
	FlowCtrl FlowCtrl
}

// Append appends the encoded data.
func (a *Accept) Append(b []byte) []byte {
	b = le.AppendUint64(b, a.Conn)
	b = le.AppendUint32(b, a.RxSize)
	return append(b, byte(a.FlowCtrl), 0, 0, 0)
}

// Parse reads the data; what follows it is ignored.
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
	ReasonRefused        // peers do not fit together, or no memory
	ReasonAlready        // there is a connection, or the peer's own request is under way and has precedence
)

// AppendReject appends the private data of a rejection.
func AppendReject(b []byte, r Reason) []byte { return append(b, CMVersion, byte(r)) }

// ParseReject reads it. What cannot be read counts as refused.
func ParseReject(b []byte) Reason {
	if len(b) < RejectLen || b[0] != CMVersion {
		return ReasonRefused
	}
	return Reason(b[1])
}
