package top

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// Table prints rows: at most height lines of at most width characters. 0 is no limit.
func Table(w io.Writer, rows []Row, width, height int) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "PID\tPROCESS\tPROVIDER\tADDRESS\tSTATE\tOUT/s\tIN/s\tMB/s OUT\tMB/s IN\tPEND\tPOSTED\tUNEXP\tAGAIN/s\tRESENT/s\tRTT")
	for i := range rows {
		r := &rows[i]
		who := fmt.Sprintf("%d\t%s\t%s\t%s", r.PID, r.Name, r.Provider, r.Address)
		state := r.State
		if r.Peer != "" {
			who = "\t\t\t  " + r.Peer
		}
		if r.Stalls > 0 {
			state = "STUCK" // "fabricd stuck" has the reason
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.1f\t%.1f\t%d\t%d\t%s\t%s\t%s\t%s\n", who, state, count(r.Out), count(r.In), r.BytesOut/1e6, r.BytesIn/1e6, r.Pending, r.Posted,
			size(r.Unexp), count(r.Again), count(r.Resent), rtt(r.RTT))
	}
	t.Flush()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if height > 0 && len(lines) > height {
		more := len(lines) - height + 1
		lines = append(lines[:height-1], fmt.Sprintf("... %d more", more))
	}
	for _, l := range lines {
		if l = strings.TrimRight(l, " "); width > 0 && utf8.RuneCountInString(l) > width {
			l = string([]rune(l)[:width])
		}
		fmt.Fprintln(w, l)
	}
}

// count formats a number for a narrow column.
func count(v float64) string {
	switch {
	case v >= 999.5e3:
		return fmt.Sprintf("%.1fM", v/1e6)
	case v >= 9999.5:
		return fmt.Sprintf("%.0fk", v/1e3)
	case v == 0 || v >= 10:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// size formats a number of bytes for a narrow column.
func size(n uint64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%dM", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%dk", n>>10)
	}
	return fmt.Sprint(n)
}

// rtt formats a time in seconds. An unknown time is "-".
func rtt(s float64) string {
	if s == 0 {
		return "-"
	}
	d := time.Duration(s * 1e9)
	if d < time.Millisecond {
		return d.Round(100 * time.Nanosecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
