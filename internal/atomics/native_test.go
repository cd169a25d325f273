package atomics

// This file compares every operation that native has with the results of a C compiler (testdata/native.c).

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// isNaN reports whether b, a part of a number of the type, is a NaN.
func isNaN(dt Datatype, b []byte) bool {
	switch dt {
	case Float, FloatComplex:
		v := math.Float32frombits(le.Uint32(b))
		return v != v
	case Double, DoubleComplex:
		v := math.Float64frombits(le.Uint64(b))
		return v != v
	case LongDouble, LongDoubleComplex:
		return loadLongDouble(b).nan()
	}
	return false
}

// sameNumbers compares element by element. It ignores padding, and all NaNs are equal.
func sameNumbers(t *testing.T, dt Datatype, op Op, got, want, target, operand []byte) {
	part := Size(dt)
	if isComplex(dt) {
		part /= 2
	}
	used := part
	if dt == LongDouble || dt == LongDoubleComplex {
		used = extUsed
	}
	bad := 0
	for at := 0; at < len(want) && bad < 5; at += part {
		g, w := got[at:at+used], want[at:at+used]
		if !bytes.Equal(g, w) && !(isNaN(dt, g) && isNaN(dt, w)) {
			t.Errorf("type %d op %d: %x with %x gives %x, in C %x", dt, op, target[at:at+used],
				operand[at:at+used], g, w)
			bad++
		}
	}
}

func TestNative(t *testing.T) {
	f, err := os.Open("testdata/native.txt.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var dt Datatype
	mem := map[string][]byte{}
	ops := map[Datatype]int{}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if name == "type" {
			n, _ := strconv.Atoi(text)
			dt = Datatype(n)
			continue
		}
		if mem[name], err = hex.DecodeString(text); err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(name)
		if err != nil {
			continue // target, operand or compare
		}
		op, got := Op(n), bytes.Clone(mem["target"])
		ops[dt]++
		if op >= CSwap && op <= MSwap {
			err = Compare(dt, op, got, mem["operand"], mem["compare"], make([]byte, len(got)))
		} else {
			err = Apply(dt, op, got, mem["operand"])
		}
		if err != nil {
			t.Fatalf("type %d op %d: %v", dt, op, err)
		}
		sameNumbers(t, dt, op, got, mem[name], mem["target"], mem["operand"])
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for dt := Int8; dt <= Uint128; dt++ { // Read, Write and CSwap need no arithmetic
		want := 17
		switch {
		case isComplex(dt):
			want = 7
		case !isInt(dt):
			want = 13
		}
		if ops[dt] != want {
			t.Errorf("type %d: %d operations, want %d", dt, ops[dt], want)
		}
	}
}
