// Package cost measures what the daemon costs those whom it watches: fi bench with fabricd and a scrape each second, and without, in turn. It takes a
// minute and a quiet machine, so it runs when asked for: GOFABRIC_COST=1 go test -v ./test/cost
package cost
