package dump

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
)

// WriteLine prints a record as a line: time, source and destination, format, operation, the rest. Times are UTC.
func (r *Record) WriteLine(w io.Writer) error {
	b := r.Time.UTC().AppendFormat(nil, "15:04:05.000000")
	b = append(b, ' ')
	b = r.Src.AppendTo(b)
	b = append(b, " > "...)
	b = r.Dst.AppendTo(b)
	b = append(append(b, ' '), r.Proto...)
	op := r.Op
	if r.Problem {
		op = "damaged:"
	}
	for _, s := range []string{op, r.Text} {
		if s != "" {
			b = append(append(b, ' '), s...)
		}
	}
	_, err := w.Write(append(b, '\n'))
	return err
}

// WriteVerbose prints the line, and below it the bytes of header and payload.
func (r *Record) WriteVerbose(w io.Writer) error {
	bw := bufio.NewWriter(w)
	if err := r.WriteLine(bw); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		b    []byte
	}{{"header", r.Header}, {"payload", r.Payload}} {
		if len(part.b) == 0 {
			continue
		}
		bw.WriteString("    " + part.name + "\n")
		for line := range strings.Lines(hex.Dump(part.b)) {
			bw.WriteString("    " + line)
		}
	}
	return bw.Flush()
}

// WriteJSON prints the record as one line of JSON.
func (r *Record) WriteJSON(w io.Writer) error {
	line := struct {
		Time    string `json:"time"`
		Src     string `json:"src"`
		Dst     string `json:"dst"`
		Proto   string `json:"proto"`
		Op      string `json:"op,omitempty"`
		Offset  uint64 `json:"offset"`
		Problem string `json:"problem,omitempty"`
		Fields  any    `json:"fields,omitempty"`
		Payload string `json:"payload,omitempty"` // hexadecimal
	}{Time: r.Time.UTC().Format("2006-01-02T15:04:05.000000000Z"), Src: r.Src.String(), Dst: r.Dst.String(), Proto: r.Proto, Op: r.Op,
		Offset: r.Offset, Fields: r.Fields, Payload: hex.EncodeToString(r.Payload)}
	if r.Problem {
		line.Problem = r.Text
	}
	return json.NewEncoder(w).Encode(line)
}
