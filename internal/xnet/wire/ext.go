package wire

// OpExt carries messages that only gofabric peers exchange. Its payload has at most MaxExt bytes and begins with an
// ExtKind. It is sent only to peers that announced FeatureExtended. All numbers in it are little-endian.
const OpExt Op = 0x30

// MaxExt is the longest payload of an OpExt, in bytes.
const MaxExt = 128

// ExtKind is the kind of an OpExt. docs/wire/tcp.md has their use: 1 to 7 and 11 are for single copy, 9 and 10 for
// parting, 16 and 17 for moving to a socket of the host.
type ExtKind uint8

const (
	ExtHello     ExtKind = 1  // which process the sender is; asks to have its memory read
	ExtChallenge ExtKind = 2  // bytes to put into memory and to show at a local socket
	ExtProof     ExtKind = 3  // where these bytes are
	ExtReady     ExtKind = 4  // the sender has read them: it copies messages from now on
	ExtRefuse    ExtKind = 5  // the sender does not copy messages, or no longer
	ExtRef       ExtKind = 6  // announces a message that a layer below carries (Ref)
	ExtDone      ExtKind = 7  // the announced message was copied
	ExtMatched   ExtKind = 8  // a message with FlagMatch has met its receive
	ExtBye       ExtKind = 9  // the sender has nothing to send, and would close the connection
	ExtStay      ExtKind = 10 // the sender wants to keep the connection
	ExtSealed    ExtKind = 11 // announces a single-copy message; its seal is broken before its buffer is used again
	// 13 to 15: see verdict.go
	ExtOffer ExtKind = 16 // the sender listens at a socket of this host
	ExtMoved ExtKind = 17 // the sender's next byte is there
	ExtEnd   ExtKind = 18 // the sender sends no more messages: only answers follow, and the end of the stream
)

// SealLen is the length of a challenge and of a seal, in bytes.
const SealLen = 16

// Seal returns the seal of the message with this number: the first half of the challenge, and the number. The
// sender's memory holds it as long as the message may be copied.
func Seal(challenge *[SealLen]byte, number uint64) (s [SealLen]byte) {
	copy(s[:8], challenge[:8])
	le.PutUint64(s[8:], number)
	return s
}

// Hello is an ExtHello: the identity of a process. Host, PIDNS and PID say which one it is; Process is a random
// secret.
type Hello struct {
	Host, Process [16]byte
	PIDNS         uint64
	PID           uint32
}

// helloLen is the length of an ExtHello, in bytes.
const helloLen = 4 + 4 + 8 + 16 + 16

// Append appends the encoded message to b.
func (h *Hello) Append(b []byte) []byte {
	b = append(b, byte(ExtHello), 0, 0, 0)
	b = le.AppendUint32(b, h.PID)
	b = le.AppendUint64(b, h.PIDNS)
	b = append(b, h.Host[:]...)
	return append(b, h.Process[:]...)
}

// ParseHello reads an ExtHello.
func ParseHello(b []byte) (h Hello, err error) {
	if len(b) < helloLen {
		return Hello{}, ErrShort
	}
	h.PID, h.PIDNS = le.Uint32(b[4:]), le.Uint64(b[8:])
	copy(h.Host[:], b[16:])
	copy(h.Process[:], b[32:])
	return h, nil
}

// Challenge is an ExtChallenge: bytes that the peer must have in its memory, and the name of the local socket where
// its process must show them.
type Challenge struct {
	Seal  [SealLen]byte
	Place [NameLen]byte
}

// Append appends the encoded message to b.
func (c *Challenge) Append(b []byte) []byte {
	b = append(b, byte(ExtChallenge), 0, 0, 0, 0, 0, 0, 0)
	b = append(b, c.Seal[:]...)
	return append(b, c.Place[:]...)
}

// ParseChallenge reads an ExtChallenge.
func ParseChallenge(b []byte) (c Challenge, err error) {
	if len(b) < 8+SealLen+NameLen {
		return Challenge{}, ErrShort
	}
	copy(c.Seal[:], b[8:])
	copy(c.Place[:], b[8+SealLen:])
	return c, nil
}

// AppendProof appends an ExtProof: the address of the challenge.
func AppendProof(b []byte, addr uint64) []byte {
	return le.AppendUint64(append(b, byte(ExtProof), 0, 0, 0, 0, 0, 0, 0), addr)
}

// ParseProof reads an ExtProof.
func ParseProof(b []byte) (addr uint64, err error) {
	if len(b) < 16 {
		return 0, ErrShort
	}
	return le.Uint64(b[8:]), nil
}

// AppendExtIndex appends an ExtReady, ExtRefuse, ExtBye or ExtStay (index 0), or an ExtDone.
func AppendExtIndex(b []byte, kind ExtKind, index uint8) []byte {
	return append(b, byte(kind), index, 0, 0)
}

// AppendEnd appends an ExtEnd. all says that the sender receives no more messages, either.
func AppendEnd(b []byte, all bool) []byte { return append(b, byte(ExtEnd), flag(all), 0, 0) }

// EndsAll returns the field all of an ExtEnd.
func EndsAll(b []byte) bool { return len(b) >= 2 && b[1] == 1 }

// MatchedLen is the length of an ExtMatched, in bytes.
const MatchedLen = 8

// AppendMatched appends an ExtMatched. id is the number of the message among those with FlagMatch in one direction,
// from 0.
func AppendMatched(b []byte, id uint32) []byte {
	return le.AppendUint32(append(b, byte(ExtMatched), 0, 0, 0), id)
}

// ParseMatched reads an ExtMatched.
func ParseMatched(b []byte) (id uint32, err error) {
	if len(b) < MatchedLen {
		return 0, ErrShort
	}
	return le.Uint32(b[4:]), nil
}

// NameLen is the length of the name and of the token in an ExtOffer, in bytes.
const NameLen = 16

// Offer is an ExtOffer: where the sender listens for processes of its host, and the token by which it recognises
// the peer.
type Offer struct {
	Name, Token [NameLen]byte
	Memory      bool // shared memory may come with the token
}

// offerLen is the length of an ExtOffer, in bytes.
const offerLen = 4 + 2*NameLen

// Append appends the encoded message to b.
func (o *Offer) Append(b []byte) []byte {
	b = append(b, byte(ExtOffer), flag(o.Memory), 0, 0)
	b = append(b, o.Name[:]...)
	return append(b, o.Token[:]...)
}

// ParseOffer reads an ExtOffer.
func ParseOffer(b []byte) (o Offer, err error) {
	if len(b) < offerLen {
		return Offer{}, ErrShort
	}
	copy(o.Name[:], b[4:])
	copy(o.Token[:], b[4+NameLen:])
	o.Memory = b[1] == 1
	return o, nil
}

// flag encodes a bool.
func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// AppendMoved appends an ExtMoved. memory says that shared memory came with the token, and that the stream
// continues there.
func AppendMoved(b []byte, memory bool) []byte { return append(b, byte(ExtMoved), flag(memory), 0, 0) }

// MovedMemory returns the field memory of an ExtMoved.
func MovedMemory(b []byte) bool { return len(b) >= 2 && b[1] == 1 }
