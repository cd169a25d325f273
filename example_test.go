package gofabric_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"gofabric"
	"gofabric/core"
)

// Two endpoints in one process exchange a message.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, err := gofabric.Open(ctx, gofabric.Config{Provider: "tcp", Node: "127.0.0.1"})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := gofabric.Open(ctx, gofabric.Config{Provider: "tcp", Node: "127.0.0.1"})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()

	toB, err := a.InsertAddr(b.Name()) // or a.Insert("node7:7471")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if err := a.Send(ctx, toB, []byte("hello, fabric")); err != nil {
			log.Print(err)
		}
	}()
	buf := make([]byte, 64)
	r, err := b.Recv(ctx, gofabric.AnyPeer, buf)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes: %s\n", r.Len, buf[:r.Len])
	// Output: 13 bytes: hello, fabric
}

// A tagged message matches a receive with the same tag. Bits in the ignore mask are not compared.
func ExampleEndpoint_TRecv() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b, toB := twoEndpoints(ctx)
	defer a.Close()
	defer b.Close()

	go func() { // the high byte is the kind of a message, the low byte its number
		for _, m := range []struct {
			tag  uint64
			text string
		}{{0x0101, "a log line"}, {0x0203, "work item three"}} {
			if err := a.TSend(ctx, toB, []byte(m.text), m.tag); err != nil {
				log.Print(err)
			}
		}
	}()
	buf := make([]byte, 64)
	for _, kind := range []uint64{0x0200, 0x0100} {
		r, err := b.TRecv(ctx, gofabric.AnyPeer, buf, kind, 0xff)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("tag %#04x: %s\n", r.Tag, buf[:r.Len])
	}
	// Output:
	// tag 0x0203: work item three
	// tag 0x0101: a log line
}

// One side writes into the memory of the other, after a message has told it the key and the address.
func ExampleEndpoint_Write() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a, b, toB := twoEndpoints(ctx)
	defer a.Close()
	defer b.Close()

	memory := []byte("................")
	m, err := b.Register(memory, core.AccessRemoteWrite|core.AccessRemoteRead)
	if err != nil {
		log.Fatal(err)
	}
	toA, err := b.InsertAddr(a.Name())
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		where, _ := m.Remote().MarshalBinary()
		if err := b.Send(ctx, toA, where); err != nil {
			log.Print(err)
		}
	}()

	var remote gofabric.RemoteMemory
	buf := make([]byte, 64)
	r, err := a.Recv(ctx, gofabric.AnyPeer, buf)
	if err != nil {
		log.Fatal(err)
	}
	if err := remote.UnmarshalBinary(buf[:r.Len]); err != nil {
		log.Fatal(err)
	}
	if err := a.Write(ctx, toB, []byte("RMA"), remote, 4); err != nil {
		log.Fatal(err)
	}
	// A read that follows a write to the same peer returns the written data.
	back := make([]byte, remote.Len)
	if err := a.Read(ctx, toB, back, remote, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", back)
	// Output: ....RMA.........
}

// Two endpoints of type MSG connect. Each sends private data to the other.
func ExampleDial() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l, err := gofabric.Listen(ctx, "127.0.0.1:0", gofabric.Config{Provider: "tcp"})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go func() {
		for request, err := range l.Requests(ctx) {
			if err != nil {
				log.Print(err)
				return
			}
			server, err := request.Accept(ctx, []byte("welcome, "+string(request.PrivateData())))
			if err != nil {
				log.Print(err)
				continue
			}
			if err := server.Send(ctx, gofabric.Connected, []byte("first message")); err != nil {
				log.Print(err)
			}
			defer server.Close()
		}
	}()

	client, err := gofabric.Dial(ctx, l.Addr().String(), gofabric.Config{Provider: "tcp", PrivateData: []byte("alice")})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	buf := make([]byte, 64)
	r, err := client.Recv(ctx, gofabric.Connected, buf)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s\n", client.PrivateData(), buf[:r.Len])
	// Output: welcome, alice: first message
}

