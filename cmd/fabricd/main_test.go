package main

import (
	"os"
	"testing"
)

// envMain has the test binary be fabricd.
const envMain = "FABRICD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}
