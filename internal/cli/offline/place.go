package offline

import (
	"fmt"

	"github.com/canopy-scheduler/canopy/pkg/gangscheduling"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Placement is the queue in which an application would be placed, with the trace of the rules.
// Its JSON names are a public interface and stay; quantities are in base units, thousandths
// of a core for vcore.
type Placement struct {
	Partition string         `json:"partition"`
	User      string         `json:"user"`
	Groups    []string       `json:"groups"`
	Placed    bool           `json:"placed"`
	Queue     string         `json:"queue,omitempty"`  // empty: rejected
	Rule      string         `json:"rule,omitempty"`   // that placed it; root.default and recovery come after the rules
	Reason    string         `json:"reason,omitempty"` // why it was rejected
	Steps     []Step         `json:"steps"`            // results of the evaluated rules, in order
	Access    *Access        `json:"access,omitempty"` // nil: rejected, or the recovery queue, which needs no access
	Created   []CreatedQueue `json:"created,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"` // about malformed quota tags
}

// Step is the result of one placement rule.
type Step struct {
	Rule    string `json:"rule"`
	Outcome string `json:"outcome"` // named, passed over, or rejected
	Queue   string `json:"queue,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Parent  *Step  `json:"parent,omitempty"`
}

// Access is the access list that allows the user to submit.
type Access struct {
	Queue string `json:"queue"`
	List  string `json:"list"` // submitacl or adminacl
	Name  string `json:"name"` // the entry that matches: *, user ann or group dev
}

// CreatedQueue is a dynamic queue that would be created, with its settings. Parents have none.
type CreatedQueue struct {
	Queue  string `json:"queue"`
	Parent bool   `json:"parent"`
	// the queue that has its childtemplate; empty: none
	Template        string                        `json:"template,omitempty"`
	MaxApplications uint64                        `json:"maxApplications,omitempty"`
	Max             map[string]resources.Quantity `json:"max,omitempty"`
	Guaranteed      map[string]resources.Quantity `json:"guaranteed,omitempty"`
	Properties      map[string]string             `json:"properties,omitempty"`
}

// applicationID is the ID of the application of a question. Its removal removes the dynamic queues
// that were created for it.
const applicationID objects.AppID = "applicant"

// Place submits an application and removes it again. It does the steps of a server: the placement
// rules choose a queue, the queue is created if it does not exist, the application is added.
func (p *Partition) Place(s placement.Submission) Placement {
	out := p.place(s)
	p.removeApplication(&out)
	return out
}

// removeApplication removes the application that place added, with its dynamic queues.
func (w *Partition) removeApplication(p *Placement) {
	if p.Placed {
		w.partition.RemoveApplication(applicationID, fixedTime)
	}
}

// place submits an application. The caller must call removeApplication.
func (p *Partition) place(s placement.Submission) Placement {
	s.CreateForced = s.CreateForced || placement.IsCreateForced(s.Tags)
	trace := placement.Explain(p.conf.PlacementRules, s, p.partition)
	out := Placement{
		Partition: p.conf.Name, User: s.User.Name, Groups: append([]string{}, s.User.Groups...),
		Steps: make([]Step, 0, len(trace.Steps)),
	}
	for _, step := range trace.Steps {
		out.Steps = append(out.Steps, stepOf(&step))
	}
	err := trace.Err
	if err == nil {
		err = p.addApplication(s, objects.QueuePath(trace.Path), &out)
	}
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	out.Placed, out.Queue = true, trace.Path
	out.Rule = trace.Steps[len(trace.Steps)-1].Rule
	return out
}

// addApplication adds the application to the queue at path, and records access, created queues and
// warnings in out.
func (w *Partition) addApplication(s placement.Submission, path objects.QueuePath, out *Placement) error {
	var missing []objects.QueuePath
	if _, ok := w.partition.Queue(path); !ok {
		missing = w.missingQueues(path)
		if err := w.partition.CreateLeaf(path, s.User); err != nil {
			return err
		}
	}
	if err := w.partition.AddApplication(applicationID, s.User, path, s.Tags, fixedTime); err != nil {
		return err
	}
	for _, problem := range w.partition.ApplyQuotaTags(path, s.Tags) {
		out.Warnings = append(out.Warnings, problem.Error())
	}
	leaf, _ := w.partition.Queue(path)
	if from := gangscheduling.InheritsFair(leaf); from != nil {
		out.Warnings = append(out.Warnings, fmt.Sprintf("an application with task groups would be rejected: "+
			"%s inherits application.sort.policy: fair from %s, and gangs need fifo or stateaware", path, from.Path()))
	}
	out.Access = accessOf(leaf, s.User)
	for _, p := range missing {
		q, _ := w.partition.Queue(p)
		out.Created = append(out.Created, createdQueueOf(q))
	}
	return nil
}

// missingQueues are the queues along path that do not exist, the highest first.
func (p *Partition) missingQueues(path objects.QueuePath) []objects.QueuePath {
	var out []objects.QueuePath
	at := objects.RootPath
	for _, name := range path.Parts()[1:] {
		at = at.Child(name)
		if _, ok := p.partition.Queue(at); !ok {
			out = append(out, at)
		}
	}
	return out
}

func stepOf(s *placement.Step) Step {
	out := Step{Rule: s.Rule, Outcome: s.Outcome.String(), Queue: s.Path, Reason: s.Reason}
	if s.Parent != nil {
		parent := stepOf(s.Parent)
		out.Parent = &parent
	}
	return out
}

func accessOf(q *objects.Queue, u security.User) *Access {
	g, ok := q.Grant(u)
	if !ok {
		return nil
	}
	list := "submitacl"
	if g.Admin {
		list = "adminacl"
	}
	return &Access{Queue: string(g.Queue), List: list, Name: g.List.MatchedEntry(u)}
}

func createdQueueOf(q *objects.Queue) CreatedQueue {
	out := CreatedQueue{Queue: string(q.Path()), Parent: !q.Leaf()}
	if out.Parent {
		return out
	}
	if from, ok := q.TemplateFrom(); ok {
		out.Template = string(from)
	}
	out.MaxApplications = q.MaxApplications()
	out.Max, out.Guaranteed = limitMap(q.Max()), guaranteeMap(q.Guaranteed())
	out.Properties = q.Settings().Properties
	return out
}
