package chaos

import (
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"gofabric/test/program"
)

// A fleet is the processes of a run: nodes, the server, and clients.

// patience is how long a node may take to answer a command, or to start.
const patience = bound + 15*time.Second

type fleet struct {
	t      *testing.T
	way    way
	seed   uint64
	site   *site
	totals *totals
	audit  *audit
	epoch  time.Time
	setup  setup
	nodes  []*proc // the current life of each node
	server *proc
	all    []*proc // those that have not ended
	bags   uint16  // number of clients so far
	due    []deed
	watch  []deed // deeds that the fleet does not wait for at the end
	status map[uint8]*report
}

// proc is a process.
type proc struct {
	*program.Program
	owner   uint8
	life    uint16
	mortal  bool // the schedule may end it
	stopped bool
	ready   bool
	over    bool // it has printed CLOSED
}

// deed is an action at a time.
type deed struct {
	at time.Duration
	do func()
}

func newFleet(t *testing.T, w way, nodes int, seed uint64, y *totals) *fleet {
	f := &fleet{t: t, way: w, seed: seed, totals: y, audit: newAudit(y), nodes: make([]*proc, nodes),
		epoch: time.Now(), status: map[uint8]*report{}}
	if w.hosts {
		f.site = twoHosts(t)
	} else {
		f.site = oneHost()
	}
	hosts := make([]int, nodes+1)
	for i := range hosts {
		hosts[i] = f.hostOf(uint8(i))
	}
	ports := f.site.ports(t, hosts)
	dir := *kept
	if dir == "" {
		dir = t.TempDir()
	}
	f.setup = setup{Prov: w.prov(), Msg: w.msg, Nodes: ports[:nodes], Server: ports[nodes], Dir: dir,
		Epoch: f.epoch.UnixMicro(), Seed: seed, Most: sizeMax, Bound: w.bound()}
	return f
}

func (f *fleet) now() time.Duration { return time.Since(f.epoch) }

// hostOf returns the number of the host of a process.
func (f *fleet) hostOf(owner uint8) int { return int(owner) % len(f.site.addrs) }

// launch starts a process.
func (f *fleet) launch(role string, s setup, owner uint8) *proc {
	f.t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		f.t.Fatal(err)
	}
	ms := strconv.Itoa(int(silence / time.Millisecond))
	cmd := f.site.command(f.hostOf(s.Me), os.Args[0])
	cmd.Env = append(append(os.Environ(), role+"="+string(text), "GOMAXPROCS=2", "GOTRACEBACK=all",
		"FI_TCP_PEER_TIMEOUT="+ms, "FI_TCP_CONNECT_TIMEOUT="+ms,
		"FI_OFI_RXM_CONNECT_TIMEOUT="+ms, "FI_OFI_RXD_PEER_TIMEOUT="+ms, "FI_OFI_RXD_HANDSHAKE_TIMEOUT="+ms,
		"FI_FAULT_SEED="+strconv.Itoa(int(mix(f.seed+uint64(owner)<<16+uint64(s.Life))>>33))),
		f.way.env...)
	return f.follow(cmd, owner, s.Life)
}

// follow starts a process and reads its output.
func (f *fleet) follow(cmd *exec.Cmd, owner uint8, life uint16) *proc {
	f.t.Helper()
	f.born(owner, life)
	p := &proc{Program: program.Talk(f.t, cmd), owner: owner, life: life}
	p.Mute()
	f.all = append(f.all, p)
	return p
}

// born lets the audit read the journal of a life that begins.
func (f *fleet) born(owner uint8, life uint16) {
	f.t.Helper()
	j, err := os.OpenFile(journalName(f.setup.Dir, owner, life), os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		f.t.Fatal(err)
	}
	f.audit.born(owner, life, f.now()).journal.f = j
}

// start gives a node its next life in a new process.
func (f *fleet) start(i int, number uint16) {
	s := f.setup
	s.Me, s.Life = uint8(i), number
	f.nodes[i] = f.launch(nodeVar, s, uint8(i))
}

// later calls do after some time.
func (f *fleet) later(in time.Duration, do func()) { f.due = append(f.due, deed{f.now() + in, do}) }

// turn runs the deeds that are due, and reads the output of the processes.
func (f *fleet) turn() {
	now := f.now()
	for _, list := range []*[]deed{&f.due, &f.watch} {
		for i := 0; i < len(*list); i++ {
			if d := (*list)[i]; d.at <= now {
				*list = append((*list)[:i], (*list)[i+1:]...)
				i--
				d.do()
			}
		}
	}
	living := f.all[:0]
	for _, p := range f.all {
		if f.listen(p) {
			living = append(living, p)
		}
	}
	f.all = living
	time.Sleep(20 * time.Millisecond) // the processes have the cores; events are due at moments of real time
}

// listen processes a line of a process, and reports whether more may follow.
func (f *fleet) listen(p *proc) bool {
	for {
		line, err := p.Next(0)
		if err == program.ErrSilent {
			return true
		}
		if err != nil {
			if !p.mortal && !p.over {
				f.totals.fault(hung, "%s life %d: %v", nameOf(p.owner), p.life, err)
			}
			f.gone(p)
			return false
		}
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "FAIL":
			name, text, _ := strings.Cut(rest, " ")
			for c, n := range countNames {
				if n == name {
					f.totals.fault(count(c), "%s", text)
				}
			}
		case "READY":
			p.ready = true
			l := f.audit.lives[lifeKey{p.owner, p.life}]
			l.ready, l.up = true, f.now()
		case "CLOSED":
			p.over = true
		case "STATUS":
			r := &report{}
			if err := json.Unmarshal([]byte(rest), r); err != nil {
				f.t.Fatalf("%v in %s", err, line)
			}
			f.status[p.owner] = r
		default:
			f.t.Logf("%v %s life %d: %s", f.now(), nameOf(p.owner), p.life, line)
		}
	}
}

// gone notes that a process has ended.
func (f *fleet) gone(p *proc) { f.audit.died(p.owner, p.life, f.now()) }

// until calls turn until a condition is true.
func (f *fleet) until(what string, limit time.Duration, is func() bool) bool {
	f.t.Helper()
	for end := time.Now().Add(limit); !is(); f.turn() {
		if time.Now().After(end) {
			f.totals.fault(hung, "%s: not within %v", what, limit)
			return false
		}
	}
	return true
}

// kill kills a process with SIGKILL.
func (f *fleet) kill(p *proc) {
	p.mortal = true
	f.audit.died(p.owner, p.life, f.now())
	p.Kill()
}