// Datagrams need no connection. They may be lost, and each must fit into one packet of the network.
func Example_datagrams() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cfg := gofabric.Config{Provider: "udp", Type: core.EPTypeDgram, Node: "127.0.0.1"}
	a, err := gofabric.Open(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := gofabric.Open(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	toB, err := a.InsertAddr(b.Name())
	if err != nil {
		log.Fatal(err)
	}
	answered := make(chan string)
	go func() {
		buf := make([]byte, 64)
		r, err := b.Recv(ctx, gofabric.AnyPeer, buf)
		if err != nil {
			log.Print(err)
		}
		answered <- string(buf[:r.Len])
	}()
	for { // until one has arrived
		if err := a.Send(ctx, toB, []byte("a reading: 21.5")); err != nil {
			log.Fatal(err)
		}
		select {
		case text := <-answered:
			fmt.Println(text)
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	// Output: a reading: 21.5
}

// One endpoint communicates with many peers. A peer is an index into its address vector.
func Example_manyPeers() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	const workers = 5
	master, err := gofabric.Open(ctx, gofabric.Config{Provider: "tcp", Node: "127.0.0.1", Peers: workers})
	if err != nil {
		log.Fatal(err)
	}
	defer master.Close()
	var peers []gofabric.Peer
	for i := range workers {
		worker, err := gofabric.Open(ctx, gofabric.Config{Provider: "tcp", Node: "127.0.0.1"})
		if err != nil {
			log.Fatal(err)
		}
		defer worker.Close()
		peer, err := master.Insert(worker.Name().String()) // "fi_sockaddr_in://127.0.0.1:41234"
		if err != nil {
			log.Fatal(err)
		}
		peers = append(peers, peer)
		go func() {
			toMaster, err := worker.InsertAddr(master.Name())
			if err != nil {
				log.Print(err)
			}
			buf := make([]byte, 1)
			if _, err := worker.Recv(ctx, gofabric.AnyPeer, buf); err != nil {
				log.Print(err)
			}
			buf[0] *= byte(i)
			if err := worker.Send(ctx, toMaster, buf); err != nil {
				log.Print(err)
			}
		}()
	}
	buf := make([]byte, 1)
	for i, peer := range peers {
		if err := master.Send(ctx, peer, []byte{10}); err != nil {
			log.Fatal(err)
		}
		if _, err := master.Recv(ctx, peer, buf); err != nil { // from this peer only
			log.Fatal(err)
		}
		fmt.Println("worker", i, "answers", buf[0])
	}
	// Output:
	// worker 0 answers 0
	// worker 1 answers 10
	// worker 2 answers 20
	// worker 3 answers 30
	// worker 4 answers 40
}

// GetInfo returns the ways to communicate with tagged messages, and the reasons why others were refused.
func ExampleGetInfo() {
	hints := core.NewHints()
	hints.Fabric.ProvName = "tcp"
	hints.Caps = core.CapTagged
	hints.EP.Type = core.EPTypeRDM
	infos, _, err := gofabric.GetInfo(core.Query{Node: "127.0.0.1", Service: "7471", Hints: hints})
	if err != nil {
		log.Fatal(err)
	}
	i := infos[0]
	fmt.Println(i.Fabric.ProvName, i.EP.Type, i.DestAddr)
	fmt.Println("tags:", i.Caps&core.CapTagged != 0, " data with a message:", i.Domain.CQDataSize, "bytes")

	hints.Caps |= core.CapMulticast
	_, refusals, err := gofabric.GetInfo(core.Query{Hints: hints})
	fmt.Println("multicast too:", err != nil, " reasons given:", len(refusals) > 0)
	// Output:
	// tcp FI_EP_RDM fi_sockaddr_in://127.0.0.1:7471
	// tags: true  data with a message: 8 bytes
	// multicast too: true  reasons given: true
}

// twoEndpoints opens two endpoints. The first has the address of the second.
func twoEndpoints(ctx context.Context) (a, b *gofabric.Endpoint, toB gofabric.Peer) {
	var ends [2]*gofabric.Endpoint
	for i := range ends {
		var err error
		if ends[i], err = gofabric.Open(ctx, gofabric.Config{Provider: "tcp", Node: "127.0.0.1"}); err != nil {
			log.Fatal(err)
		}
	}
	toB, err := ends[0].InsertAddr(ends[1].Name())
	if err != nil {
		log.Fatal(err)
	}
	return ends[0], ends[1], toB
}
