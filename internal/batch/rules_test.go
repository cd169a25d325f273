package batch

import (
	"testing"

	"gofabric/internal/mono"
)

// docs/decisions/0003-staging-and-the-first-post.md numbers the rules.

// warm returns a driver that has just transmitted, so that the next post does not follow a pause.
func warm() *testDriver {
	d := newDriver()
	d.burst(2)
	d.pass()
	d.b, d.sent = Stream{}, 0
	return d
}

// TestFirstPost checks rule 1: the first post after a pass leaves at once, unless there were eight or more posts
// between the two passes before.
func TestFirstPost(t *testing.T) {
	for _, c := range []struct {
		before int
		left   int
	}{{1, 1}, {7, 1}, {8, 0}, {20, 0}} {
		d := warm()
		d.burst(c.before)
		d.pass()
		if got := d.burst(4); got != c.left {
			t.Errorf("after %d posts before the pass %d of four leave at once, want %d", c.before, got, c.left)
		}
		if d.pass(); d.queued != 0 || d.sent != c.before+4 {
			t.Errorf("after %d posts: %d still wait, %d were sent", c.before, d.queued, d.sent)
		}
	}
}

// TestMore checks rule 2: a message waits for the next pass if it follows another one, or if the application says
// that another one follows.
func TestMore(t *testing.T) {
	d := warm()
	if d.post(true) {
		t.Error("a message with another one to follow leaves at once")
	}
	if d.post(false) {
		t.Error("the message after it leaves at once")
	}
	if d.pass(); d.sent != 2 {
		t.Errorf("a pass sends %d of 2", d.sent)
	}
}

// TestEnough checks rule 3: waiting messages leave when there are enough of them, or with the timer.
func TestEnough(t *testing.T) {
	d := warm()
	d.burst(1)
	for i := range testLimits.Copied + 1 { // one message joins the last ones
		left := d.post(false)
		if want := i == testLimits.Copied; left != want {
			t.Fatalf("post %d leaves at once: %v, want %v", i, left, want)
		}
	}
	d.b = Stream{}
	if !d.b.Posted(d.s, d, &testLimits, 150, true, false) || !d.b.Posted(d.s, d, &testLimits, 50, false, false) {
		t.Error("lent bytes beyond the limit wait")
	}
	d.burst(1)
	d.h.now += 1000
	if d.b.Posted(d.s, d, &testLimits, 50, true, false) {
		t.Error("lent bytes within the limit do not wait")
	}
}

func TestTimer(t *testing.T) {
	d := warm()
	d.burst(1)
	d.post(false)
	if d.h.timer != d.h.now+Delay {
		t.Fatalf("the timer is set to %d ns, want %d", d.h.timer-d.h.now, Delay)
	}
	d.s.Expired(d.h.now + Delay/4)
	if d.queued != 1 {
		t.Error("a timer that was set for another purpose sends a message that was just posted")
	}
	d.h.now = d.h.timer
	d.s.Expired(d.h.now)
	if d.queued != 0 || d.s.FlushedByTimer() != 1 {
		t.Errorf("%d wait, %d flushes by the timer; want 0 and 1", d.queued, d.s.FlushedByTimer())
	}
	d.h.noTimer = true
	d.burst(1)
	if !d.post(false) {
		t.Error("a post waits although there is no timer")
	}
}

// TestPause checks rule 4: a post after a pause leaves at once, although others left before it since the last pass.
func TestPause(t *testing.T) {
	d := newDriver()
	d.burst(3)
	d.pass()
	for _, pause := range []mono.Time{quiet + 1, quiet * 2} {
		d.burst(1)
		d.h.now += pause
		if !d.post(false) {
			t.Errorf("a post waits after a pause of %d ns", pause)
		}
		if d.h.now += quiet / 2; d.post(false) {
			t.Error("a post after a short pause does not wait")
		}
		d.pass()
	}
}

// TestTrust checks rule 5: the timer is not set for an application whose passes were in time for long enough, and
// only for such an application.
func TestTrust(t *testing.T) {
	d := newDriver()
	rounds := 0
	for ; rounds < 20; rounds++ {
		d.h.timer = 0
		d.burst(10)
		d.pass()
		if d.h.timer == 0 {
			break
		}
	}
	if rounds != trustAfter {
		t.Errorf("the timer is set for %d bursts, want %d", rounds, trustAfter)
	}
	d.h.polled = false
	if d.burst(10); d.h.timer == 0 {
		t.Error("no timer, although no tick would notice that the application has stopped")
	}
	d.pass()
	d.h.polled, d.h.timer = true, 0
	if d.burst(10); d.h.timer != 0 {
		t.Error("a timer, although the application is trusted")
	}
	d.h.now += 2 * Delay
	d.s.Flush(false) // the tick
	if !d.s.Away() {
		t.Error("an application that let messages wait is not away")
	}
	if d.s.Returned(); d.s.Away() {
		t.Error("an application that has returned is away")
	}
	d.h.now += 1000
	if d.burst(10); d.h.timer == 0 {
		t.Error("an application that let messages wait is trusted again at once")
	}
}

