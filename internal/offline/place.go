package offline

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Placement is where an application would go, and why. Its JSON form is for other programs,
// so names stay; quantities are in base units, thousandths of a core for vcore.
type Placement struct {
	Partition string         `json:"partition"`
	User      string         `json:"user"`
	Groups    []string       `json:"groups"`
	Placed    bool           `json:"placed"`
	Queue     string         `json:"queue,omitempty"`  // empty: rejected
	Rule      string         `json:"rule,omitempty"`   // that decided; root.default and recovery come after the rules
	Reason    string         `json:"reason,omitempty"` // why it was rejected
	Steps     []Step         `json:"steps"`            // what every rule that was asked said
	Access    *Access        `json:"access,omitempty"` // nil: rejected, or the recovery queue, which needs none
	Created   []CreatedQueue `json:"created,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"` // tags about quotas that make no sense
}

// Step is what one rule said.
type Step struct {
	Rule    string `json:"rule"`
	Outcome string `json:"outcome"` // named, passed over, or rejected
	Queue   string `json:"queue,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Parent  *Step  `json:"parent,omitempty"`
}

// Access is the list that lets the user in.
type Access struct {
	Queue string `json:"queue"`
	List  string `json:"list"` // submitacl or adminacl
	Name  string `json:"name"` // the name on it: *, user ann or group dev
}

// CreatedQueue is a queue that would be created, and what it would have. Parents have nothing.
type CreatedQueue struct {
	Queue           string                        `json:"queue"`
	Parent          bool                          `json:"parent"`
	Template        string                        `json:"template,omitempty"` // the queue whose childtemplate it has; empty: none
	MaxApplications uint64                        `json:"maxApplications,omitempty"`
	Max             map[string]resources.Quantity `json:"max,omitempty"`
	Guaranteed      map[string]resources.Quantity `json:"guaranteed,omitempty"`
	Properties      map[string]string             `json:"properties,omitempty"`
}

// applicationID is the application of a question. It leaves again, and takes the queues with
// it that were created for it.
const applicationID objects.AppID = "applicant"

// Place submits an application and takes it back. It goes the way of a server: the rules
// name a queue, the queue is created if need be, the application is added.
func (p *Partition) Place(s placement.Submission) Placement {
	out := p.place(s)
	p.removeApplication(&out)
	return out
}

// removeApplication takes back what place did.
func (w *Partition) removeApplication(p *Placement) {
	if p.Placed {
		w.partition.RemoveApplication(applicationID, fixedTime)
	}
}

// place submits an application, which stays.
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

// addApplication adds the applicant to the queue at path, and notes what was created for it.
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
	out.Access = accessOf(leaf, s.User)
	for _, p := range missing {
		q, _ := w.partition.Queue(p)
		out.Created = append(out.Created, createdQueueOf(q))
	}
	return nil
}

// missingQueues are the queues along path that do not exist, from the top.
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
