package wire

import "github.com/canopy-scheduler/canopy/pkg/resources"

// resourceParts are the parts of the resource of an allocation. Usually there is one part, whose
// bytes are in the memo; several parts are merged, as protobuf requires.
type resourceParts struct {
	first  []byte
	n      int
	merged bool // Decoder.quantities has all parts
}

// addResourcePart adds one part of a resource.
func (d *Decoder) addResourcePart(b []byte, p *resourceParts) error {
	p.n++
	if p.n == 1 {
		p.first = b
		return nil
	}
	if !p.merged {
		p.merged = true
		if err := d.startQuantities(p.first); err != nil {
			return err
		}
	}
	return d.addQuantities(b)
}

// finishResource sets the amounts of an allocation from the parts of its resource.
func (d *Decoder) finishResource(p *resourceParts, x *Allocation) error {
	if p.merged {
		x.Amounts, x.AmountsErr = d.readAmounts(d.quantities)
		return nil
	}
	if len(p.first) > maxMemoKey {
		if err := d.startQuantities(p.first); err != nil {
			return err
		}
		x.Amounts, x.AmountsErr = d.readAmounts(d.quantities)
		return nil
	}
	slot, known := d.amounts.lookup(p.first)
	if !known {
		if err := d.startQuantities(p.first); err != nil {
			return err
		}
		amounts, err := d.readAmounts(d.quantities)
		*slot = memoSlot[amountsResult]{string(p.first), true, amountsResult{amounts, err}}
	}
	x.Amounts, x.AmountsErr = slot.value.amounts, slot.value.err
	return nil
}

// startQuantities replaces the quantities by those of a resource.
func (d *Decoder) startQuantities(b []byte) error {
	if len(d.quantities) > resources.MaxNames { // clear does not shrink a map
		d.quantities = map[string]resources.Quantity{}
	}
	clear(d.quantities)
	return d.addQuantities(b)
}

// addQuantities adds the quantities of a resource; the last one of a name counts.
func (d *Decoder) addQuantities(b []byte) error {
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | lengthDelimited:
			r.fail(d.quantityEntry(r.readBytes()))
		default:
			r.skip(tag)
		}
	}
	return r.err
}

func (d *Decoder) quantityEntry(b []byte) error {
	var name string
	var n resources.Quantity
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | lengthDelimited:
			name = d.intern(&r)
		case 2*field | lengthDelimited:
			r.fail(quantity(r.readBytes(), &n))
		default:
			r.skip(tag)
		}
	}
	if r.err == nil {
		d.quantities[name] = n
	}
	return r.err
}

// quantity reads a number; without one, n is unchanged.
func quantity(b []byte, n *resources.Quantity) error {
	r := reader{rest: b}
	for tag := r.next(); tag != 0; tag = r.next() {
		switch tag {
		case 1*field | varint:
			*n = resources.Quantity(r.readVarint())
		default:
			r.skip(tag)
		}
	}
	return r.err
}
