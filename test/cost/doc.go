// Package cost measures what the daemon costs those whom it watches. One pair of processes (ofi bench --follow) measures all the time, while a fabricd is started
// and stopped beside it, in an order that a seed decides; blocks with the daemon, scraped each second, are compared with their neighbours without. Two pairs of
// processes differ by more than what is looked for here, by where their memory lies; one pair does not differ from itself.
//
// It takes some minutes and a quiet machine, so it runs when asked for: GOFABRIC_COST=1 go test -v ./test/cost
package cost
