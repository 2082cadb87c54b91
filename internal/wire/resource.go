package wire

import "github.com/canopy-scheduler/canopy/pkg/resources"

// parts are the resource of an allocation. Nearly always there is one part, and its
// bytes have come before; more are added up as the pieces of one message.
type parts struct {
	first  []byte
	n      int
	merged bool // the quantities of the Decoder have all parts
}

// resource notes one part of a resource.
func (d *Decoder) resource(b []byte, p *parts) error {
	p.n++
	if p.n == 1 {
		p.first = b
		return nil
	}
	if !p.merged {
		p.merged = true
		if err := d.gather(p.first); err != nil {
			return err
		}
	}
	return d.add(b)
}

// settle reads the amounts out of the parts.
func (d *Decoder) settle(p *parts, x *Allocation) error {
	if p.merged {
		x.Amounts, x.Wrong = d.read(d.quantities)
		return nil
	}
	if len(p.first) > longestMemo {
		if err := d.gather(p.first); err != nil {
			return err
		}
		x.Amounts, x.Wrong = d.read(d.quantities)
		return nil
	}
	at, known := d.amounts.find(p.first)
	if !known {
		if err := d.gather(p.first); err != nil {
			return err
		}
		amounts, wrong := d.read(d.quantities)
		*at = place[reading]{string(p.first), true, reading{amounts, wrong}}
	}
	x.Amounts, x.Wrong = at.value.amounts, at.value.wrong
	return nil
}

// gather begins with the quantities of a resource.
func (d *Decoder) gather(b []byte) error {
	if len(d.quantities) > resources.MaxNames { // an emptied map is as large as before
		d.quantities = map[string]resources.Quantity{}
	}
	clear(d.quantities)
	return d.add(b)
}

// add reads the quantities of a resource on top of those before: the last one of a
// name counts.
func (d *Decoder) add(b []byte) error {
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | chunk:
			r.fail(d.entry(r.chunk()))
		default:
			r.skip(tag)
		}
	}
	return r.err
}

func (d *Decoder) entry(b []byte) error {
	var name string
	var n resources.Quantity
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | chunk:
			name = d.name(&r)
		case 2*field | chunk:
			r.fail(quantity(r.chunk(), &n))
		default:
			r.skip(tag)
		}
	}
	if r.err == nil {
		d.quantities[name] = n
	}
	return r.err
}

// quantity reads a number, or leaves what was there when none is sent.
func quantity(b []byte, n *resources.Quantity) error {
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | varint:
			*n = resources.Quantity(r.number())
		default:
			r.skip(tag)
		}
	}
	return r.err
}
