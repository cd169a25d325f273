// Package cost measures what the daemon costs the processes that it watches. One pair of processes (ofi bench
// --follow) measures all the time, while a fabricd is started and stopped beside it in a random order. Blocks with the
// daemon, which is scraped each second, are compared with the neighbouring blocks without. Two pairs of processes
// would differ by more than the daemon costs, because their memory lies at different places. One pair does not differ
// from itself.
//
// The test takes some minutes and needs a quiet machine, so it runs on request only: GOFABRIC_COST=1 go test -v
// ./test/cost
package cost
