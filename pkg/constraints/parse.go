package constraints

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The tags of an ask with its constraints, in the JSON of the Kubernetes fields named.
const (
	SelectorTag    = "canopy.scheduler/nodeSelector" // spec.nodeSelector: an object of labels and values
	AffinityTag    = "canopy.scheduler/nodeAffinity" // spec.affinity.nodeAffinity
	TolerationsTag = "canopy.scheduler/tolerations"  // spec.tolerations: an array
)

// MaxText is the maximal length of a tag or an attribute, in bytes.
const MaxText = 32 << 10

// nodeAffinity is the JSON of AffinityTag.
type nodeAffinity struct {
	Required  *NodeSelector   `json:"requiredDuringSchedulingIgnoredDuringExecution"`
	Preferred []PreferredTerm `json:"preferredDuringSchedulingIgnoredDuringExecution"`
}

// Parse reads the constraints of an ask from its tags. Nil: there are none. An error names the tag and what is wrong
// with it.
func Parse(tags map[string]string) (*Ask, error) {
	texts := textsOf(tags)
	if texts == (tagTexts{}) {
		return nil, nil
	}
	return texts.parse()
}

// tagTexts holds the texts of the tags.
type tagTexts struct{ selector, affinity, tolerations string }

func textsOf(tags map[string]string) tagTexts {
	if len(tags) == 0 {
		return tagTexts{}
	}
	return tagTexts{tags[SelectorTag], tags[AffinityTag], tags[TolerationsTag]}
}

func (t tagTexts) parse() (*Ask, error) {
	a := &Ask{}
	for _, part := range []struct {
		tag, text string
		parse     func(*Ask, string) error
	}{
		{SelectorTag, t.selector, (*Ask).parseSelector}, {AffinityTag, t.affinity, (*Ask).parseAffinity},
		{TolerationsTag, t.tolerations, (*Ask).parseTolerations},
	} {
		if part.text == "" {
			continue
		}
		if err := part.parse(a, part.text); err != nil {
			return nil, fmt.Errorf("tag %s: %w", part.tag, err)
		}
	}
	a.setKey()
	if a.key == "" {
		return nil, nil
	}
	if scored := a.content.scored(); len(scored.Preferred)+len(scored.Tolerations) > 0 {
		a.scoreKey = textOf(scored)
	}
	return a, nil
}

// setKey computes the key of a from its content.
func (a *Ask) setKey() {
	a.key = textOf(&a.content)
	if a.key == "{}" {
		a.key = ""
	}
}

func textOf(c *content) string {
	text, err := json.Marshal(c)
	if err != nil {
		panic("constraints: what was decoded cannot be encoded: " + err.Error())
	}
	return string(text)
}

func (a *Ask) parseSelector(text string) error {
	if err := Decode(text, &a.content.Selector); err != nil {
		return err
	}
	if _, ok := a.content.Selector[""]; ok {
		return errors.New("a label has no key")
	}
	return nil
}

func (a *Ask) parseAffinity(text string) error {
	var read nodeAffinity
	if err := Decode(text, &read); err != nil {
		return err
	}
	for i := range read.Preferred {
		if err := read.Preferred[i].check(); err != nil {
			return fmt.Errorf("preferred term %d: %w", i+1, err)
		}
	}
	a.content.Preferred = read.Preferred
	if read.Required == nil {
		return nil
	}
	if len(read.Required.Terms) == 0 {
		return errors.New("nodeSelectorTerms has no term")
	}
	for i := range read.Required.Terms {
		if err := read.Required.Terms[i].check(); err != nil {
			return err
		}
	}
	a.content.Affinity = read.Required
	return nil
}

func (a *Ask) parseTolerations(text string) error {
	if err := Decode(text, &a.content.Tolerations); err != nil {
		return err
	}
	for i := range a.content.Tolerations {
		t := &a.content.Tolerations[i]
		if err := t.check(); err != nil {
			return err
		}
		t.TolerationSeconds = nil // without effect, so it is no part of the key
	}
	return nil
}

// Decode reads one JSON value and accepts known fields only: an unknown field may be a constraint that would be broken.
// The text may have MaxText bytes. An error says what is wrong with it.
func Decode(text string, into any) error {
	if len(text) > MaxText {
		return fmt.Errorf("%d bytes are more than %d", len(text), MaxText)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("not the JSON expected: %s", jsonProblem(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("not the JSON expected: something follows its end")
	}
	return nil
}

// jsonProblem returns err without the names of Go.
func jsonProblem(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return fmt.Sprintf("a %s at byte %d", wrong.Value, wrong.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
