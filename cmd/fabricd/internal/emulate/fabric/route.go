package fabric

// route computes the ways through the switches over the links that are up: all shortest ones for frames to
// interfaces, and a spanning tree for the others, so that rings of links do not make floods endless. Switches
// forget the addresses that they have learned.
func (n *network) route() {
	for i := range n.switches {
		n.switches[i].next = make([][]*pipe, len(n.switches))
		clear(n.switches[i].learned)
	}
	for _, p := range n.pipes {
		p.tree = p.to.face >= 0 || n.back(p).to.face >= 0
	}
	seen := make([]bool, len(n.switches))
	for to := range n.switches {
		distance := n.distances(to)
		for from := range n.switches {
			if from == to || distance[from] < 0 {
				continue
			}
			for _, p := range n.switches[from].ports {
				if s := p.to.station; s >= 0 && !p.link.Down() && distance[s] >= 0 && distance[s] == distance[from]-1 {
					n.switches[from].next[to] = append(n.switches[from].next[to], p)
				}
			}
		}
		if !seen[to] {
			n.grow(to, seen)
		}
	}
}

// distances returns the numbers of links from each switch to one, -1 if there is no way.
func (n *network) distances(to int) []int {
	d := make([]int, len(n.switches))
	for i := range d {
		d[i] = -1
	}
	d[to] = 0
	for queue := []int{to}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, p := range n.switches[at].ports {
			if s := p.to.station; s >= 0 && d[s] < 0 && !n.back(p).link.Down() {
				d[s] = d[at] + 1
				queue = append(queue, s)
			}
		}
	}
	return d
}

// grow makes the tree of the switches that are connected with root.
func (n *network) grow(root int, seen []bool) {
	seen[root] = true
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range n.switches[queue[0]].ports {
			if s := p.to.station; s >= 0 && !seen[s] && !p.link.Down() {
				seen[s] = true
				p.tree, n.back(p).tree = true, true
				queue = append(queue, s)
			}
		}
	}
}
