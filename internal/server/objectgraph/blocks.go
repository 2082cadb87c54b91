package objectgraph

import (
	"cmp"
	"fmt"
	"slices"
	"unsafe"
)

// makeBlocks sets blocks, and in which of them each place is. Places overlap where a pointer leads into an object, or
// slices share memory. The blocks are in the order in which their memory was found first.
func (d *discovery) makeBlocks() error {
	order := make([]placeKey, 0, len(d.places))
	var blocks []block
	first := []int{} // by block: the place that was found first
	for i := range d.places {
		if p := &d.places[i]; p.t.t.Size() > 0 {
			order = append(order, placeKey{uintptr(p.at), p.t.t.Size() * uintptr(p.n), p.t.number, i})
			continue
		}
		d.places[i].block = len(blocks)
		blocks, first = append(blocks, block{d.places[i].at, d.places[i].t, d.places[i].n}), append(first, i)
	}
	slices.SortFunc(order, placeKey.compare)
	current := -1
	for _, k := range order {
		i := k.index
		p := &d.places[i]
		if current < 0 || uintptr(p.at) >= uintptr(blocks[current].at)+blocks[current].bytes() {
			current = len(blocks)
			blocks, first = append(blocks, block{p.at, p.t, p.n}), append(first, i)
		} else if err := d.join(&blocks[current], p); err != nil {
			return err
		}
		first[current] = min(first[current], i)
		p.block, p.offset = current, uintptr(p.at)-uintptr(blocks[current].at)
	}
	d.number(blocks, first)
	return nil
}

// placeKey is what places are ordered by.
type placeKey struct {
	at, size uintptr
	number   int // of the type
	index    int // in discovery.places
}

// compare has what is at the same address in the order of its size, the largest first.
func (a placeKey) compare(b placeKey) int {
	switch {
	case a.at != b.at:
		return cmp.Compare(a.at, b.at)
	case a.size != b.size:
		return cmp.Compare(b.size, a.size)
	default:
		return cmp.Compare(a.number, b.number)
	}
}

// join makes p, which begins in b, a part of it.
func (d *discovery) join(b *block, p *found) error {
	offset := uintptr(p.at) - uintptr(b.at)
	size := p.t.t.Size()
	switch {
	case contains(b.t, b.n, offset, p.t, p.n, d.s):
	case p.t == b.t && offset%size == 0: // slices that overlap, and p ends behind b
		b.n = int(offset/size) + p.n
	case offset == 0 && contains(p.t, p.n, 0, b.t, b.n, d.s): // a struct of one field, and that field
		b.t, b.n = p.t, p.n
	default:
		return fmt.Errorf("objectgraph: %d of %v and, %d bytes behind their start, %d of %v share memory", b.n, b.t.t, offset,
			p.n, p.t.t)
	}
	return nil
}

// number orders blocks by the places that were found first.
func (d *discovery) number(blocks []block, first []int) {
	order := make([]int, len(blocks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(first[a], first[b]) })
	number := make([]int, len(blocks))
	d.blocks = make([]block, len(blocks))
	for to, from := range order {
		number[from], d.blocks[to] = to, blocks[from]
	}
	for i := range d.places {
		d.places[i].block = number[d.places[i].block]
	}
}

// globals is what package-level variables lead to.
type globals struct {
	blocks  []block
	byPlace []int // numbers of blocks of a size, by address
	funcs   []globalFunc
	number  map[unsafe.Pointer]int // of funcs
}

// globalFunc is a function that a package-level variable leads to.
type globalFunc struct {
	f unsafe.Pointer
	t *typeInfo
}

// has reports whether there is a global at an address.
func (g *globals) has(at unsafe.Pointer) bool {
	_, ok := g.find(at)
	return ok
}

// find is the block that has the byte at an address.
func (g *globals) find(at unsafe.Pointer) (int, bool) {
	i, equal := slices.BinarySearchFunc(g.byPlace, uintptr(at), func(b int, at uintptr) int {
		return cmp.Compare(uintptr(g.blocks[b].at), at)
	})
	if !equal {
		i--
	}
	if i < 0 || uintptr(at)-uintptr(g.blocks[g.byPlace[i]].at) >= g.blocks[g.byPlace[i]].bytes() {
		return 0, false
	}
	return g.byPlace[i], true
}

// discoverGlobals finds what variables lead to.
func (s *Schema) discoverGlobals(variables []any) error {
	g := &s.globals
	g.number = map[unsafe.Pointer]int{}
	d := newDiscovery(s, nil, nil)
	d.funcs = func(at unsafe.Pointer, o *op) {
		f := *(*unsafe.Pointer)(at)
		if _, ok := g.number[f]; !ok {
			g.number[f] = len(g.funcs)
			g.funcs = append(g.funcs, globalFunc{f, o.of})
		}
	}
	for _, v := range variables {
		at, t := variable(v)
		d.reach(at, s.byType[t], 1)
	}
	if err := d.run(); err != nil {
		return err
	}
	if len(d.maps) > 0 {
		return fmt.Errorf("objectgraph: a package-level variable has a map, %v", d.maps[0].t.t)
	}
	if err := d.makeBlocks(); err != nil {
		return err
	}
	g.blocks = d.blocks
	for i := range g.blocks {
		if g.blocks[i].bytes() > 0 {
			g.byPlace = append(g.byPlace, i)
		}
	}
	slices.SortFunc(g.byPlace, func(a, b int) int { return cmp.Compare(uintptr(g.blocks[a].at), uintptr(g.blocks[b].at)) })
	return nil
}
