package reload

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

// Proposal is a configuration that is valid in itself, and who wants it. Whether the
// partitions may become it is not known yet.
type Proposal struct {
	Source             Source
	From               string
	Text               string            // of queues.yaml, without a ConfigMap that it came in
	Config             *configs.Config   // of the text; nil: the text in force stays
	Warnings           configs.Problems  // of the text
	Extra              map[string]string // the extra configuration; looked at if HasExtra
	HasExtra           bool              // false: the extra configuration in force stays
	ExpectedGeneration uint64            // refused unless this generation is in force; 0: over any
}

// InvalidError says that a text is no valid configuration.
type InvalidError struct{ Problems configs.Problems }

func (e *InvalidError) Error() string { return "invalid configuration:\n" + e.Problems.Error() }

// readSlots holds a token for each text that is read: the largest ones that the bounds allow take
// some hundred megabytes, however many come at the same time.
var readSlots = make(chan struct{}, 2)

// Read makes a Proposal of a text, or of the queues.yaml in a ConfigMap. The error is an
// *InvalidError with everything that is
// wrong, warnings included. Bounds that are zero are the default ones.
func Read(source Source, from string, text []byte, bounds configs.Options) (*Proposal, error) {
	readSlots <- struct{}{}
	defer func() { <-readSlots }()
	conf, problems := configs.LoadWith(text, bounds)
	if conf == nil {
		return nil, &InvalidError{problems}
	}
	return &Proposal{Source: source, From: from, Text: string(configs.QueuesYAML(text)), Config: conf, Warnings: problems}, nil
}

// Default is the embedded configuration.
func Default() *Proposal {
	p, err := Read(Embedded, "", configs.Default(), configs.Options{})
	if err != nil {
		panic(fmt.Sprintf("reload: the embedded configuration: %v", err))
	}
	return p
}

// ignoresRepeats reports whether a source that is heard only for its news may have spoken.
func (p *Proposal) ignoresRepeats() bool { return p.Source == RM }

// sourceKey is who is remembered to have said a text.
func (p *Proposal) sourceKey() string { return string(p.Source) + " " + p.From }
