package resources

import (
	"strconv"
	"strings"
)

// FormatQuantity writes a quantity in the units of queues.yaml: cores or millicores for vcore, otherwise the
// shortest exact text, with a decimal suffix, a binary suffix or none. Of texts of equal length the one without a
// suffix is taken, then the binary one. A resource that is not counted in bytes, such as pods or GPUs, has a
// suffix only from a million on: 1000 pods are not "1k". Parse reads the text back unless it is negative.
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
	for _, text := range [...]string{formatScaled(n, 1024, "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"),
		formatScaled(n, 1000, "", "k", "M", "G", "T", "P", "E")} {
		if len(text) < len(best) {
			best = text
		}
	}
	return best
}

// FormatNamedQuantity returns a quantity with the name of its resource, for messages: "memory 16Gi", and "1 pod" or "2
// pods" for pods and applications.
func FormatNamedQuantity(name string, n Quantity) string {
	if name != "pods" && name != "applications" {
		return name + " " + FormatQuantity(name, n)
	}
	if n == 1 {
		name = strings.TrimSuffix(name, "s")
	}
	return FormatQuantity(name, n) + " " + name
}

// formatScaled returns n in the largest unit that divides it. Requires: n is not 0.
func formatScaled(n, step Quantity, units ...string) string {
	i := 0
	for n%step == 0 && i < len(units)-1 {
		n, i = n/step, i+1
	}
	return strconv.FormatInt(int64(n), 10) + units[i]
}

// IsBytes reports whether a resource is counted in bytes, judged by its name: memory, ephemeral-storage and the
// huge pages of Kubernetes.
func IsBytes(name string) bool {
	return name == Memory || name == EphemeralStorage || strings.HasPrefix(name, hugePages)
}

// The resources that Kubernetes counts in bytes.
const (
	Memory           = "memory"
	EphemeralStorage = "ephemeral-storage"
	hugePages        = "hugepages-" // the size of a page follows
)

// maxListed bounds the resources that FormatAmounts names.
const maxListed = 20

// FormatAmounts writes quantities in name order: "memory=16Gi vcore=500m". Of more than 20 resources it names 20
// and counts the others.
func FormatAmounts(a Amounts) string {
	var b strings.Builder
	n := 0
	for name, quantity := range a.All() {
		if n == maxListed {
			b.WriteString(" and " + strconv.Itoa(a.Len()-n) + " more")
			break
		}
		n++
		if n > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(name + "=" + FormatQuantity(name, quantity))
	}
	return b.String()
}
