package wire

// Data is the header of DATA and DATA_READ (struct rxd_data_pkt): a further packet of an operation, or a packet of
// an answer.
type Data struct {
	Base
	TxID  uint32 // DATA_READ: SAR.TxID of the request; DATA: the sender's own, without meaning to the receiver
	RxID  uint32 // no meaning; native leaves garbage
	SegNo uint64 // from 0: the segment after the first packet of a message or write, the first segment of an answer
}

// Parse reads a packet and returns its payload, a part of pkt.
func (d *Data) Parse(pkt []byte) (payload []byte, err error) {
	if d.Base, err = ParseBase(pkt); err != nil {
		return nil, err
	}
	if d.Type != TypeData && d.Type != TypeDataRead {
		return nil, ErrType
	}
	if len(pkt) < DataLen {
		return nil, ErrShort
	}
	d.TxID, d.RxID, d.SegNo = le.Uint32(pkt[16:]), le.Uint32(pkt[20:]), le.Uint64(pkt[24:])
	return pkt[DataLen:], nil
}

// Append appends the encoded header to dst. The payload follows it.
func (d *Data) Append(dst []byte) []byte {
	return appendExt(d.Base.Append(dst), d.TxID, d.RxID, d.SegNo)
}

// appendExt appends the fields behind Base (struct rxd_ext_hdr).
func appendExt(dst []byte, tx, rx uint32, seg uint64) []byte {
	dst = le.AppendUint64(dst, uint64(tx)|uint64(rx)<<32)
	return le.AppendUint64(dst, seg)
}

// Ack is an acknowledgement (struct rxd_ack_pkt): all packets before Seq have arrived. The window is in the field
// that DATA calls rx id.
type Ack struct {
	Base
	// Window is how many packets the other end may have unacknowledged; 0 refuses the next operation. The upper
	// half of the field is ignored, as native does.
	Window uint16
	TxID   uint32 // native leaves garbage
}

// Parse reads a packet. Bytes behind it are ignored.
func (a *Ack) Parse(pkt []byte) (err error) {
	if a.Base, err = ParseBase(pkt); err != nil {
		return err
	}
	if a.Type != TypeAck {
		return ErrType
	}
	if len(pkt) < AckLen {
		return ErrShort
	}
	a.TxID, a.Window = le.Uint32(pkt[16:]), le.Uint16(pkt[20:])
	return nil
}

// Append appends the encoded packet to dst.
func (a *Ack) Append(dst []byte) []byte {
	return appendExt(a.Base.Append(dst), a.TxID, uint32(a.Window), 0)
}
