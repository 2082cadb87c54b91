// Package queuesyaml reads queues.yaml into the typed settings of package configs, by the rules of package validation,
// edits the lists of named objects in a document, and describes the format as a JSON Schema.
//
// Load reads and validates in one call, so later code never holds a quantity, a policy
// or an access list as text, and a document that passes cannot fail to load (CFG-1).
// Load reports every problem, each with its line, column, path and rule (CFG-12). The meaning of
// the settings is in package configs and the packages of their types.
//
// Invariant: a Config that Load returned is valid, and Load has no state: the same text and options
// give the same Config and the same problems.
package queuesyaml

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Options bound the size of a document, so that no text can exhaust the memory of the program
// (CFG-15). A bound of zero means that of DefaultOptions. Problems name the bounds like the
// flags of the commands: max-config-bytes, max-config-values, max-queues, max-depth.
type Options struct {
	MaxBytes  int // length of the text in bytes
	MaxValues int // estimated number of scalars, lists and mappings; each costs some 300 bytes to read
	MaxQueues int // queues in all partitions together, each partition's root included
	MaxDepth  int // levels of a queue path, root included, and of a placement rule chain

	// NodeCapacity is the sum over the nodes of each partition, by partition and resource. With it,
	// a quantity of any other resource (CFG-81) and guarantees of more than that (CFG-135) are warned of.
	// An entry that is missing, or without an amount above zero, means unknown: names are compared with
	// well-known names and with each other instead.
	NodeCapacity map[string]map[string]resources.Quantity

	// Partitions are those that a Config has: the others are read and checked, and left out. One that the document does
	// not have is an error. Empty: all (HA-12).
	Partitions []string

	// Yield is called every few values while a text is read, so that a large one does not keep a processor. It may end
	// the reading by a panic. nil: it is not called.
	Yield func()
}

// DefaultOptions are the default bounds, far above the size of real configurations.
func DefaultOptions() Options {
	return Options{MaxBytes: 8 << 20, MaxValues: 1_000_000, MaxQueues: 100_000, MaxDepth: 64}
}

// Load reads a document with the default bounds.
func Load(text []byte) (*configs.Config, validation.Problems) {
	return LoadWith(text, DefaultOptions())
}

// LoadWith reads and validates a document, or the document in a Kubernetes ConfigMap (CFG-1, CFG-18).
// The Config is nil if, and only if, one of the problems is an Error; warnings may come with
// a Config. A Config has at least one partition: a text without partitions is refused, because
// it may be a file that was truncated or not mounted, and would remove all partitions (CFG-7).
func LoadWith(text []byte, o Options) (*configs.Config, validation.Problems) {
	r := newReader(o)
	var t *validation.Tree
	r.UntilErrorLimit(func() {
		t = r.read(text)
		r.Check(t)
		r.checkServed(t.Partitions)
		r.WarnResources(r.options.NodeCapacity)
		r.WarnGuarantees(t.Partitions, r.options.NodeCapacity)
	})
	r.relocateEmbedded()
	problems := r.Sorted()
	if problems.HasErrors() {
		return nil, explainTemplate(text, problems)
	}
	c := t.Finish()
	c.Partitions = slices.DeleteFunc(c.Partitions, func(p configs.Partition) bool {
		return len(o.Partitions) > 0 && !slices.Contains(o.Partitions, p.Name)
	})
	c.Spellings, c.Checksum = r.spellings, checksum(r.source)
	return c, problems
}

// checkServed reports the partitions of the options that the document does not have.
func (r *reader) checkServed(partitions []*validation.Partition) {
	for _, name := range r.options.Partitions {
		if !slices.ContainsFunc(partitions, func(p *validation.Partition) bool { return p.Name == name }) {
			r.Add(nil, validation.Position{}, "no-partition",
				fmt.Sprintf("there is no partition %q, which is to be served", name), "")
		}
	}
}

func (o Options) withDefaults() Options {
	d := DefaultOptions()
	o.MaxBytes, o.MaxValues = cmp.Or(o.MaxBytes, d.MaxBytes), cmp.Or(o.MaxValues, d.MaxValues)
	o.MaxQueues, o.MaxDepth = cmp.Or(o.MaxQueues, d.MaxQueues), cmp.Or(o.MaxDepth, d.MaxDepth)
	if o.Yield == nil {
		o.Yield = func() {}
	}
	return o
}
