package offline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/policies"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// ReadAssertions reads a file of assertions. If it has mistakes, no assertions are returned: a
// misspelt assertion could pass.
func ReadAssertions(text []byte) (Assertions, []Mistake) {
	f := &assertionReader{queuesyaml.NewNodes()}
	out := Assertions{Partition: "default"}
	var cluster *resources.Amounts
	top := f.Document(text)
	if top != nil {
		f.fields(top, "the document",
			field{"partition", func(n *yaml.Node) { out.Partition = f.Text(n, "partition") }},
			field{"cluster", func(n *yaml.Node) { cluster = f.cluster(n) }},
			field{"assertions", func(n *yaml.Node) {
				for _, x := range f.List(n, "assertions") {
					out.List = append(out.List, f.assertion(x))
				}
			}})
	}
	mistakes := f.mistakes()
	if len(out.List) == 0 && len(mistakes) == 0 {
		mistakes = []Mistake{{1, 1, "there are no assertions", "assertions: is a list of at least one assertion"}}
	}
	if len(mistakes) > 0 {
		return Assertions{}, mistakes
	}
	for i := range out.List {
		a := &out.List[i]
		if a.Partition == "" {
			a.Partition = out.Partition
		}
		if a.Cluster == nil {
			a.Cluster = cluster
		}
	}
	return out, nil
}

func (f *assertionReader) cluster(n *yaml.Node) *resources.Amounts {
	a := f.amounts(n, "cluster")
	return &a
}

// questions are the keys of which an assertion has exactly one, with the keys of expect that
// each allows.
var questions = map[string][]string{
	"place": {"queue", "rejected", "rule", "created", "max", "guaranteed", "maxapplications", "properties"},
	"queue": {"max", "guaranteed", "maxapplications", "properties"},
	"limit": {"maxresources", "maxapplications", "group"},
	"work":  {"order", "priorities"},
} // those of settings are the settings of the section

func (f *assertionReader) assertion(n *yaml.Node) Assertion {
	a := Assertion{Line: n.Line}
	var asked []string
	var expected *yaml.Node
	question := func(name string, read func(*yaml.Node)) field {
		return field{name, func(n *yaml.Node) { asked = append(asked, name); read(n) }}
	}
	f.fields(n, "an assertion",
		field{"name", func(n *yaml.Node) { a.Name = f.Text(n, "name") }},
		field{"partition", func(n *yaml.Node) { a.Partition = f.Text(n, "partition") }},
		field{"cluster", func(n *yaml.Node) { a.Cluster = f.cluster(n) }},
		question("place", func(n *yaml.Node) { a.Place = f.submission(n) }),
		question("queue", func(n *yaml.Node) { a.Queue = f.queue(n, "queue") }),
		question("limit", func(n *yaml.Node) { a.Limit = f.limitQuery(n) }),
		question("work", func(n *yaml.Node) { a.Workloads = f.workloads(n) }),
		question("settings", func(n *yaml.Node) { a.Section = f.section(n) }),
		field{"expect", func(n *yaml.Node) { expected = n }},
	)
	switch {
	case n.Kind != yaml.MappingNode:
	case len(asked) != 1:
		f.Refuse(n, "it has one of place, queue, limit, work and settings", "the assertion asks %d questions", len(asked))
	case expected == nil:
		f.Refuse(n, "add expect: with the expected values", "the assertion expects nothing")
	case a.Section != "":
		a.Expect.Settings = f.settings(expected, a.Section)
	case asked[0] != "settings": // otherwise the section is a mistake
		f.expect(expected, asked[0], &a)
	}
	return a
}

func (f *assertionReader) submission(n *yaml.Node) *placement.Submission {
	s := &placement.Submission{Tags: map[string]string{}}
	f.fields(n, "place",
		field{"user", func(n *yaml.Node) { s.User.Name = f.Text(n, "user") }},
		field{"groups", func(n *yaml.Node) { s.User.Groups = f.texts(n, "groups") }},
		field{"queue", func(n *yaml.Node) { s.Queue = f.Text(n, "queue") }},
		field{"tags", func(n *yaml.Node) {
			f.Each(n, "tags", func(key, value *yaml.Node) { s.Tags[key.Value] = f.Text(value, "tag "+key.Value) })
		}},
		field{"forced", func(n *yaml.Node) { s.CreateForced = f.Flag(n, "forced") }},
	)
	if s.User.Name == "" {
		f.Refuse(n, "", "place has no user")
	}
	if len(s.User.Groups) == 0 {
		s.User.Groups = []string{s.User.Name} // like a submission without groups (ACL-19)
	}
	return s
}

