package boot_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"gofabric"
	_ "gofabric/all"
	"gofabric/boot"
	"gofabric/core"
)

// Three processes find each other. Here they are goroutines that share a folder. A process that a launcher has
// started calls boot.Join with an empty Config.
func Example() {
	dir, err := os.MkdirTemp("", "job")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() { process(boot.Config{Rank: i, Size: 3, Dir: dir}) })
	}
	all.Wait()
	// Unordered output:
	// rank 0 of 3 says hello to rank 1
	// rank 1 of 3 says hello to rank 2
	// rank 2 of 3 says hello to rank 0
}

// process is run by each of them: it sends a greeting to the next rank, and prints the one that it receives.
func process(who boot.Config) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	job, err := boot.Join(ctx, who)
	if err != nil {
		log.Fatal(err)
	}
	defer job.Close()
	ep, err := gofabric.Open(ctx, gofabric.Config{Provider: "tcp", Node: "127.0.0.1"})
	if err != nil {
		log.Fatal(err)
	}
	defer ep.Close()
	peers, err := boot.Peers(ctx, job, ep) // peers[i] is rank i
	if err != nil {
		log.Fatal(err)
	}
	next := (job.Rank() + 1) % job.Size()
	hello := fmt.Sprintf("rank %d of %d says hello to rank %d", job.Rank(), job.Size(), next)
	go func() {
		if err := ep.Send(ctx, peers[next], []byte(hello)); err != nil {
			log.Print(err)
		}
	}()
	buf := make([]byte, 100)
	r, err := ep.Recv(ctx, gofabric.AnyPeer, buf)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(buf[:r.Len]))
	if err := job.Fence(ctx); err != nil { // before the endpoints are closed
		log.Fatal(err)
	}
}

// Fill fills the address vector of an endpoint of core: fi_addr i is rank i.
func ExampleJob_Fill() {
	job, err := boot.Join(context.Background(), boot.Config{Size: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer job.Close()
	hints := core.NewHints()
	hints.Fabric.ProvName, hints.EP.Type = "tcp", core.EPTypeRDM
	infos, _, err := gofabric.GetInfo(core.Query{Node: "127.0.0.1", Flags: core.InfoSource, Hints: hints})
	if err != nil {
		log.Fatal(err)
	}
	fabric, err := gofabric.OpenFabric(infos[0])
	if err != nil {
		log.Fatal(err)
	}
	domain, err := fabric.OpenDomain(infos[0])
	if err != nil {
		log.Fatal(err)
	}
	ep, cq, av := open(domain, infos[0])
	fi, err := job.Fill(context.Background(), ep, av)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fi)
	if err := gofabric.CloseAll(ep, cq, av, domain, fabric); err != nil {
		log.Fatal(err)
	}
	// Output: [0]
}

// open opens and enables an endpoint with an address vector and a queue.
func open(domain *core.Domain, info *core.Info) (*core.Endpoint, *core.CompletionQueue, *core.AddressVector) {
	av, err := domain.OpenAV(core.AVAttr{Type: core.AVTable})
	if err != nil {
		log.Fatal(err)
	}
	cq, err := domain.OpenCQ(core.CQAttr{Format: core.CQFormatTagged})
	if err != nil {
		log.Fatal(err)
	}
	ep, err := domain.OpenEndpoint(info)
	if err != nil {
		log.Fatal(err)
	}
	if err := ep.BindCQ(cq, core.BindTransmit|core.BindRecv); err != nil {
		log.Fatal(err)
	}
	if err := ep.BindAV(av, 0); err != nil {
		log.Fatal(err)
	}
	if err := ep.Enable(); err != nil {
		log.Fatal(err)
	}
	return ep, cq, av
}
