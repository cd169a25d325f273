package pmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Field is a name and its value.
type Field struct{ Name, Value string }

// Message is a command or an answer: a list of fields. The first is cmd.
type Message []Field

// maxFields is the largest number of fields in a message. The longest known one has ten.
const maxFields = 64

// Get returns the value of the first field of a name, "" if there is none.
func (m Message) Get(name string) string {
	for _, f := range m {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Number returns the value of a field as a number from 0 to most.
func (m Message) Number(name string, most int) (int, error) {
	n, err := strconv.Atoi(m.Get(name))
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("the launcher's %s has %s=%.40q, which is not a number from 0 to %d", m.Get("cmd"), name, m.Get(name), most)
	}
	return n, nil
}

// ErrRefused means that the launcher refused a command.
var ErrRefused = errors.New("the launcher refused the request")

// Check returns an error unless m is a successful answer with the command cmd.
func (m Message) Check(cmd string) error {
	if m.Get("cmd") != cmd {
		return fmt.Errorf("the launcher answered %.80q where %s was expected", m.Get("cmd"), cmd)
	}
	if rc := m.Get("rc"); rc != "" && rc != "0" {
		why := m.Get("msg") + m.Get("errmsg") // of PMI-1 and of PMI-2
		return fmt.Errorf("%w: %s with rc=%.20q %.200q", ErrRefused, cmd, rc, why)
	}
	return nil
}

// MaxMessage is the length of the longest message, in bytes. Values have at most about a kilobyte (get_maxes).
const MaxMessage = 64 << 10

// Dialect is the encoding of messages.
type Dialect interface {
	// Append appends the bytes of m.
	Append(to []byte, m Message) []byte
	// Next returns the first message in data and its length in bytes, 0 if the message is incomplete.
	Next(data []byte) (Message, int, error)
}

// V1 is PMI-1: cmd=put kvsname=a key=b value=c, and a line feed. Values have no spaces.
type V1 struct{}

func (V1) Append(to []byte, m Message) []byte {
	for i, f := range m {
		if i > 0 {
			to = append(to, ' ')
		}
		to = append(append(append(to, f.Name...), '='), f.Value...)
	}
	return append(to, '\n')
}

func (V1) Next(data []byte) (Message, int, error) {
	text := string(data[:min(len(data), MaxMessage)])
	line, _, ok := strings.Cut(text, "\n")
	if !ok {
		if len(data) >= MaxMessage {
			return nil, 0, fmt.Errorf("the launcher sent a line of more than %d bytes", MaxMessage)
		}
		return nil, 0, nil
	}
	var m Message
	for word := range strings.FieldsSeq(line) {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !ok && len(m) == 0, name == "", len(m) == maxFields:
			return nil, 0, fmt.Errorf("the launcher sent %.80q, which is not a message of PMI-1", line)
		case !ok: // an explanation in words
			m[len(m)-1].Value += " " + word
		default:
			m = append(m, Field{name, value})
		}
	}
	if len(m) == 0 || m[0].Name != "cmd" {
		return nil, 0, fmt.Errorf("the launcher sent %.80q, which is not a message of PMI-1", line)
	}
	return m, len(line) + 1, nil
}

// V2 is PMI-2: the length in six characters, then cmd=kvs-put;key=b;value=c; with semicolons in values doubled.
type V2 struct{}

// lengthBytes is the size of a frame's length. Hydra pads it with spaces on the left, Slurm on the right.
const lengthBytes = 6

func (V2) Append(to []byte, m Message) []byte {
	at := len(to)
	to = append(to, "      "...)
	for _, f := range m {
		to = append(append(append(to, f.Name...), '='), strings.ReplaceAll(f.Value, ";", ";;")...)
		to = append(to, ';')
	}
	copy(to[at:], fmt.Sprintf("%*d", lengthBytes, len(to)-at-lengthBytes))
	return to
}

func (V2) Next(data []byte) (Message, int, error) {
	if len(data) < lengthBytes {
		return nil, 0, nil
	}
	n, err := strconv.ParseUint(strings.Trim(string(data[:lengthBytes]), " "), 10, 31)
	if err != nil || n == 0 || n > MaxMessage {
		return nil, 0, fmt.Errorf("the launcher sent %q where PMI-2 has the length of a message", data[:lengthBytes])
	}
	if uint64(len(data)-lengthBytes) < n {
		return nil, 0, nil
	}
	m, err := parseFrame(string(data[lengthBytes : lengthBytes+n]))
	if err != nil {
		return nil, 0, err
	}
	return m, lengthBytes + int(n), nil
}

// parseFrame parses the body of a frame.
func parseFrame(body string) (Message, error) {
	bad := func() (Message, error) {
		return nil, fmt.Errorf("the launcher sent %.80q, which is not a message of PMI-2", body)
	}
	var m Message
	for rest := body; rest != ""; {
		name, after, ok := strings.Cut(rest, "=")
		if !ok || name == "" || strings.Contains(name, ";") || len(m) == maxFields {
			return bad()
		}
		var value strings.Builder
		for {
			part, tail, ok := strings.Cut(after, ";")
			if !ok {
				return bad()
			}
			value.WriteString(part)
			if !strings.HasPrefix(tail, ";") {
				rest = tail
				break
			}
			value.WriteByte(';')
			after = tail[1:]
		}
		m = append(m, Field{name, value.String()})
	}
	if len(m) == 0 || m[0].Name != "cmd" {
		return bad()
	}
	return m, nil
}
