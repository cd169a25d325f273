package features

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"gofabric/test/conform/record"
)

//go:embed api.txt
var apiText string

// section is a table of the page.
type section struct {
	title string
	rows  []*row
}

// row is a call, flag, value or option.
type row struct {
	label string // as printed on the page
	key   record.Key
	text  string // as in api.txt
	why   string // why it may not work on every stack; "" if it must
	note  string // a remark where it works
}

// isDefault reports whether the row is a value that means the stack's choice, or what the stack does anyway. It cannot
// be taken away.
func (r *row) isDefault() bool {
	switch r.key.Of {
	case "threading", "data_progress", "control_progress", "resource_mgmt", "av_type", "tclass", "mem_tag_format",
		"cq_format", "wait_obj", "cntr_events":
		return r.key.Valued && r.key.Bit == 0
	}
	return false
}

// api reads the list of libfabric's interface.
func api() ([]section, error) {
	var all []section
	for i, line := range strings.Split(apiText, "\n") {
		switch {
		case line == "" || line[0] == ';':
		case strings.HasPrefix(line, "# "):
			all = append(all, section{title: line[2:]})
		case len(all) == 0:
			return nil, fmt.Errorf("api.txt:%d: a row before the first section", i+1)
		case strings.HasPrefix(line, "? "):
			rows := all[len(all)-1].rows
			rows[len(rows)-1].why = line[2:]
		case strings.HasPrefix(line, "+ "):
			rows := all[len(all)-1].rows
			rows[len(rows)-1].note = line[2:]
		default:
			r, err := parseRow(line)
			if err != nil {
				return nil, fmt.Errorf("api.txt:%d: %w", i+1, err)
			}
			s := &all[len(all)-1]
			s.rows = append(s.rows, r)
		}
	}
	return all, nil
}

func parseRow(line string) (*row, error) {
	f := strings.Fields(line)
	switch len(f) {
	case 1:
		return &row{label: f[0], text: line, key: record.Key{Of: f[0]}}, nil
	case 3:
		n, err := strconv.ParseUint(f[2], 0, 64)
		if err != nil {
			return nil, err
		}
		return &row{label: label(f[0], f[1]), text: line, key: record.Key{Of: f[0], Bit: n, Valued: true}}, nil
	}
	return nil, fmt.Errorf("%d words in a row", len(f))
}

//go:embed accepted.txt
var acceptedText string

// readAccepted returns the rows, as in api.txt, that stacks accept but whose effect no test shows.
func readAccepted() (map[string]bool, error) {
	rows := map[string]bool{}
	for _, line := range strings.Split(acceptedText, "\n") {
		if line == "" || line[0] == ';' {
			continue
		}
		if _, err := parseRow(line); err != nil {
			return nil, fmt.Errorf("accepted.txt: %q: %w", line, err)
		}
		rows[line] = true
	}
	return rows, nil
}

// label returns the page's name of a value.
func label(of, name string) string {
	switch of {
	case "mode", "mr_mode":
		return name + " declared"
	case "caps", "threading", "resource_mgmt", "av_type", "msg_order", "tclass", "mem_tag_format", "option",
		"datatype", "atomic_op", "op_type",
		"cq_format", "wait_obj", "cntr_events":
		return name
	case "completion":
		return name + " in completions"
	case "event":
		return "event " + name
	case "mr_access":
		return "access " + name
	case "fi_ep_bind_counter":
		return "fi_ep_bind of counters, " + name
	case "data_progress", "control_progress":
		return of + " " + name
	}
	return of + ", " + name
}
