package wire

// RMAIov is an RMA segment (struct fi_rma_iov, fi_rma(3)). Addr is an address or an offset, depending on the
// target's mr_mode (fi_mr(3)). Len is in bytes.
type RMAIov struct {
	Addr, Len, Key uint64
}

// SAR describes an operation of several packets (segmentation and reassembly, struct rxd_sar_hdr): more follows in
// DATA from its sender, or in DATA_READ from its target. Operations without FlagInline have it.
type SAR struct {
	Size     uint64 // bytes of the whole operation
	NumSegs  uint64 // packets with data, including this one unless it is a read; garbage in native's atomic operations
	TxID     uint32 // the sender's number of the operation, which DATA_READ repeats
	IOVCount uint8  // RMA segments; 0 for messages
}

// Op is the packet that begins an operation: a message, a read or write, or an atomic operation. Type and Flags
// decide which fields are valid.
type Op struct {
	Base
	Tag    uint64 // with FlagTag
	CQData uint64 // with FlagCQData
	SAR    SAR    // without FlagInline
	RMA    [IOVLimit]RMAIov
	NRMA   int // segments in RMA; 1 with FlagInline if the type HasRMA

	AtomDatatype uint32 // enum fi_datatype, fi_atomic(3); not checked
	AtomOp       uint32 // enum fi_op; not checked
}

// HasTag, HasCQData and HasSAR report whether the packet has these headers.
func (o *Op) HasTag() bool { return o.Flags&FlagTag != 0 }

// HasCQData reports whether the packet has remote CQ data.
func (o *Op) HasCQData() bool { return o.Flags&FlagCQData != 0 }

// HasSAR reports whether the packet has a SAR header.
func (o *Op) HasSAR() bool { return o.Flags&FlagInline == 0 }

// Len is the length of the headers, in bytes, as Type, Flags and NRMA imply.
func (o *Op) Len() int {
	n := BaseLen
	if o.HasTag() {
		n += tagLen
	}
	if o.HasCQData() {
		n += cqDataLen
	}
	if o.HasSAR() {
		n += sarLen
	}
	if o.Type.HasRMA() {
		n += o.NRMA * iovLen
	}
	if o.Type.HasAtom() {
		n += atomLen
	}
	return n
}

// Parse reads a packet and returns its payload, a part of pkt. If it succeeds, sizes do not contradict each other
// (docs/wire/rxd.md, "What to check"). Fields that the packet does not have are zero, except in RMA beyond NRMA.
// After an error o may be partly overwritten.
func (o *Op) Parse(pkt []byte) (payload []byte, err error) {
	if o.Base, err = ParseBase(pkt); err != nil {
		return nil, err
	}
	if !o.Type.IsOp() {
		return nil, ErrType
	}
	if o.HasTag() != (o.Type == TypeTagged) || o.Type.Answered() && !o.HasSAR() {
		return nil, ErrFlags
	}
	o.NRMA = 0
	if o.Type.HasRMA() {
		o.NRMA = 1
	}
	b := pkt[BaseLen:]
	if len(b) < o.Len()-BaseLen-o.NRMA*iovLen { // how many segments there are is behind this
		return nil, ErrShort
	}
	o.Tag, o.CQData, o.SAR, o.AtomDatatype, o.AtomOp = 0, 0, SAR{}, 0, 0
	if o.HasTag() {
		o.Tag, b = le.Uint64(b), b[tagLen:]
	}
	if o.HasCQData() {
		o.CQData, b = le.Uint64(b), b[cqDataLen:]
	}
	if o.HasSAR() {
		o.SAR = SAR{Size: le.Uint64(b), NumSegs: le.Uint64(b[8:]), TxID: le.Uint32(b[16:]), IOVCount: b[20]}
		b = b[sarLen:]
	}
	if o.Type.HasRMA() {
		if b, err = o.parseRMA(b); err != nil {
			return nil, err
		}
	}
	return b, o.checkSizes(uint64(len(b)))
}

// parseRMA reads the RMA segments and the header of an atomic operation.
func (o *Op) parseRMA(b []byte) ([]byte, error) {
	if o.HasSAR() {
		o.NRMA = int(o.SAR.IOVCount)
	}
	if o.NRMA > IOVLimit {
		o.NRMA = 0
		return nil, ErrIOV
	}
	n := o.NRMA * iovLen
	if o.Type.HasAtom() {
		n += atomLen
	}
	if len(b) < n {
		return nil, ErrShort
	}
	for i := range o.RMA[:o.NRMA] {
		o.RMA[i] = RMAIov{Addr: le.Uint64(b), Len: le.Uint64(b[8:]), Key: le.Uint64(b[16:])}
		b = b[iovLen:]
	}
	if o.Type.HasAtom() {
		o.AtomDatatype, o.AtomOp = le.Uint32(b), le.Uint32(b[4:])
		b = b[atomLen:]
	}
	return b, nil
}

// checkSizes checks that payload, SAR and RMA segments do not contradict each other.
func (o *Op) checkSizes(payload uint64) error {
	if o.SAR.Size > MaxSize {
		return ErrSize
	}
	size := payload // of the whole operation
	if o.HasSAR() {
		size = o.SAR.Size
	}
	if o.HasSAR() && (o.Type <= TypeTagged || o.Type == TypeWrite) {
		rest := size - payload // what further packets carry, a byte each at least
		if payload > size || o.SAR.NumSegs == 0 || o.SAR.NumSegs-1 > rest || o.SAR.NumSegs == 1 && rest != 0 {
			return ErrSize
		}
	}
	if o.Type == TypeReadReq && payload != 0 {
		return ErrSize
	}
	if !o.Type.HasRMA() {
		return nil
	}
	total, ok := o.Total()
	if !ok || total != size && !o.Type.HasAtom() {
		return ErrIOV
	}
	return nil
}

// Total returns the length of all RMA segments together. ok is false if that is more than MaxSize.
func (o *Op) Total() (n uint64, ok bool) {
	for _, v := range o.RMA[:o.NRMA] {
		if v.Len > MaxSize || n+v.Len > MaxSize {
			return 0, false
		}
		n += v.Len
	}
	return n, true
}

// Append appends the encoded headers to dst. The payload follows them. It sets SAR.IOVCount to NRMA if there is a
// SAR. It allocates only if dst lacks room; MaxOpHeader bytes are always enough. NRMA above IOVLimit is a bug of
// the caller and panics.
func (o *Op) Append(dst []byte) []byte {
	dst = o.Base.Append(dst)
	if o.HasTag() {
		dst = le.AppendUint64(dst, o.Tag)
	}
	if o.HasCQData() {
		dst = le.AppendUint64(dst, o.CQData)
	}
	if o.HasSAR() {
		if o.Type.HasRMA() {
			o.SAR.IOVCount = uint8(o.NRMA)
		}
		dst = le.AppendUint64(dst, o.SAR.Size)
		dst = le.AppendUint64(dst, o.SAR.NumSegs)
		dst = le.AppendUint64(dst, uint64(o.SAR.TxID)|uint64(o.SAR.IOVCount)<<32)
	}
	if o.Type.HasRMA() {
		for _, v := range o.RMA[:o.NRMA] {
			dst = le.AppendUint64(dst, v.Addr)
			dst = le.AppendUint64(dst, v.Len)
			dst = le.AppendUint64(dst, v.Key)
		}
	}
	if o.Type.HasAtom() {
		dst = le.AppendUint64(dst, uint64(o.AtomDatatype)|uint64(o.AtomOp)<<32)
	}
	return dst
}
