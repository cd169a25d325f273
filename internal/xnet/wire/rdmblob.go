package wire

import "encoding/binary"

// RDMBlob is the data that RDM endpoints put into the private data of a connection request, its answer and its
// rejection (struct xnet_rdm_cm of prov/tcp).
type RDMBlob struct {
	Version  uint8  // in an answer the lower of both ends', with RDMVersionFlag if the request's was not 0
	Features uint8  // FeatureFirewall
	Port     uint16 // where the sender listens; with the stream's source address it identifies the sender
	PID      uint32 // process id; another one in a request means that the peer was restarted
}

// FeatureFirewall says that the sender accepts no connections: use this one or none (FI_FIREWALL_ADDR, fi_tcp(7)).
const FeatureFirewall = 1

// Append appends the encoded blob to dst.
func (r RDMBlob) Append(dst []byte) []byte {
	dst = append(dst, r.Version, r.Features)
	dst = binary.BigEndian.AppendUint16(dst, r.Port)
	return binary.BigEndian.AppendUint32(dst, r.PID)
}

// ParseRDMBlob reads the blob at the start of b. Bytes behind it are ignored, so that later versions can add
// fields. Fewer than RDMBlobLen give ErrShort.
func ParseRDMBlob(b []byte) (RDMBlob, error) {
	if len(b) < RDMBlobLen {
		return RDMBlob{}, ErrShort
	}
	return RDMBlob{
		Version:  b[0],
		Features: b[1],
		Port:     binary.BigEndian.Uint16(b[2:]),
		PID:      binary.BigEndian.Uint32(b[4:]),
	}, nil
}
