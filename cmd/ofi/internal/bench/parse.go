package bench

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// This file parses the output of native tools.

// parseOutput returns the microseconds per message of a tool's only line of figures.
func parseOutput(pingpong bool, out string) (float64, error) {
	if pingpong {
		return parseTable(out)
	}
	return parseMachine(out)
}

// parseMachine reads the output of fabtests -m: - { xfer_size: 64, ..., usec/xfer: 4.99, Mxfers/sec: 0.2 }
func parseMachine(out string) (float64, error) {
	for line := range strings.Lines(out) {
		body, ok := strings.CutPrefix(strings.TrimSpace(line), "- {")
		if !ok {
			continue
		}
		for field := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(body), "}"), ",") {
			name, value, _ := strings.Cut(field, ":")
			if strings.TrimSpace(name) == "usec/xfer" {
				return positive(value)
			}
		}
	}
	return 0, errors.New("no line with usec/xfer")
}

// parseTable reads the table of fi_pingpong, and of fabtests without -m.
func parseTable(out string) (float64, error) {
	column := -1
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if column >= 0 && column < len(fields) {
			return positive(fields[column])
		}
		for i, f := range fields {
			if f == "usec/xfer" {
				column = i
			}
		}
	}
	return 0, errors.New("no column usec/xfer")
}

func positive(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err == nil && !(v > 0 && v < 1e12) {
		err = fmt.Errorf("usec/xfer is %v", v)
	}
	return v, err
}

// lastLine returns the last line of an output, for error messages.
func lastLine(out []byte) string {
	s := strings.TrimSpace(string(out))
	if i := strings.LastIndexByte(s, '\n'); i >= 0 {
		s = s[i+1:]
	}
	return s[:min(len(s), 300)]
}
