package fault

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gofabric/core"
	"gofabric/internal/impair"
	"gofabric/internal/params"
)

// settings are the layer's parameters (FI_FAULT_*).
type settings struct {
	seed   uint64
	faults impair.Faults
	stream impair.StreamFaults
	spans  []impair.Span
	queue  int
}

// defs defines the variables. They are gofabric's own: native libfabric has no such layer.
func defs() []core.Param {
	p := func(name, def, help string) core.Param {
		return core.Param{Provider: layerName, Name: name, Type: core.ParamString, Default: def, Help: help}
	}
	return []core.Param{
		p("seed", "1", "seed that decides when faults happen: the same seed and traffic give the same faults"),
		p("loss", "0", "probability that a datagram is lost, as 5% or 0.05; on connections, that a packet is lost, so that it and all later data arrive after its retransmission"),
		p("dup", "0", "probability that a datagram arrives twice; no effect on connections"),
		p("reorder", "0", "probability that a datagram is overtaken by up to three later ones, or arrives a millisecond late; data of connections is only late"),
		p("corrupt", "0", "probability that one bit of a datagram is flipped; on connections this is a loss, because TCP has checksums"),
		p("delay", "0", "delay of every datagram, and of all data of connections, as 10ms"),
		p("jitter", "0", "random additional delay, up to this: datagrams overtake each other, data of connections waits for the latest"),
		p("rate", "0", "speed of the line, bits per second of payload, as 100M; or bytes per second, as 12.5MB (0: no limit)"),
		p("backlog", strconv.Itoa(impair.DefaultBacklog), "datagrams waiting for the line, bytes; more are lost (connections lose none)"),
		p("partition", "", "times at which nothing passes: a comma list of spans since the opening of the port or fabric, as 10s-20s,1m- (no end: for ever); a span longer than FI_TCP_PEER_TIMEOUT ends connections"),
		p("reset", "0", "bytes received on average until a connection is reset (0: never)"),
		p("refuse", "0", "probability that a connect is refused"),
		p("cut", "0", "probability that a send or receive of a connection ends early, at any byte"),
		p("queue", strconv.Itoa(16<<20), "memory for delayed datagrams of a port, bytes; more are lost"),
	}
}

// layerName is the layer's name.
const layerName = "fault"

// readSettings reads the parameters. A nil store gives the defaults.
func readSettings(p *core.Params) (*settings, error) {
	r := params.Read(p, layerName, defs())
	s := &settings{}
	read := func(name string, parse func(text string) error) {
		text := strings.TrimSpace(r.String(name))
		if text == "" {
			return
		}
		if err := parse(text); err != nil {
			r.Fail(fmt.Errorf("%s is %q: %w", r.Var(name), text, err))
		}
	}
	probability := func(name string, to *float64) {
		read(name, func(text string) (e error) { *to, e = parseProbability(text); return })
	}
	duration := func(name string, to *time.Duration) {
		read(name, func(text string) (e error) { *to, e = parseDuration(text); return })
	}
	size := func(name string, to *int) {
		read(name, func(text string) (e error) { *to, e = parseSize(text); return })
	}
	f := &s.faults
	read("seed", func(text string) (e error) { s.seed, e = strconv.ParseUint(text, 0, 64); return })
	probability("loss", &f.Loss)
	probability("dup", &f.Dup)
	probability("reorder", &f.Reorder)
	probability("corrupt", &f.Corrupt)
	duration("delay", &f.Delay)
	duration("jitter", &f.Jitter)
	read("rate", func(text string) (e error) { f.Rate, e = parseRate(text); return })
	size("backlog", &f.Backlog)
	size("reset", &s.stream.Reset)
	probability("refuse", &s.stream.Refuse)
	probability("cut", &s.stream.Cut)
	size("queue", &s.queue)
	read("partition", func(text string) (e error) { s.spans, e = parseSpans(text); return })
	r.Fail(f.Check())
	return s, r.Err()
}

// parseProbability parses "5%" or "0.05".
func parseProbability(text string) (float64, error) {
	digits, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil {
		return 0, fmt.Errorf("write a probability such as 5%% or 0.05")
	}
	if percent {
		v /= 100
	}
	if !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("a probability is between 0 and 1, or 0%% and 100%%")
	}
	return v, nil
}

// parseDuration parses "10ms". A bare 0 is not a duration.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("write a duration such as 10ms or 1.5s")
	}
	return d, nil
}

// parseRate parses bits per second with K, M or G for powers of ten, or bytes per second if the text ends with B.
func parseRate(text string) (int64, error) {
	digits, bytes := strings.CutSuffix(text, "B")
	factor := 1.0
	if bytes {
		factor = 8
	}
	if n := len(digits); n > 0 {
		switch digits[n-1] {
		case 'k', 'K':
			factor *= 1e3
		case 'M':
			factor *= 1e6
		case 'G':
			factor *= 1e9
		default:
			n++
		}
		digits = digits[:n-1]
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	v *= factor
	if err != nil || !(v >= 0 && v < 1e15) || v > 0 && v < 1 {
		return 0, fmt.Errorf("write bits per second such as 100M, or bytes per second such as 12.5MB")
	}
	return int64(v), nil
}

func parseSize(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("write a number of bytes")
	}
	return n, nil
}

// parseSpans parses "10s-20s,1m-".
func parseSpans(text string) ([]impair.Span, error) {
	var spans []impair.Span
	for part := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(part), "-")
		span := impair.Span{To: math.MaxInt64}
		var err error
		if span.From, err = parseDuration(strings.TrimSpace(from)); err == nil && strings.TrimSpace(to) != "" {
			span.To, err = parseDuration(strings.TrimSpace(to))
		}
		if err != nil || !ok || span.To <= span.From {
			return nil, fmt.Errorf("write spans such as 10s-20s, or 10s- without an end")
		}
		spans = append(spans, span)
	}
	return spans, nil
}
