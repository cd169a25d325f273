package capture

import (
	"errors"
	"io"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// Writer writes Ethernet frames into a pcapng file. It is for one goroutine.
type Writer struct {
	w     *pcapgo.NgWriter
	faces int
}

// NewWriter begins a capture of interfaces with these names.
func NewWriter(w io.Writer, interfaces []string) (*Writer, error) {
	if len(interfaces) == 0 {
		return nil, errors.New("capture: no interfaces")
	}
	describe := func(name string) pcapgo.NgInterface {
		i := pcapgo.DefaultNgInterface
		i.Name, i.LinkType, i.SnapLength = name, layers.LinkTypeEthernet, 0
		return i
	}
	ng, err := pcapgo.NewNgWriterInterface(w, describe(interfaces[0]), pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: "gofabric"}})
	if err != nil {
		return nil, err
	}
	for _, name := range interfaces[1:] {
		if _, err := ng.AddInterface(describe(name)); err != nil {
			return nil, err
		}
	}
	return &Writer{ng, len(interfaces)}, nil
}

// Write adds a frame of interface number face.
func (w *Writer) Write(face int, at time.Time, frame []byte) error {
	if face < 0 || face >= w.faces {
		return errors.New("capture: the frame's interface does not exist")
	}
	return w.w.WritePacket(gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(frame), Length: len(frame), InterfaceIndex: face}, frame)
}

// Flush hands what was written to the file.
func (w *Writer) Flush() error { return w.w.Flush() }
