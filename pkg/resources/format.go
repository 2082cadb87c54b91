package resources

import (
	"strconv"
	"strings"
)

// FormatQuantity writes a quantity as people write it in queues.yaml: cores or thousandths for vcore,
// and for anything else the shortest text that says exactly as much, with a decimal or a
// binary suffix or with none. Of texts of the same length the one without a suffix is taken,
// then the binary one. What is counted in pieces, such as pods or GPUs, has a suffix from a
// million on only: 1000 pods are not "1k". Parse reads the text back, unless it is negative.
func FormatQuantity(name string, n Quantity) string {
	if name == VCore {
		if n%1000 == 0 {
			return strconv.FormatInt(int64(n/1000), 10)
		}
		return strconv.FormatInt(int64(n), 10) + "m"
	}
	plain := strconv.FormatInt(int64(n), 10)
	if n == 0 || !IsBytes(name) && -1_000_000 < n && n < 1_000_000 {
		return plain
	}
	best := plain
	for _, text := range [...]string{formatScaled(n, 1024, "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), formatScaled(n, 1000, "", "k", "M", "G", "T", "P", "E")} {
		if len(text) < len(best) {
			best = text
		}
	}
	return best
}

// FormatNamedQuantity is a quantity with the name of its resource, as sentences have it: "memory 16Gi",
// and "1 pod" or "2 pods" for what is counted in pieces under a plural name.
func FormatNamedQuantity(name string, n Quantity) string {
	if name != "pods" && name != "applications" {
		return name + " " + FormatQuantity(name, n)
	}
	if n == 1 {
		name = strings.TrimSuffix(name, "s")
	}
	return FormatQuantity(name, n) + " " + name
}

// formatScaled is n in the largest unit that leaves nothing over. Requires: n is not 0.
func formatScaled(n, step Quantity, units ...string) string {
	i := 0
	for n%step == 0 && i < len(units)-1 {
		n, i = n/step, i+1
	}
	return strconv.FormatInt(int64(n), 10) + units[i]
}

// IsBytes reports whether a resource is counted in bytes, as far as its name tells: memory,
// ephemeral-storage and the huge pages of Kubernetes.
func IsBytes(name string) bool {
	return name == Memory || name == EphemeralStorage || strings.HasPrefix(name, hugePages)
}

// The resources that Kubernetes counts in bytes.
const (
	Memory           = "memory"
	EphemeralStorage = "ephemeral-storage"
	hugePages        = "hugepages-" // the size of a page follows
)

// maxListed is how many resources a List names.
const maxListed = 20

// FormatAmounts writes quantities as people write them, in name order: "memory=16Gi vcore=500m". Of more
// than 20 resources it says how many more there are.
func FormatAmounts(a Amounts) string {
	var b strings.Builder
	n := 0
	for name, quantity := range a.All() {
		if n == maxListed {
			b.WriteString(" and " + strconv.Itoa(a.Len()-n) + " more")
			break
		}
		if n++; n > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(name + "=" + FormatQuantity(name, quantity))
	}
	return b.String()
}
