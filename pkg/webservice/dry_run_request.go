package webservice

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// dryRunRequest is the ask of a dry run as it was sent. JSON is parsed as YAML, of which it is a subset.
type dryRunRequest struct {
	dao.DryRunRequest
	amounts resources.Amounts
	present map[string]bool // the fields that were sent
}

// requestFields are the fields of a dao.DryRunRequest, in their order.
var requestFields = fieldNames(reflect.TypeFor[dao.DryRunRequest]())

// fieldKinds say what the values of fields must be.
var fieldKinds = map[reflect.Kind]string{reflect.String: "a text", reflect.Slice: "a list of names",
	reflect.Int32: "a whole number of 32 bits", reflect.Bool: "true or false", reflect.Map: "a mapping of texts"}

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
	w := &dryRunRequest{DryRunRequest: dao.DryRunRequest{Preempts: true}, present: map[string]bool{}}
	fields := doc.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		name := fields[i].Value
		at := slices.Index(requestFields, name)
		switch {
		case at < 0:
			return nil, unknownField(name)
		case w.present[name]:
			return nil, badRequest("%s appears twice", name)
		}
		w.present[name] = true
		if err := w.read(at, fields[i+1]); err != nil {
			return nil, badRequest("%s: %v", name, err)
		}
	}
	return w, w.complete()
}

// read reads a field; the error says what is wrong with its value.
func (w *dryRunRequest) read(at int, n *yaml.Node) error {
	to := reflect.ValueOf(&w.DryRunRequest).Elem().Field(at)
	switch what := fieldKinds[to.Kind()]; requestFields[at] {
	case "resource":
		return readAmounts(w, n)
	case "queueName":
		return readQueueName(w, n)
	case "tags":
		return readTags(w, n)
	default:
		return decode(n, to.Addr().Interface(), what)
	}
}

func unknownField(name string) error {
	known := slices.Sorted(slices.Values(requestFields))
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
		if w.AllocationKey == "" {
			return badRequest("allocationKey: it is empty")
		}
		return nil
	}
	switch {
	case !w.present["resource"]:
		return badRequest("resource: it is missing")
	case w.ApplicationID == "" && w.User == "":
		return badRequest("user: it is missing; or name an existing application with applicationID")
	case w.ApplicationID == "" && w.QueueName == "":
		return badRequest("queueName: it is missing; or name an existing application with applicationID")
	case len(w.Groups) > 0 && !security.IsUserName(w.User):
		return badRequest("user: a user with groups cannot be called %q", truncated(w.User))
	}
	return nil
}

// contradicts is the error if the user or the queue of the request is not that of the application.
func (w *dryRunRequest) contradicts(a *preemption.Preemptor) error {
	switch {
	case w.User != "" && w.User != a.User:
		return badRequest("user: application %s is that of user %s", a.App, a.User)
	case w.QueueName != "" && w.QueueName != string(a.Queue):
		return badRequest("queueName: application %s is in queue %s", a.App, a.Queue)
	}
	return nil
}

// decode reads a value of exactly the type of to: a quoted number is not a number, and null is an error.
func decode(n *yaml.Node, to any, what string) error {
	if n.Kind == yaml.AliasNode || n.Tag == "!!null" {
		return fmt.Errorf("it must be %s", what)
	}
	if err := n.Decode(to); err != nil {
		return fmt.Errorf("it must be %s, not %q", what, truncated(n.Value))
	}
	return nil
}

func readQueueName(w *dryRunRequest, n *yaml.Node) error {
	if err := decode(n, &w.QueueName, "the path of a queue"); err != nil {
		return err
	}
	for _, level := range strings.Split(w.QueueName, ".") {
		if !queueLevel.MatchString(level) {
			return badQueueName(w.QueueName)
		}
	}
	w.QueueName = strings.ToLower(w.QueueName)
	return nil
}

// tagsWithField are the tags of an ask for which a request has a field.
var tagsWithField = map[string]string{
	"yunikorn.apache.org/requiredNode":     "requiredNodeId",
	"kubernetes.io/meta/priorityClassName": "priorityClassName",
}

// readTags reads tags. One that a field says is refused, so that it is not left out without a word.
func readTags(w *dryRunRequest, n *yaml.Node) error {
	if err := decode(n, &w.Tags, "a mapping of texts"); err != nil {
		return err
	}
	for _, tag := range slices.Sorted(maps.Keys(tagsWithField)) {
		if _, sent := w.Tags[tag]; sent {
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
