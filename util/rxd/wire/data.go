package wire

// Data is the header of DATA and DATA_READ: a segment of an operation whose first packet said the rest.
type Data struct {
	Base
	TxID  uint32 // DATA_READ: SAR.TxID of the request; DATA: the sender's, of no use to the receiver
	RxID  uint32 // of no use; native leaves garbage
	SegNo uint64 // from 0: the segment after the op packet of a message or write, the first segment of a DATA_READ
}

// Parse reads a packet; the payload is what follows the header.
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

// Append appends the encoded header to dst; the payload goes behind it.
func (d *Data) Append(dst []byte) []byte {
	return appendExt(d.Base.Append(dst), d.TxID, d.RxID, d.SegNo)
}

// appendExt appends what DATA and ACK have behind Base.
func appendExt(dst []byte, tx, rx uint32, seg uint64) []byte {
	dst = le.AppendUint64(dst, uint64(tx)|uint64(rx)<<32)
	return le.AppendUint64(dst, seg)
}

// Ack is an acknowledgement: all packets before Seq have come. On the wire the window is in the field that DATA calls rx id.
type Ack struct {
	Base
	Window uint16 // packets that the sender of DATA may have unacknowledged; 0 stops it. The upper half of the field is ignored, as native does
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
