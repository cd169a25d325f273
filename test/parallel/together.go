// Package parallel is for packages whose tests mostly wait. They run more tests at once than there are processors.
package parallel

import (
	"flag"
	"runtime"
	"strconv"
)

// Run lets at least n tests that call t.Parallel run at once, unless the user has set a number (-parallel). TestMain
// calls it before the tests.
func Run(n int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	if f := flag.Lookup("test.parallel"); f.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		f.Value.Set(strconv.Itoa(max(n, runtime.GOMAXPROCS(0))))
	}
}
