package processes

import (
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"gofabric/internal/telemetry"
)

// This file reduces the answer of a process to what the library can send: known names, short texts, and bounded
// numbers of objects.

// maxNames is the largest number of figures of one endpoint.
const maxNames = 128

// maxLabel is the length of the longest label value, in bytes.
const maxLabel = 32

// check reduces p. p may be the result of any JSON.
func check(p *telemetry.Process) {
	p.Totals = first(p.Totals, telemetry.MaxTotals)
	seen := map[string]bool{}
	kept := p.Totals[:0]
	for _, t := range p.Totals {
		t.Provider = text(t.Provider)
		if seen[t.Provider] {
			continue // two series with the same labels would fail the scrape for all processes
		}
		seen[t.Provider] = true
		t.Counters, t.Histograms = counters(t.Counters), histograms(t.Histograms)
		kept = append(kept, t)
	}
	p.Totals = kept
	p.More = max(p.More, 0) + max(len(p.Endpoints)-telemetry.MaxEndpoints, 0)
	p.Endpoints = first(p.Endpoints, telemetry.MaxEndpoints)
	room := telemetry.MaxAllPeers + telemetry.MaxEndpoints // each endpoint may have an entry for other peers
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		for _, s := range []*string{&e.ID, &e.Provider, &e.Address, &e.Interface, &e.Type} {
			*s = text(*s)
		}
		e.Counters, e.Histograms = counters(e.Counters), histograms(e.Histograms)
		e.Peers = first(e.Peers, min(telemetry.MaxPeers+1, room))
		room -= len(e.Peers)
		for j := range e.Peers {
			q := &e.Peers[j]
			q.Address, q.State, q.Counters = text(q.Address), text(q.State), counters(q.Counters)
		}
	}
	p.Stalls = first(p.Stalls, telemetry.MaxStalls)
	for i := range p.Stalls {
		s := &p.Stalls[i]
		for _, t := range []*string{&s.What, &s.Provider, &s.Interface, &s.Local, &s.Peer, &s.State} {
			*t = text(*t)
		}
		if !slices.Contains(telemetry.StallKinds, s.What) {
			s.What = "other"
		}
		if s.Since.After(time.Now()) {
			s.Since = time.Now()
		}
	}
	stalled := map[string]uint64{}
	for what, n := range p.Stalled {
		if slices.Contains(telemetry.StallKinds, what) {
			stalled[what] = n
		}
	}
	p.Stalled = stalled
	p.Silent = time.Time{}
}

// first returns the first n elements of a list, without spare capacity, and never nil.
func first[T any](list []T, n int) []T {
	if list == nil {
		return []T{}
	}
	n = min(n, len(list))
	return list[:n:n]
}

// text truncates a text.
func text(s string) string {
	s = telemetry.Clip(s)
	if !utf8.ValidString(s) {
		return "?"
	}
	return s
}

// word reports whether s can be a label value: the library only sends words of small letters.
func word(s string) bool {
	if s == "" || len(s) > maxLabel {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return true
}

// counters keeps the figures that the library defines.
func counters(c telemetry.Counts) telemetry.Counts {
	kept := make(telemetry.Counts, min(len(c), maxNames))
	for name, v := range c {
		m, label := telemetry.MetricOf(name)
		if m == nil || m.Label != "" && !word(label) || len(kept) >= maxNames {
			continue
		}
		kept[name] = v
	}
	return kept
}

// histograms keeps valid histograms.
func histograms(h map[string]telemetry.Histogram) map[string]telemetry.Histogram {
	kept := make(map[string]telemetry.Histogram, min(len(h), maxLabel))
	for name, v := range h {
		if !word(name) || v.Schema != telemetry.Schema || math.IsNaN(v.Sum) || math.IsInf(v.Sum, 0) || len(kept) >= maxLabel {
			continue
		}
		buckets := map[int]uint64{}
		for i, n := range v.Buckets {
			if i >= telemetry.FirstBucket && i <= telemetry.LastBucket && n < 1<<50 {
				buckets[i] = n
			}
		}
		v.Buckets = buckets
		kept[name] = v
	}
	return kept
}
