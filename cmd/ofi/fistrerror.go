package main

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"gofabric/core"
)

// fiStrerror is fi_strerror(1).
func (a *app) fiStrerror(argv []string) int {
	if len(argv) != 2 {
		a.strerrorUsage(argv[0])
		return 1
	}
	if argv[1] == "-h" {
		a.strerrorUsage(argv[0])
		return 0
	}
	n, err := parseC(argv[1])
	if err == nil && (n < math.MinInt32 || n > math.MaxInt32) {
		a.printf("ERROR: '%s' is out of range\n\n", argv[1])
		a.strerrorUsage(argv[0])
		return 1
	}
	if err != nil {
		a.printf("ERROR: unable to parse '%s'\n\n", argv[1])
		a.strerrorUsage(argv[0])
		return 1
	}
	a.printf("%s\n", core.Errno(n))
	return 0
}

// parseC reads a number as strtol(3) does with base 0. The whole text must be a number.
func parseC(s string) (int64, error) {
	s = strings.TrimLeft(s, " \t\n\v\f\r")
	if strings.Contains(s, "_") || len(strings.TrimLeft(s, "+-")) > 1 && strings.ContainsAny(strings.TrimLeft(s, "+-")[1:2], "bBoO") {
		return 0, errors.New("a number in Go's syntax, not in C's")
	}
	return strconv.ParseInt(s, 0, 64)
}

func (a *app) strerrorUsage(program string) {
	line(a.out, "Usage: %s FI_ERROR_CODE", program)
	line(a.out, "")
	line(a.out, "Displays the error string for the given numeric FI_ERROR_CODE.")
	line(a.out, "FI_ERROR_CODE may be a hexadecimal, octal, or decimal constant.")
	line(a.out, "For convenience, the absolute value of FI_ERROR_CODE will be used.")
}
