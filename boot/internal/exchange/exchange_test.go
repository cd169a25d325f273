package exchange

import (
	"encoding/hex"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// body checks the length of a message and returns what follows its kind.
func body(t *testing.T, b []byte, k Kind) []byte {
	t.Helper()
	n, err := Length([4]byte(b), MaxMessage)
	if err != nil || n != len(b)-4 || Kind(b[4]) != k {
		t.Fatalf("% x: length %d, %v", b, n, err)
	}
	return b[header:]
}

func TestHello(t *testing.T) {
	h := &Hello{Rank: 2, Size: 4, Job: "j1"}
	const want = "0000001e" + "01" + "676f66616272696320626f6f742031" + "00000002" + "00000004" + "00000002" + "6a31"
	if got := hex.EncodeToString(h.Bytes()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	b := body(t, h.Bytes(), KindHello)
	got, err := ParseHello(b)
	if err != nil || !reflect.DeepEqual(got, h) {
		t.Fatal(got, err)
	}
	for cut := range b {
		if _, err := ParseHello(b[:cut]); err == nil {
			t.Errorf("cut at %d: no error", cut)
		}
	}
	for _, bad := range []*Hello{{Rank: 4, Size: 4}, {Rank: 0, Size: 0}, {Rank: 0, Size: maxRanks + 1}} {
		if _, err := ParseHello(bad.Bytes()[header:]); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

func TestFence(t *testing.T) {
	f := &Fence{Round: 3, WaitMS: 5000, Entries: []Entry{{"a", []byte("x")}, {"", []byte{}}}}
	b := body(t, f.Bytes(KindFence), KindFence)
	got, err := ParseFence(b)
	if err != nil || !reflect.DeepEqual(got, f) {
		t.Fatal(got, err)
	}
	for cut := range b {
		if _, err := ParseFence(b[:cut]); err == nil {
			t.Errorf("cut at %d: no error", cut)
		}
	}
	if _, err := ParseFence(append(b, 0)); err == nil {
		t.Error("a message with a byte too many was accepted")
	}
	if _, err := ParseFence([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}); err == nil {
		t.Error("a message with four billion entries was accepted")
	}
}

func TestMissing(t *testing.T) {
	b := body(t, (&Missing{Ranks: []int{1, 7}}).Bytes(), KindMissing)
	if m, err := ParseMissing(b); err != nil || !slices.Equal(m.Ranks, []int{1, 7}) {
		t.Fatal(m, err)
	}
	for cut := range b {
		if _, err := ParseMissing(b[:cut]); err == nil {
			t.Errorf("cut at %d: no error", cut)
		}
	}
}

func TestLength(t *testing.T) {
	for _, bad := range [][4]byte{{}, {0xff, 0xff, 0xff, 0xff}, {0, 0, 0x10, 1}} {
		if n, err := Length(bad, MaxHello); err == nil {
			t.Errorf("% x is %d", bad, n)
		}
	}
}

func TestRounds(t *testing.T) {
	r := NewRounds(3)
	arrive := func(rank int, round uint32, e ...Entry) *Fence {
		t.Helper()
		all, err := r.Arrive(rank, &Fence{Round: round, Entries: e})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := arrive(2, 0, Entry{"c", []byte("3")}); all != nil {
		t.Fatal("released after one")
	}
	if got := r.Missing(); !slices.Equal(got, []int{0, 1}) {
		t.Fatalf("missing %v", got)
	}
	if _, err := r.Arrive(2, &Fence{}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("twice: %v", err)
	}
	if _, err := r.Arrive(1, &Fence{Round: 1}); err == nil {
		t.Error("a message of another round was accepted")
	}
	if _, err := r.Arrive(3, &Fence{}); err == nil {
		t.Error("a message of another rank was accepted")
	}
	arrive(0, 0, Entry{"a", []byte("1")})
	all := arrive(1, 0)
	want := &Fence{Entries: []Entry{{"a", []byte("1")}, {"c", []byte("3")}}}
	if !reflect.DeepEqual(all, want) {
		t.Fatalf("released %v", all)
	}
	if r.Waiting() || r.Round() != 1 {
		t.Error("the next round has begun already")
	}
	arrive(0, 1)
	arrive(1, 1)
	if all := arrive(2, 1); all == nil || len(all.Entries) != 0 {
		t.Errorf("second round: %v", all)
	}
}

// TestRoundsBounded: the values of a job are bounded together, and a key that is put again does not count twice.
func TestRoundsBounded(t *testing.T) {
	r := NewRounds(2)
	big := make([]byte, MaxJob/2)
	if _, err := r.Arrive(0, &Fence{Entries: []Entry{{"a", big}, {"a", big}, {"a", big}}}); err != nil {
		t.Error(err)
	}
	if _, err := r.Arrive(1, &Fence{Entries: []Entry{{"b", big}}}); err == nil {
		t.Error("values beyond the bound were accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add((&Hello{Rank: 2, Size: 4, Job: "j1"}).Bytes()[header:])
	f.Add((&Fence{Round: 3, Entries: []Entry{{"a", []byte("x")}}}).Bytes(KindFence)[header:])
	f.Add((&Missing{Ranks: []int{1, 7}}).Bytes()[header:])
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := ParseHello(b); err == nil && string(h.Bytes()[header:]) != string(b) {
			t.Errorf("hello % x became % x", b, h.Bytes())
		}
		if m, err := ParseFence(b); err == nil && string(m.Bytes(KindFence)[header:]) != string(b) {
			t.Errorf("fence % x became % x", b, m.Bytes(KindFence))
		}
		if m, err := ParseMissing(b); err == nil && string(m.Bytes()[header:]) != string(b) {
			t.Errorf("missing % x became % x", b, m.Bytes())
		}
	})
}
