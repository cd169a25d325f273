package pingpong

import (
	"fmt"
	"io"
	"time"
)

// Result is the result of one message size. A transfer is one message in one direction. An iteration is two
// transfers.
type Result struct {
	Size    int           // bytes per message
	Sent    int           // iterations
	Acked   int           // replies received
	Elapsed time.Duration // of all iterations
}

// Bytes returns the number of payload bytes in both directions together.
func (r Result) Bytes() uint64 { return uint64(r.Size) * uint64(r.Sent) * 2 }

// MBPerSec returns the throughput in 1e6 bytes per second.
func (r Result) MBPerSec() float64 { return float64(r.Bytes()) / r.micros() }

// USecPerXfer returns the average time of a transfer in microseconds.
func (r Result) USecPerXfer() float64 { return r.micros() / float64(max(r.Sent, 1)) / 2 }

// MXfersPerSec returns the rate in millions of transfers per second.
func (r Result) MXfersPerSec() float64 { return 1 / r.USecPerXfer() }

// micros returns the elapsed time in microseconds, never 0, so that the caller may divide by it.
func (r Result) micros() float64 { return float64(max(r.Elapsed, 1)) / 1e3 }

// WriteHeader prints the headings of the table.
func WriteHeader(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%-8s%-8s%-9s%-8s%8s %10s%13s%13s\n",
		"bytes", "#sent", "#ack", "total", "time", "MB/sec", "usec/xfer", "Mxfers/sec")
	return err
}

// WriteRow prints r as a line of the table, in the native tool's format.
func (r Result) WriteRow(w io.Writer) error {
	if r.Sent == 0 {
		return nil // as native: there was no measurement
	}
	sign, diff := "=", r.Acked
	switch {
	case r.Sent < r.Acked:
		sign, diff = "-", r.Acked-r.Sent
	case r.Sent > r.Acked:
		sign, diff = "+", r.Sent-r.Acked
	}
	_, err := fmt.Fprintf(w, "%-8s%-8s%s%-8s%-8s%8.2fs%10.2f%11.2f%11.2f\n",
		sizeText(uint64(r.Size)), countText(r.Sent), sign, countText(diff), sizeText(r.Bytes()),
		r.Elapsed.Seconds(), r.MBPerSec(), r.USecPerXfer(), r.MXfersPerSec())
	return err
}

// sizeText formats a number of bytes in powers of 1024, with one digit after the point (truncated) below ten.
func sizeText(n uint64) string {
	base, unit := uint64(1), ""
	switch {
	case n >= 1<<30:
		base, unit = 1<<30, "g"
	case n >= 1<<20:
		base, unit = 1<<20, "m"
	case n >= 1<<10:
		base, unit = 1<<10, "k"
	}
	if n/base < 10 {
		if frac := n % base * 10 / base; frac != 0 {
			return fmt.Sprintf("%d.%d%s", n/base, frac, unit)
		}
	}
	return fmt.Sprintf("%d%s", n/base, unit)
}

// countText formats a number of messages in powers of 1000.
func countText(n int) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%db", int64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%dm", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%dk", n/1e3)
	}
	return fmt.Sprint(n)
}
