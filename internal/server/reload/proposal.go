package reload

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
)

// Proposal is a valid configuration with its source, for Apply. The partitions have not
// been checked against it yet.
type Proposal struct {
	Source             Source
	From               string
	Text               string              // of queues.yaml, without the ConfigMap around it
	Config             *configs.Config     // of the text; nil: the text in force stays
	Warnings           validation.Problems // of the text
	IgnoredKeys        []string            // keys of the ConfigMap around the text, which are not read
	Extra              map[string]string   // the extra configuration, if HasExtra
	HasExtra           bool                // false: the extra configuration in force stays
	ExpectedGeneration uint64              // refused unless this generation is in force; 0: any (CFG-117)
}

// InvalidError is the error of a text that is not a valid configuration.
type InvalidError struct{ Problems validation.Problems }

func (e *InvalidError) Error() string { return "invalid configuration:\n" + e.Problems.Error() }

// readSlots bounds how many texts are read at the same time: the largest text that the bounds allow
// takes some hundred megabytes. It holds a token for each text that is read.
var readSlots = make(chan struct{}, 2)

// Read makes a Proposal of a text, or of the queues.yaml in a ConfigMap. The error is an
// *InvalidError with all problems, warnings included. Bounds that are zero are the default ones.
func Read(source Source, from string, text []byte, bounds queuesyaml.Options) (*Proposal, error) {
	readSlots <- struct{}{}
	defer func() { <-readSlots }()
	conf, problems := queuesyaml.LoadWith(text, bounds)
	if conf == nil {
		return nil, &InvalidError{problems}
	}
	return &Proposal{
		Source: source, From: from, Text: string(queuesyaml.QueuesYAML(text)), Config: conf, Warnings: problems,
		IgnoredKeys: queuesyaml.IgnoredConfigMapKeys(text),
	}, nil
}

// Default is the embedded configuration.
func Default() *Proposal {
	p, err := Read(Embedded, "", queuesyaml.Default(), queuesyaml.Options{})
	if err != nil {
		panic(fmt.Sprintf("reload: the embedded configuration: %v", err))
	}
	return p
}

// ignoresRepeats reports whether a repeated text of the source changes nothing (CFG-88).
func (p *Proposal) ignoresRepeats() bool { return p.Source == RM }

// sourceKey identifies the source for its last checksum.
func (p *Proposal) sourceKey() string { return string(p.Source) + " " + p.From }
