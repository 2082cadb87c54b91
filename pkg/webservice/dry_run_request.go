package webservice

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// dryRunRequest is the ask of a dry run as it was sent. JSON is parsed as YAML, of which it is a subset.
type dryRunRequest struct {
	key, app, user, queue, class, node, explainNode string
	groups                                          []string
	priority                                        int32
	amounts                                         resources.Amounts
	tags                                            map[string]string
	preempts, assumeDelayPassed                     bool

	present map[string]bool // the fields that were sent
}

// requestField reads one field; the error says what is wrong with its value.
type requestField func(w *dryRunRequest, n *yaml.Node) error

var requestFields = map[string]requestField{
	"allocationKey":     stringField(func(w *dryRunRequest) *string { return &w.key }),
	"applicationID":     stringField(func(w *dryRunRequest) *string { return &w.app }),
	"user":              stringField(func(w *dryRunRequest) *string { return &w.user }),
	"queueName":         func(w *dryRunRequest, n *yaml.Node) error { return readQueueName(w, n) },
	"priorityClassName": stringField(func(w *dryRunRequest) *string { return &w.class }),
	"requiredNodeId":    stringField(func(w *dryRunRequest) *string { return &w.node }),
	"explainNode":       stringField(func(w *dryRunRequest) *string { return &w.explainNode }),
	"groups":            func(w *dryRunRequest, n *yaml.Node) error { return decode(n, &w.groups, "a list of names") },
	"priority": func(w *dryRunRequest,
		n *yaml.Node) error {
		return decode(n, &w.priority, "a whole number of 32 bits")
	},
	"preempts": func(w *dryRunRequest, n *yaml.Node) error { return decode(n, &w.preempts, "true or false") },
	"assumeDelayPassed": func(w *dryRunRequest,
		n *yaml.Node) error {
		return decode(n, &w.assumeDelayPassed, "true or false")
	},
	"tags":     readTags,
	"resource": readAmounts,
}

// fieldsWithAllocationKey are the fields that may be sent with an allocationKey.
var fieldsWithAllocationKey = []string{"allocationKey", "assumeDelayPassed", "explainNode"}

// readDryRunRequest reads a document with one mapping. Errors name the field and have status 400.
func readDryRunRequest(body []byte) (*dryRunRequest, error) {
	var doc, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(body))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, badRequest("the body is empty: send an ask")
	case err != nil:
		return nil, badRequest("the body is neither JSON nor YAML: %v", err)
	case doc.Content[0].Kind != yaml.MappingNode:
		return nil, badRequest("the body is no mapping: send the fields of an ask")
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, badRequest("the body has more than one document: send one ask")
	}
	w := &dryRunRequest{preempts: true, present: map[string]bool{}}
	fields := doc.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		name := fields[i].Value
		read, known := requestFields[name]
		switch {
		case !known:
			return nil, unknownField(name)
		case w.present[name]:
			return nil, badRequest("%s appears twice", name)
		}
		w.present[name] = true
		if err := read(w, fields[i+1]); err != nil {
			return nil, badRequest("%s: %v", name, err)
		}
	}
	return w, w.complete()
}

func unknownField(name string) error {
	known := slices.Sorted(maps.Keys(requestFields))
	if hint := validation.DidYouMean(name, known); hint != "" {
		return badRequest("unknown field %q: %s", truncated(name), hint)
	}
	return badRequest("unknown field %q: it is one of %s", truncated(name), strings.Join(known, ", "))
}

// complete checks that no required field is missing, and that the fields agree.
func (w *dryRunRequest) complete() error {
	if w.present["allocationKey"] {
		for _, name := range slices.Sorted(maps.Keys(w.present)) {
			if !slices.Contains(fieldsWithAllocationKey, name) {
				return badRequest("%s: the pending ask that allocationKey names has its own; leave out one of the two", name)
			}
		}
		if w.key == "" {
			return badRequest("allocationKey: it is empty")
		}
		return nil
	}
	switch {
	case !w.present["resource"]:
		return badRequest("resource: it is missing")
	case w.app == "" && w.user == "":
		return badRequest("user: it is missing; or name an existing application with applicationID")
	case w.app == "" && w.queue == "":
		return badRequest("queueName: it is missing; or name an existing application with applicationID")
	case len(w.groups) > 0 && !security.IsUserName(w.user):
		return badRequest("user: a user with groups cannot be called %q", truncated(w.user))
	}
	return nil
}

// contradicts is the error if the user or the queue of the request is not that of the application.
func (w *dryRunRequest) contradicts(a *preemption.Preemptor) error {
	switch {
	case w.user != "" && w.user != a.User:
		return badRequest("user: application %s is that of user %s", a.App, a.User)
	case w.queue != "" && w.queue != string(a.Queue):
		return badRequest("queueName: application %s is in queue %s", a.App, a.Queue)
	}
	return nil
}

func stringField(of func(*dryRunRequest) *string) requestField {
	return func(w *dryRunRequest, n *yaml.Node) error { return decode(n, of(w), "a text") }
}

// decode reads a value of exactly the type of to: a quoted number is not a number, and null is an error.
func decode[T any](n *yaml.Node, to *T, what string) error {
	if n.Kind == yaml.AliasNode || n.Tag == "!!null" {
		return fmt.Errorf("it must be %s", what)
	}
	if err := n.Decode(to); err != nil {
		return fmt.Errorf("it must be %s, not %q", what, truncated(n.Value))
	}
	return nil
}

func readQueueName(w *dryRunRequest, n *yaml.Node) error {
	if err := decode(n, &w.queue, "the path of a queue"); err != nil {
		return err
	}
	for _, level := range strings.Split(w.queue, ".") {
		if !queueLevel.MatchString(level) {
			return badQueueName(w.queue)
		}
	}
	w.queue = strings.ToLower(w.queue)
	return nil
}

// tagsWithField are the tags of an ask for which a request has a field.
var tagsWithField = map[string]string{
	"yunikorn.apache.org/requiredNode":     "requiredNodeId",
	"kubernetes.io/meta/priorityClassName": "priorityClassName",
}

// readTags reads tags. One that a field says is refused, so that it is not left out without a word.
func readTags(w *dryRunRequest, n *yaml.Node) error {
	if err := decode(n, &w.tags, "a mapping of texts"); err != nil {
		return err
	}
	for _, tag := range slices.Sorted(maps.Keys(tagsWithField)) {
		if _, sent := w.tags[tag]; sent {
			return fmt.Errorf("%s is the field %s of the request", tag, tagsWithField[tag])
		}
	}
	return nil
}

// readAmounts reads quantities in the syntax of queues.yaml.
func readAmounts(w *dryRunRequest, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return errors.New("it must be a mapping of resources")
	}
	m := map[string]resources.Quantity{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		if value.Kind != yaml.ScalarNode {
			return fmt.Errorf("%q must be a quantity", truncated(name))
		}
		q, err := resources.Parse(name, value.Value)
		if err != nil {
			return fmt.Errorf("%q: %w", truncated(name), err)
		}
		if _, twice := m[name]; twice {
			return fmt.Errorf("%q appears twice", truncated(name))
		}
		m[name] = q
	}
	w.amounts = resources.FromMap(m)
	return nil
}

// truncated is a text of a request as a message repeats it: at most 80 bytes.
func truncated(s string) string {
	const longest = 80
	if len(s) > longest {
		s = strings.ToValidUTF8(s[:longest], "") + "..."
	}
	return s
}
