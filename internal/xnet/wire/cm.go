package wire

import (
	"encoding/binary"
	"math/bits"
	"strconv"
)

// CMType is the type of a connection management message.
type CMType uint8

// The types. The numbers between are other uses of the same native header.
const (
	CMConnReq  CMType = 0 // fi_connect(3): the first bytes on a stream
	CMConnResp CMType = 1 // fi_accept(3): the first bytes of the answer
	CMReject   CMType = 6 // fi_reject(3): instead of CMConnResp, then closed
	// CMAuth goes to and fro between a CMConnReq with FeatureAuth and its answer, to prove that both ends have the same authorization key. Native has nothing
	// like it.
	CMAuth CMType = 0x41
)

// String is connreq, connresp, reject, auth, or cm(N) for an unknown one.
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
	Features   uint32 // FeatureExtended and so on, from a gofabric peer; native sends 0
	Nonce      uint64 // from a gofabric peer with FeatureAuth: the number that it drew; 0 otherwise
	Data       []byte // private data; points into the parsed bytes
}

// orderMark is what every end writes in its own byte order.
const orderMark = 1

// AppendCM appends an encoded message with private data. It allocates only if
// dst lacks room. More than MaxCMData bytes of data are the caller's mistake
// and panic. Like native, a rejection carries no order mark.
func AppendCM(dst []byte, t CMType, data []byte) []byte { return AppendCMFeatures(dst, t, 0, data) }

// What a gofabric peer can say of itself.
const (
	// FeatureExtended says that the sender understands OpExt and the other operations that only gofabric has.
	FeatureExtended = 1
	// FeatureDirect says that the sender, a layer over connections, has no protocol of its own on this one: its operations are the stream's.
	FeatureDirect = 2
	// FeatureAuth says that the sender has an authorization key and talks to those only that have it, too; in a CMReject: that this is why.
	FeatureAuth = 4
	// FeatureSeals says that the sender seals each message that it sends by reference (ExtSealed), and takes no other from a peer.
	FeatureSeals = 8
	// FeatureVerdicts says that the sender tells what becomes of each remote access, and wants to be told (Verdict).
	FeatureVerdicts = 16
	// FeatureEnd says that the sender says ExtEnd before it ends the stream in good order, and so that a stream that ends without has broken.
	FeatureEnd = 32
	// FeatureShow says that the sender shows at a local socket which process it is (ExtChallenge), and has this shown before it reads a peer's memory.
	FeatureShow = 64
)

// extMagic in a field that native neither sets nor reads (conn_id) says that seg_no beside it holds features.
const extMagic = 0x636972626166_6f67 // "gofabric"

// AppendCMFeatures is AppendCM with what a gofabric peer should know of the sender.
func AppendCMFeatures(dst []byte, t CMType, features uint32, data []byte) []byte {
	return AppendCMAuth(dst, t, features, 0, data)
}

// AppendCMAuth is AppendCMFeatures with the number that the sender drew to have its peer's key proved.
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
	dst = le.AppendUint32(dst, features) // seg_no, conn_id and msg_id are not used by native
	dst = le.AppendUint64(dst, magic)
	dst = le.AppendUint64(dst, nonce)
	dst = le.AppendUint64(dst, mark)
	return append(dst, data...)
}

// CMLen is how long a message is that begins with b, as far as b tells: at least its header.
func CMLen(b []byte) int {
	if len(b) < CMHeaderLen {
		return CMHeaderLen
	}
	return CMHeaderLen + int(binary.BigEndian.Uint16(b[2:]))
}

// ParseCM reads the message at the start of b; n is how many bytes it has.
// ErrShort asks for more bytes; a sender of something else is refused at its
// first byte. Whether the type is the one awaited is for the caller to see.
// The order mark of a rejection is not looked at: native leaves it zero.
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
