package validation

import (
	"fmt"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// The smallest plausible quantities of a queue, a user, a group or a class quota (CFG-82). Zero is
// plausible too: it forbids. A smaller quantity is legal, and nearly always has a missing or wrong
// unit: "memory: 10" is ten bytes and "vcore: 10m" a hundredth of a core.
const (
	smallestVCore   = 100     // the request of a very small pod: a tenth of a core
	smallestMemory  = 6 << 20 // container runtimes start nothing with less than 6 MiB
	smallestStorage = 1 << 20
	smallestHuge    = 64 << 10 // the smallest huge page there is
)

// smallestPlausible is the smallest plausible quantity of a resource; 0: any quantity is plausible.
func smallestPlausible(name string) resources.Quantity {
	switch {
	case name == resources.VCore:
		return smallestVCore
	case name == resources.Memory:
		return smallestMemory
	case name == resources.EphemeralStorage:
		return smallestStorage
	case resources.IsBytes(name):
		return smallestHuge
	}
	return 0
}

// warnSmallQuantity warns of quantities that are implausibly small.
func (r *Report) warnSmallQuantity(x *resourceUse) {
	if x.small.count == 0 {
		return
	}
	text, hint := strings.TrimSpace(x.smallText), ""
	n, err := resources.Parse(x.name, text)
	if err != nil {
		return // does not happen: only parsed quantities are recorded
	}
	size := fmt.Sprintf("%d bytes", n)
	switch {
	case x.name == resources.VCore:
		size = fmt.Sprintf("%g of a core", float64(n)/1000)
		if digits, ok := strings.CutSuffix(text, "m"); ok {
			hint = fmt.Sprintf("m is a thousandth; did you mean %s?", strings.TrimSpace(digits))
		}
	case n == 1:
		size = "1 byte"
		fallthrough
	default:
		if larger := largerUnit(text, n); larger != "" {
			hint = "did you mean " + larger + "?"
		}
	}
	r.Add(x.small.subject, x.small.Position, "quantity-small", fmt.Sprintf("%s %s %s is only %s%s",
		x.small.what, x.name, text, size, x.small.furtherLines()), hint)
}

// largerUnit is a quantity of bytes with the unit that is probably meant; empty: unknown. A small
// number without a unit probably means gibibytes, and a large one mebibytes, in which YARN counts
// memory.
func largerUnit(text string, n resources.Quantity) string {
	digits := strings.TrimRight(text, "kKMi \t")
	switch unit := strings.TrimSpace(text[len(digits):]); {
	case unit == "" && n < 1024:
		return digits + "Gi"
	case unit == "" || unit == "k" || unit == "Ki":
		return digits + "Mi"
	case unit == "M" || unit == "Mi":
		return digits + "Gi"
	}
	return ""
}
