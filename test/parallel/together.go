// Package parallel is for packages whose tests mostly wait: they run more of them at once than there are processors.
package parallel

import (
	"flag"
	"runtime"
	"strconv"
)

// Run has at least n tests that call t.Parallel run at once, unless who started them has chosen a number. TestMain calls it before the tests.
func Run(n int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		f.Value.Set(strconv.Itoa(max(n, runtime.GOMAXPROCS(0))))
	}
}
