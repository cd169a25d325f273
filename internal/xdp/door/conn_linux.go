package door

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Conn is one side of a conversation.
type Conn struct {
	c   *net.UnixConn
	buf [MessageMax + 1]byte
	oob []byte
}

// New takes a connection over.
func New(c *net.UnixConn) *Conn { return &Conn{c: c, oob: make([]byte, unix.CmsgSpace(4*filesMax))} }

// Dial connects to a daemon's socket.
func Dial(path string) (*Conn, error) {
	c, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: path, Net: "unixpacket"})
	if err != nil {
		return nil, err
	}
	return New(c), nil
}

// Close ends the conversation.
func (c *Conn) Close() error { return c.c.Close() }

// SetDeadline bounds the calls that follow.
func (c *Conn) SetDeadline(t time.Time) error { return c.c.SetDeadline(t) }

// Send sends a message, and descriptors, which stay the caller's.
func (c *Conn) Send(v any, files ...int) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > MessageMax || len(files) > filesMax {
		return fmt.Errorf("a message of %d bytes with %d descriptors is too long", len(b), len(files))
	}
	var rights []byte
	if len(files) > 0 {
		rights = unix.UnixRights(files...)
	}
	_, _, err = c.c.WriteMsgUnix(b, rights, nil)
	return err
}

// Receive fills v with the next message, strictly, and returns the descriptors beside it, at most max: they are the caller's. io.EOF: the other side has gone.
// An error leaves no descriptor behind.
func (c *Conn) Receive(v any, max int) ([]int, error) {
	n, oobn, flags, _, err := c.c.ReadMsgUnix(c.buf[:], c.oob)
	if err != nil {
		return nil, err
	}
	files, err := descriptors(c.oob[:oobn])
	switch {
	case err != nil:
	case n == 0:
		err = io.EOF
	case flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 || n > MessageMax:
		err = errors.New("a message that is too long")
	case len(files) > max:
		err = fmt.Errorf("%d descriptors where %d are wanted at most", len(files), max)
	default:
		err = decode(c.buf[:n], v)
	}
	if err != nil {
		CloseAll(files)
		return nil, err
	}
	return files, nil
}

func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one JSON value")
	}
	return nil
}

// descriptors reads them out of control messages (SCM_RIGHTS, unix(7)); with an error there may still be some.
func descriptors(oob []byte) (files []int, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	all, err := unix.ParseSocketControlMessage(oob)
	for k := range all {
		f, bad := unix.ParseUnixRights(&all[k])
		files, err = append(files, f...), errors.Join(err, bad)
	}
	return files, err
}

// CloseAll closes descriptors.
func CloseAll(files []int) {
	for _, f := range files {
		unix.Close(f)
	}
}