func (f *assertionReader) limitQuery(n *yaml.Node) *LimitQuery {
	l := &LimitQuery{}
	f.fields(n, "limit",
		field{"queue", func(n *yaml.Node) { l.Queue = f.queue(n, "queue") }},
		field{"user", func(n *yaml.Node) { l.User = f.Text(n, "user") }},
		field{"groups", func(n *yaml.Node) { l.Groups = f.texts(n, "groups") }},
		field{"group", func(n *yaml.Node) { l.Group = f.Text(n, "group") }},
	)
	switch {
	case l.Queue == "" || (l.User == "") == (l.Group == ""):
		f.Refuse(n, "", "limit needs a queue, and either a user or a group")
	case l.Group != "" && l.Groups != nil:
		f.Refuse(n, "", "groups are for a limit of a user; a limit of a group has none")
	}
	if l.User != "" && len(l.Groups) == 0 {
		l.Groups = []string{l.User}
	}
	return l
}

func (f *assertionReader) workloads(n *yaml.Node) []Workload {
	out := []Workload{}
	for _, x := range f.List(n, "work") {
		w := Workload{}
		f.fields(x, "an element of work",
			field{"queue", func(n *yaml.Node) { w.Queue = f.queue(n, "queue") }},
			field{"user", func(n *yaml.Node) { w.User = f.Text(n, "user") }},
			field{"groups", func(n *yaml.Node) { w.Groups = f.texts(n, "groups") }},
			field{"priority", func(n *yaml.Node) { w.Priority = number[int32](f, n, "priority") }},
			field{"pending", func(n *yaml.Node) { w.Pending = f.amounts(n, "pending") }},
			field{"used", func(n *yaml.Node) { w.Used = f.amounts(n, "used") }},
		)
		if w.Queue == "" || w.Pending.IsZero() && w.Used.IsZero() {
			f.Refuse(x, "", "an element of work needs a queue, and something pending or used")
		}
		out = append(out, w)
	}
	if len(out) == 0 && n.Kind == yaml.SequenceNode {
		f.Refuse(n, "", "work is empty")
	}
	return out
}

func (f *assertionReader) expect(n *yaml.Node, question string, a *Assertion) {
	e := &a.Expect
	stated := 0
	text := func(to **string) func(*yaml.Node) {
		return func(n *yaml.Node) { s := f.Text(n, "what is expected"); *to = &s }
	}
	all := []field{
		{"queue", func(n *yaml.Node) { s := f.queue(n, "queue"); e.Queue = &s }},
		{"rejected", func(n *yaml.Node) {
			text(&e.Rejected)(n)
			if n.Kind == yaml.ScalarNode && n.Tag != "!!null" && strings.TrimSpace(n.Value) == "" {
				f.Refuse(n, "a part of the reason", "rejected is empty, and would match every reason")
			}
		}},
		{"rule", text(&e.Rule)},
		{"created", func(n *yaml.Node) { b := f.Flag(n, "created"); e.Created = &b }},
		{"max", func(n *yaml.Node) { e.Max = f.expectedQuantities(n, "max") }},
		{"guaranteed", func(n *yaml.Node) {
			e.Guaranteed = f.expectedQuantities(n, "guaranteed")
			if slices.ContainsFunc(e.Guaranteed, func(q ExpectedQuantity) bool { return q.Unlimited }) {
				f.Refuse(n, "0 is no guarantee", "a guarantee cannot be unlimited")
			}
		}},
		{"maxapplications", func(n *yaml.Node) { x := number[uint64](f, n, "maxapplications"); e.MaxApplications = &x }},
		{"properties", func(n *yaml.Node) { e.Properties = f.properties(n) }},
		{"maxresources", func(n *yaml.Node) { e.MaxResources = f.expectedQuantities(n, "maxresources") }},
		{"group", text(&e.Group)},
		{"order", func(n *yaml.Node) { e.Order = f.order(n) }},
		{"priorities", func(n *yaml.Node) { e.Priorities = f.priorities(n) }},
	}
	var known []field
	for _, x := range all {
		if slices.Contains(questions[question], x.name) {
			known = append(known, field{x.name, func(n *yaml.Node) { stated++; x.read(n) }})
		}
	}
	f.fields(n, "expect of "+question, known...)
	switch {
	case stated == 0 && n.Kind == yaml.MappingNode:
		f.Refuse(n, "one of "+strings.Join(questions[question], ", "), "nothing is expected")
	case e.Rejected != nil && stated > 1:
		f.Refuse(n, "", "a rejected application has no queue, so rejected must be the only key of expect")
	}
}

