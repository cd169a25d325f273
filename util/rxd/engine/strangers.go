package engine

// What strangers ask for costs an answer each, of which a host that is not there may send word, too. So there is a bound to how many are answered a second; who is
// not asks again (rtsFirst).

const (
	// challengesRate is how many requests of those that have not proved where they are get an answer a second.
	challengesRate = 10_000
	// challengesBurst is how many do at once after a quiet time: as many peers may begin together.
	challengesBurst = 10_000
)

// strangers is what is left for them.
type strangers struct {
	left int64 // answers
	at   int64 // when that was
}

// may reports whether one more is answered.
func (s *strangers) may(now int64) bool {
	if s.at == 0 {
		s.left, s.at = challengesBurst, now
	}
	const each = 1e9 / challengesRate
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
