package session

// An RTS without a cookie, or from an unknown native peer, costs an answer. If its address was forged, the host
// there may answer with an ICMP error, which costs time as well. Therefore the answers per second are limited. A
// peer without an answer repeats its RTS (rtsIntervalMin).

const (
	// Answers per second to requests without a proof of address.
	challengesPerSecond = 10_000
	// Answers at once after a quiet time: as many peers of a job may start together.
	challengesBurst = 10_000
)

// challengeLimit has the number of answers left. Each nanosecond earns a part of one (token bucket).
type challengeLimit struct {
	left int64 // answers
	at   int64 // time of the last increase
}

// allow reports whether one more answer may be sent.
func (s *challengeLimit) allow(now int64) bool {
	if s.at == 0 {
		s.left, s.at = challengesBurst, now
	}
	const each = 1e9 / challengesPerSecond
	if n := (now - s.at) / each; n > 0 {
		s.left = min(s.left+n, challengesBurst)
		s.at += n * each
	}
	if s.left == 0 {
		return false
	}
	s.left--
	return true
}