// TestAway checks rule 6: after a late flush the first four posts after a pause leave at once. Later ones leave with
// a post that finds that they have waited for too long.
func TestAway(t *testing.T) {
	d := warm()
	d.burst(3)
	d.h.now += 2 * Delay
	d.pass()
	if !d.s.Away() {
		t.Fatal("not away")
	}
	if got := d.burst(10); got != lateBurst+1 { // 1: the first after a pass
		t.Errorf("%d of ten posts leave at once, want %d", got, lateBurst+1)
	}
	d.h.now += Delay
	if !d.post(false) || d.queued != 0 {
		t.Errorf("a post does not send what has waited for too long: %d wait", d.queued)
	}
	d.h.now += quiet + 1
	if got := d.burst(10); got != lateBurst {
		t.Errorf("%d of ten posts after a pause leave at once, want %d", got, lateBurst)
	}
}

// TestSlowSystem checks rule 7: the time that the system takes to transmit is neither a pause nor a wait.
func TestSlowSystem(t *testing.T) {
	d := warm()
	d.burst(1)
	d.cost = 4 * Delay
	d.burst(testLimits.Copied + 3) // one transmission during the burst
	if d.queued == 0 {
		t.Fatal("nothing waits")
	}
	if d.pass(); d.s.Away() {
		t.Error("the system's time counts as the application's absence")
	}
	d.burst(1)
	d.h.now += 2 * Delay
	d.burst(5)
	d.h.now += 2 * Delay
	d.pass() // late and slow
	if !d.s.Away() {
		t.Fatal("not away")
	}
	d.b.late = lateBurst
	if d.post(false); d.b.late != lateBurst+1 {
		t.Error("a flush that took long counts as a pause")
	}
}

// TestSlowSystemOther: the time during which another stream has waited continues to count.
func TestSlowSystemOther(t *testing.T) {
	d := warm()
	other := d.another()
	d.burst(1)
	other.b.Answer(d.s, other)
	d.cost = 4 * Delay
	d.burst(testLimits.Copied + 3)
	if d.pass(); !d.s.Away() {
		t.Error("a stream waited for long, and the application is not away")
	}
}

func TestAnswer(t *testing.T) {
	d := newDriver()
	d.h.noTimer = true // not reset by a refusal
	d.b.Answer(d.s, d)
	d.b.Answer(d.s, d)
	if len(d.s.waiting) != 1 {
		t.Fatalf("%d wait, want 1", len(d.s.waiting))
	}
	if d.pass(); d.b.Waiting() || d.s.Waiting() {
		t.Error("a pass does not flush an answer")
	}
}

// TestForget: streams may be removed at any time, even during a flush.
func TestForget(t *testing.T) {
	a := newDriver()
	b, c, d := a.another(), a.another(), a.another()
	for _, x := range []*testDriver{a, b, c, d} {
		x.b.Answer(a.s, x)
		x.queued = 1
	}
	b.b.Forget(a.s, b)
	b.b.Forget(a.s, b)
	a.doing = func() { c.b.Forget(a.s, c) }
	a.pass()
	if a.sent != 1 || b.sent != 0 || c.sent != 0 || d.sent != 1 {
		t.Errorf("sent %d %d %d %d, want 1 0 0 1", a.sent, b.sent, c.sent, d.sent)
	}
}

// TestFlushWithinFlush: messages that a flush posts to a layer below leave with the same flush, even if a post asks
// for a flush in the meantime. A stream that was forgotten would wait for ever.
func TestFlushWithinFlush(t *testing.T) {
	above := newDriver()
	below, other := above.another(), above.another()
	above.doing = func() {
		below.b.Answer(above.s, below)
		below.queued++
		above.s.Flush(true)
		below.post(false)
	}
	above.b.Answer(above.s, above)
	other.b.Answer(above.s, other)
	other.queued++
	above.pass()
	if below.queued != 0 || below.b.Waiting() || above.s.Waiting() || other.queued != 0 {
		t.Errorf("%d wait below, %d elsewhere", below.queued, other.queued)
	}
}

// TestJoined: messages that join the one before count as posts, so the next burst is expected to be as long.
func TestJoined(t *testing.T) {
	d := warm()
	d.burst(1)
	d.pass()
	d.burst(12) // ten of them join
	d.pass()
	if d.post(false) {
		t.Error("the first post after a burst of twelve leaves at once")
	}
	if !d.b.Admits(d.s, 1) || d.b.Admits(d.s, testLimits.Copied) {
		t.Error("a waiting stream must admit messages, and only while few bytes wait")
	}
	if d.pass(); d.b.Admits(d.s, 1) {
		t.Error("a stream that does not wait admits messages")
	}
}

// TestClock: a burst of a trusted application reads the clock once, and not for each post.
func TestClock(t *testing.T) {
	d := newDriver()
	for range trustAfter + 1 {
		d.burst(10)
		d.pass()
	}
	before := d.h.clock
	if d.burst(20); d.h.clock-before > 1 {
		t.Errorf("20 posts read the clock %d times", d.h.clock-before)
	}
	if n := testing.AllocsPerRun(100, func() { d.burst(20); d.pass() }); n != 0 {
		t.Errorf("%v allocations per burst", n)
	}
}
