package validation

import (
	"slices"
	"strings"
	"unicode"

	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// wellKnownNames are resources that nearly every Kubernetes cluster has under this name.
var wellKnownNames = []string{
	resources.VCore, resources.Memory, "pods", resources.EphemeralStorage, "nvidia.com/gpu", "amd.com/gpu",
}

// wellKnownAliases are other names of well-known resources, normalized by normalizeName.
var wellKnownAliases = map[string]string{
	"cpu": resources.VCore, "cpus": resources.VCore, "vcpu": resources.VCore, "vcpus": resources.VCore,
	"core": resources.VCore, "cores": resources.VCore, "virtualcores": resources.VCore,
	"millicpu": resources.VCore, "millicores": resources.VCore, "requestscpu": resources.VCore,
	"limitscpu": resources.VCore,
	"mem":       resources.Memory, "ram": resources.Memory, "memorymb": resources.Memory, "memorybytes": resources.Memory,
	"requestsmemory": resources.Memory, "limitsmemory": resources.Memory,
}

// IsWellKnownResource reports whether nearly every cluster has a resource of this name.
func IsWellKnownResource(name string) bool { return slices.Contains(wellKnownNames, name) }

// WellKnownResource is the well-known resource that a name probably means (CFG-79), or empty if the name is
// well-known itself or resembles none.
func WellKnownResource(name string) string {
	if IsWellKnownResource(name) {
		return ""
	}
	if known := wellKnownAliases[normalizeName(name)]; known != "" {
		return known
	}
	for _, known := range wellKnownNames {
		if isMisspelt(name, known) {
			return known
		}
	}
	return ""
}

// findSimilarNames finds names that are probably misspelt, with the name that is probably meant: the one
// that is used more often or, of two used equally often, the first in the document (CFG-80).
func findSimilarNames(all []*resourceUse) map[string]*resourceUse {
	byName := map[string]*resourceUse{}
	var names []*resourceUse
	for _, x := range all {
		if sum := byName[x.name]; sum != nil {
			sum.count += x.count
			continue
		}
		if WellKnownResource(x.name) != "" {
			continue // warned of by resource-name
		}
		sum := *x
		byName[x.name] = &sum
		names = append(names, &sum)
	}
	near := map[string]*resourceUse{}
	if len(names) > maxCompared {
		return near
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			if !isSimilarName(a.name, b.name) {
				continue
			}
			likely, suspect := a, b
			if IsWellKnownResource(b.name) || !IsWellKnownResource(a.name) && b.count > a.count {
				likely, suspect = b, a
			}
			if before := near[suspect.name]; before == nil || before.count < likely.count {
				near[suspect.name] = likely
			}
		}
	}
	return near
}

// maxCompared bounds the names that are compared with each other. A partition may have 256 names.
const maxCompared = 1024

// isSimilarName reports whether two different names probably mean the same resource: one of them is
// misspelt, or only one of them has a domain (CFG-80).
func isSimilarName(a, b string) bool {
	return isMisspelt(a, b) || a != b && baseName(a) == baseName(b) && (baseName(a) == a) != (baseName(b) == b)
}

// isMisspelt reports whether two different names differ only in case and separators, by a
// plural s, or by one letter of a long word (CFG-79). Digits and letters of short words do not
// count, because names of devices differ in them (a100 and h100, gpu and tpu).
func isMisspelt(a, b string) bool {
	if a == b || len(a) > maxSuggestionLength || len(b) > maxSuggestionLength {
		return false
	}
	return normalizeName(a) == normalizeName(b) || isPlural(a, b) || isPlural(b, a) || isOneLetter(a, b)
}

// normalizeName is a name in lower case without separators.
func normalizeName(s string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune("-_./ ", c) {
			return -1
		}
		return unicode.ToLower(c)
	}, s)
}

// baseName is a name without its domain.
func baseName(s string) string { return s[strings.LastIndexByte(s, '/')+1:] }

// isPlural reports whether many is the plural of one, a word of three letters or more.
func isPlural(many, one string) bool {
	return one != "" && many == one+"s" && wordLength(one, len(one)-1) >= 3
}

// minMisspeltWord is the least length of a word in which one wrong letter counts as a mistake.
const minMisspeltWord = 5

// isOneLetter reports whether the names differ in one letter of a long word that is missing,
// changed, or swapped with the next one.
func isOneLetter(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(a)-len(b) > 1 {
		return false
	}
	i := 0
	for i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || !isLetter(a[i]) || wordLength(a, i) < minMisspeltWord {
		return false
	}
	if len(a) > len(b) {
		return a[i+1:] == b[i:]
	}
	swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	return isLetter(b[i]) && (a[i+1:] == b[i+1:] || swapped)
}

// wordLength is the length of the word of letters around index i.
func wordLength(s string, i int) int {
	from, to := i, i
	for from > 0 && isLetter(s[from-1]) {
		from--
	}
	for to < len(s) && isLetter(s[to]) {
		to++
	}
	return to - from
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
