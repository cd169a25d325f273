package wire

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// CMType is the type of a connection management message.
type CMType uint8

// The types. The numbers between are other uses of the same native header (struct ofi_ctrl_hdr).
const (
	CMConnReq  CMType = 0 // fi_connect(3): the first bytes on a stream
	CMConnResp CMType = 1 // fi_accept(3): the first bytes of the answer
	CMReject   CMType = 6 // fi_reject(3): instead of CMConnResp, then closed
	// CMAuth messages go in both directions between a CMConnReq with FeatureAuth and its answer. They prove that
	// both ends have the same authorization key. Native has nothing like them.
	CMAuth CMType = 0x41
)

// String returns connreq, connresp, reject, auth, or cm(N) for an unknown type.
func (t CMType) String() string {
	switch t {
	case CMConnReq:
		return "connreq"
	case CMConnResp:
		return "connresp"
	case CMReject:
		return "reject"
	case CMAuth:
		return "auth"
	}
	return "cm(" + strconv.Itoa(int(t)) + ")"
}

// CM is a connection management message.
type CM struct {
	Type       CMType
	OrderMark  uint64 // as read in little-endian order: 1 from a little-endian end
	SwapNeeded bool   // the sender is big-endian: the connection's Order is Big
	Features   uint32 // of a gofabric peer (FeatureExtended and others); native sends 0
	Nonce      uint64 // of a gofabric peer with FeatureAuth: its random number; otherwise 0
	Data       []byte // private data; a part of the parsed slice
}

// orderMark is the number that every end writes in its own byte order.
const orderMark = 1

// AppendCM appends an encoded message with private data. It allocates only if dst lacks room. More than MaxCMData
// bytes of data are a bug of the caller and panic. A rejection has no order mark, like native's.
func AppendCM(dst []byte, t CMType, data []byte) []byte { return AppendCMFeatures(dst, t, 0, data) }

// Features that a gofabric peer announces.
const (
	// FeatureExtended says that the sender takes OpExt and the other operations of gofabric.
	FeatureExtended = 1
	// FeatureDirect says that the sender is a layer over connections (rxm) that uses the stream's own operations on
	// this connection, without packets.
	FeatureDirect = 2
	// FeatureAuth says that the sender has an authorization key and connects only with peers that have the same. In
	// a CMReject it says that this is the reason.
	FeatureAuth = 4
	// FeatureSeals says that the sender seals its single-copy messages (ExtSealed) and accepts no others.
	FeatureSeals = 8
	// FeatureVerdicts says that the sender reports the result of each remote access (Verdict), and wants these
	// reports.
	FeatureVerdicts = 16
	// FeatureEnd says that the sender sends ExtEnd before it ends the stream in order. A stream that ends without
	// it has broken.
	FeatureEnd = 32
	// FeatureShow says that the sender proves over a local socket which process it is (ExtChallenge), and demands
	// that proof before it reads a peer's memory.
	FeatureShow = 64
)

// extMagic in conn_id, which native neither sets nor reads, says that seg_no beside it has features.
const extMagic = 0x636972626166_6f67 // "gofabric"

// AppendCMFeatures is AppendCM with the sender's features.
func AppendCMFeatures(dst []byte, t CMType, features uint32, data []byte) []byte {
	return AppendCMAuth(dst, t, features, 0, data)
}

// AppendCMAuth is AppendCMFeatures with the sender's random number, which the proofs of the key cover.
func AppendCMAuth(dst []byte, t CMType, features uint32, nonce uint64, data []byte) []byte {
	if len(data) > MaxCMData {
		panic("xnet: more private data than MaxCMData")
	}
	dst = append(dst, CMVersion, byte(t))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(data)))
	var mark uint64
	if t != CMReject {
		mark = orderMark
	}
	magic := uint64(0)
	if features != 0 {
		magic = extMagic
	}
	dst = le.AppendUint32(dst, features) // native uses neither seg_no nor conn_id nor msg_id
	dst = le.AppendUint64(dst, magic)
	dst = le.AppendUint64(dst, nonce)
	dst = le.AppendUint64(dst, mark)
	return append(dst, data...)
}

// CMLen is the length of the message that begins with b, or of its header if b does not have the length yet.
func CMLen(b []byte) int {
	if len(b) < CMHeaderLen {
		return CMHeaderLen
	}
	return CMHeaderLen + int(binary.BigEndian.Uint16(b[2:]))
}

// ParseCM reads the message at the start of b; n is its length in bytes. ErrShort asks for more bytes. A sender of
// something else is refused at its first byte. The caller checks whether it expects the type. The order mark of a
// rejection is ignored, because native leaves it 0.
func ParseCM(b []byte) (cm CM, n int, err error) {
	if len(b) > 0 && b[0] != CMVersion {
		return CM{}, 0, ErrVersion
	}
	if len(b) > 1 {
		cm.Type = CMType(b[1])
		if cm.Type != CMConnReq && cm.Type != CMConnResp && cm.Type != CMReject && cm.Type != CMAuth {
			return CM{}, 0, ErrOp
		}
	}
	if len(b) < CMHeaderLen {
		return CM{}, 0, ErrShort
	}
	size := int(binary.BigEndian.Uint16(b[2:]))
	if size > MaxCMData {
		return CM{}, 0, ErrSize
	}
	cm.OrderMark = le.Uint64(b[24:])
	cm.SwapNeeded = cm.OrderMark == bits.ReverseBytes64(orderMark)
	if cm.OrderMark != orderMark && !cm.SwapNeeded && cm.Type != CMReject {
		return CM{}, 0, ErrOrder
	}
	if le.Uint64(b[8:]) == extMagic {
		if cm.Features = le.Uint32(b[4:]); cm.Features&FeatureAuth != 0 {
			cm.Nonce = le.Uint64(b[16:])
		}
	}
	n = CMLen(b)
	if len(b) < n {
		return CM{}, 0, ErrShort
	}
	cm.Data = b[CMHeaderLen:n:n]
	return cm, n, nil
}
