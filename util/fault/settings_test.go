package fault

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"gofabric/core"
	"gofabric/internal/impair"
)

func settingsOf(t *testing.T, pairs ...string) (*settings, error) {
	t.Helper()
	env := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		env["FI_FAULT_"+pairs[i]] = pairs[i+1]
	}
	params, err := core.NewParams(func(k string) (string, bool) { v, ok := env[k]; return v, ok }, "")
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(params, nil)
	if err != nil {
		return nil, err
	}
	return p.s, nil
}

// TestSettings reads every variable.
func TestSettings(t *testing.T) {
	s, err := settingsOf(t)
	if err != nil {
		t.Fatal(err)
	}
	if want := (&settings{seed: 1, faults: impair.Faults{Backlog: impair.DefaultBacklog}, queue: 16 << 20}); !reflect.DeepEqual(s, want) {
		t.Errorf("settings without variables: %+v", s)
	}
	s, err = settingsOf(t, "SEED", "0xff", "LOSS", "5%", "DUP", "0.02", "REORDER", " 1e-3 ", "CORRUPT", "100 %", "DELAY", "10ms", "JITTER", "1us",
		"RATE", "100M", "BACKLOG", "1000", "PARTITION", "1s-2s, 1m-", "QUEUE", "12345", "RESET", "1000000", "REFUSE", "1%", "CUT", "0.5")
	if err != nil {
		t.Fatal(err)
	}
	want := &settings{seed: 255, queue: 12345, stream: impair.StreamFaults{Reset: 1000000, Refuse: 0.01, Cut: 0.5},
		faults: impair.Faults{Loss: 0.05, Dup: 0.02, Reorder: 0.001, Corrupt: 1, Delay: 10 * time.Millisecond, Jitter: time.Microsecond, Rate: 100e6, Backlog: 1000},
		spans:  []impair.Span{{From: time.Second, To: 2 * time.Second}, {From: time.Minute, To: math.MaxInt64}}}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]int64{"0": 0, "1200": 1200, "1.5k": 1500, "10G": 10e9, "12.5MB": 100e6, "1B": 8, "2 M": 2e6} {
		if got, err := parseRate(text); err != nil || got != want {
			t.Errorf("rate %q: %d, %v", text, got, err)
		}
	}
}

// TestBadSettings: an invalid value is refused, with the variable's name.
func TestBadSettings(t *testing.T) {
	for name, texts := range map[string][]string{
		"SEED":      {"x", "-1", "1.5"},
		"LOSS":      {"5", "-1%", "101%", "NaN", "many", "%"},
		"DUP":       {"2"},
		"REORDER":   {"1.01"},
		"CORRUPT":   {"inf"},
		"DELAY":     {"5", "-1s", "100h", "soon"},
		"JITTER":    {"x"},
		"RATE":      {"fast", "-1", "B", "M", "1e99", "0.5", "NaN"},
		"BACKLOG":   {"-1", "1k"},
		"QUEUE":     {"x"},
		"RESET":     {"10M", "-1"},
		"REFUSE":    {"2"},
		"CUT":       {"-5%"},
		"PARTITION": {"1s", "2s-1s", "a-b", "1s-2s,", "-5s-1s", "-"},
	} {
		for _, text := range texts {
			_, err := settingsOf(t, name, text)
			if err == nil {
				t.Errorf("FI_FAULT_%s=%s is accepted", name, text)
				continue
			}
			if !errors.Is(err, core.ErrInval) || text != "100h" && !strings.Contains(err.Error(), "FI_FAULT_"+name) {
				t.Errorf("FI_FAULT_%s=%s: %v", name, text, err)
			}
		}
	}
}

// FuzzSettings: no text of a variable panics.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{"5%", "1s-2s,3s-", "12.5MB", "0x10", "-", "B"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parseProbability(text)
		parseDuration(text)
		if r, err := parseRate(text); err == nil && r < 0 {
			t.Errorf("rate %q is %d", text, r)
		}
		parseSize(text)
		if spans, err := parseSpans(text); err == nil {
			for _, s := range spans {
				if s.From < 0 || s.To <= s.From {
					t.Errorf("%q: %v", text, s)
				}
			}
		}
	})
}
