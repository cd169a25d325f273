package wire

// OpExt carries what only gofabric knows, as a payload of at most MaxExt bytes whose first byte is an ExtKind. It is sent to peers that announced
// FeatureExtended when they connected. All numbers in it are little-endian.
const OpExt Op = 0x30

// MaxExt is the longest payload of an OpExt, bytes.
const MaxExt = 128

// ExtKind says what an OpExt is about. The kinds here serve single-copy transfers between processes of a host, see docs/wire/tcp.md.
type ExtKind uint8

const (
	ExtHello     ExtKind = 1  // who am I: may you read my memory?
	ExtChallenge ExtKind = 2  // perhaps: put these bytes into your memory, and show yourself at this socket
	ExtProof     ExtKind = 3  // here they are
	ExtReady     ExtKind = 4  // I have read them: send by reference
	ExtRefuse    ExtKind = 5  // no, or not any more
	ExtRef       ExtKind = 6  // a message that a layer below carries (Ref)
	ExtDone      ExtKind = 7  // it is copied
	ExtMatched   ExtKind = 8  // a message with FlagMatch has found its receive
	ExtBye       ExtKind = 9  // I have nothing more to say
	ExtStay      ExtKind = 10 // but I have: go on
	ExtSealed    ExtKind = 11 // a message by reference, with a seal that is broken before its memory is used again
	// 13 to 15: see verdict.go
	ExtOffer ExtKind = 16 // meet me at a socket of this host
	ExtMoved ExtKind = 17 // my next byte is there
	ExtEnd   ExtKind = 18 // I send no more messages: what follows are answers, and the end of the stream
)

// SealLen is the length of a challenge, and of a seal, bytes.
const SealLen = 16

// Seal is what stands in the sender's memory as long as a message of this number may be copied from there: the first half of the challenge, and the number.
func Seal(challenge *[SealLen]byte, number uint64) (s [SealLen]byte) {
	copy(s[:8], challenge[:8])
	le.PutUint64(s[8:], number)
	return s
}

// Hello is an ExtHello.
type Hello struct {
	Host, Process [16]byte
	PIDNS         uint64
	PID           uint32
}

const helloLen = 4 + 4 + 8 + 16 + 16

// Append appends the encoded message.
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

// Challenge is an ExtChallenge: bytes that the peer is to have in its memory, and the name of the socket where its process is to show itself with them.
type Challenge struct {
	Seal  [SealLen]byte
	Place [NameLen]byte
}

// Append appends the encoded message.
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

// AppendProof appends an ExtProof: where the challenge stands.
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

// AppendExtIndex appends an ExtReady, ExtRefuse, ExtBye, ExtStay (index 0) or ExtDone.
func AppendExtIndex(b []byte, kind ExtKind, index uint8) []byte {
	return append(b, byte(kind), index, 0, 0)
}

// AppendEnd appends an ExtEnd; all says that the sender receives no more messages either.
func AppendEnd(b []byte, all bool) []byte { return append(b, byte(ExtEnd), flag(all), 0, 0) }

// EndsAll reads an ExtEnd.
func EndsAll(b []byte) bool { return len(b) >= 2 && b[1] == 1 }

// MatchedLen is the length of an ExtMatched, bytes.
const MatchedLen = 8

// AppendMatched appends an ExtMatched: id counts the messages with FlagMatch of one direction, from 0.
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

// NameLen is the length of the name and of the token in an ExtOffer.
const NameLen = 16

// Offer is an ExtOffer: where the sender listens for processes of its host, and the token by which it recognises the peer.
type Offer struct {
	Name, Token [NameLen]byte
	Memory      bool // shared memory may come with the token
}

const offerLen = 4 + 2*NameLen

// Append appends the encoded message.
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

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// AppendMoved appends an ExtMoved; memory says that shared memory came with the token, and that the stream goes on there.
func AppendMoved(b []byte, memory bool) []byte { return append(b, byte(ExtMoved), flag(memory), 0, 0) }

// MovedMemory reads an ExtMoved.
func MovedMemory(b []byte) bool { return len(b) >= 2 && b[1] == 1 }