// section reads the name of a section of a partition; empty: it is a mistake.
func (f *assertionReader) section(n *yaml.Node) string {
	var sections []string
	for _, s := range configs.PartitionSettings() {
		sections = append(sections, s.Section)
	}
	sections = slices.Compact(sections)
	name := f.Text(n, "settings")
	if n.Kind == yaml.ScalarNode && !slices.Contains(sections, name) {
		f.Refuse(n, "one of "+strings.Join(sections, ", "), "a partition has no settings %s", validation.Quote(name))
		return ""
	}
	return name
}

// settings reads expected settings of a section, as queues.yaml has them.
func (f *assertionReader) settings(n *yaml.Node, section string) (out []ExpectedSetting) {
	var known []field
	for _, s := range configs.PartitionSettings() {
		if s.Section != section {
			continue
		}
		known = append(known, field{s.Key, func(n *yaml.Node) {
			var p configs.Partition
			switch to := s.Field(&p).(type) {
			case *bool:
				*to = f.Flag(n, s.Key)
			case *time.Duration:
				d, err := time.ParseDuration(f.Text(n, s.Key))
				if err != nil {
					f.WrongType(n, s.Key, "a time, such as "+s.Examples[0])
				}
				*to = d
			case *int:
				*to = int(number[int32](f, n, s.Key))
			case *[]policies.Weight:
				*to = f.weights(n, s.Key)
			case configs.WordSetting:
				text := f.Text(n, s.Key)
				word := slices.IndexFunc(s.Words, func(word string) bool { return strings.EqualFold(word, text) })
				if word < 0 {
					f.WrongType(n, s.Key, strings.Join(s.Words, " or "))
					return
				}
				to.Choose(word)
			}
			out = append(out, ExpectedSetting{s, s.Text(&p)})
		}})
	}
	f.requireEntries(n, "expect of settings", "name a setting and its expected value")
	f.fields(n, "expect of "+section, known...)
	return out
}

// weights reads weights of resources, in the order of names.
func (f *assertionReader) weights(n *yaml.Node, what string) (all []policies.Weight) {
	f.Each(n, what, func(key, value *yaml.Node) {
		x, err := strconv.ParseFloat(f.Text(value, what+" "+key.Value), 64)
		if err != nil {
			f.WrongType(value, what+" "+key.Value, "a number")
		}
		all = append(all, policies.Weight{Resource: key.Value, Weight: x})
	})
	slices.SortFunc(all, func(a, b policies.Weight) int { return strings.Compare(a.Resource, b.Resource) })
	return all
}

// properties reads expected properties: each must exist, and its text must be legal.
func (f *assertionReader) properties(n *yaml.Node) (out []ExpectedProperty) {
	f.Each(n, "properties", func(key, value *yaml.Node) {
		p, known := configs.FindProperty(key.Value)
		switch text := f.Text(value, "property "+key.Value); {
		case !known:
			f.Refuse(key, "", "there is no property %s", key.Value)
		case value.Kind == yaml.ScalarNode && !p.Accepts(text):
			f.Refuse(value, "it is "+p.Accepted, "property %s cannot be %q", key.Value, text)
		default:
			out = append(out, ExpectedProperty{key.Value, text})
		}
	})
	slices.SortFunc(out, func(a, b ExpectedProperty) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (f *assertionReader) order(n *yaml.Node) []string {
	var out []string
	for _, x := range f.List(n, "order") {
		out = append(out, f.queue(x, "an element of order"))
	}
	if len(out) < 2 && n.Kind == yaml.SequenceNode {
		f.Refuse(n, "", "order needs two queues or more")
	}
	if len(out) > maxOrdered {
		f.Refuse(n, "", "order may have at most %d queues", maxOrdered)
		return nil
	}
	for i := range out {
		for _, later := range out[i+1:] {
			if isSameOrBelow(out[i], later) || isSameOrBelow(later, out[i]) {
				f.Refuse(n, "", "%s and %s cannot be compared: one contains the other", out[i], later)
			}
		}
	}
	return out
}

// maxOrdered bounds the queues of order, each of which is compared with each other.
const maxOrdered = 1000

// isSameOrBelow reports whether path is above or a queue below it.
func isSameOrBelow(path, above string) bool {
	return path == above || strings.HasPrefix(path, above+".")
}

func (f *assertionReader) priorities(n *yaml.Node) []QueuePriority {
	out := []QueuePriority{}
	f.requireEntries(n, "priorities", "name a queue and its expected priority")
	f.Each(n, "priorities", func(key, value *yaml.Node) {
		s := QueuePriority{Queue: f.queue(key, "a key of priorities"), Pending: true}
		if value.Value == "none" {
			s.Pending = false
		} else {
			s.Priority = number[int32](f, value, "the priority of "+s.Queue)
		}
		out = append(out, s)
	})
	return out
}
