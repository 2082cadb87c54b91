package offline

import (
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

// Placing is where an application would go, and why. Its JSON form is for other programs,
// so names stay; quantities are in base units, thousandths of a core for vcore.
type Placing struct {
	Partition string   `json:"partition"`
	User      string   `json:"user"`
	Groups    []string `json:"groups"`
	Placed    bool     `json:"placed"`
	Queue     string   `json:"queue,omitempty"`  // empty: rejected
	Rule      string   `json:"rule,omitempty"`   // that decided; root.default and recovery come after the rules
	Reason    string   `json:"reason,omitempty"` // why it was rejected
	Steps     []Step   `json:"steps"`            // what every rule that was asked said
	Access    *Access  `json:"access,omitempty"` // nil: rejected, or the recovery queue, which needs none
	Created   []Made   `json:"created,omitempty"`
	Warnings  []string `json:"warnings,omitempty"` // tags about quotas that make no sense
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

// Made is a queue that would be created, and what it would have. Parents have nothing.
type Made struct {
	Queue           string                        `json:"queue"`
	Parent          bool                          `json:"parent"`
	Template        string                        `json:"template,omitempty"` // the queue whose childtemplate it has; empty: none
	MaxApplications uint64                        `json:"maxApplications,omitempty"`
	Max             map[string]resources.Quantity `json:"max,omitempty"`
	Guaranteed      map[string]resources.Quantity `json:"guaranteed,omitempty"`
	Properties      map[string]string             `json:"properties,omitempty"`
}

// applicant is the application of a question. It leaves again, and takes the queues with
// it that were created for it.
const applicant objects.AppID = "applicant"

// Place submits an application and takes it back. It goes the way of a server: the rules
// name a queue, the queue is created if need be, the application is added.
func (w *World) Place(s placement.Submission) Placing {
	out := w.place(s)
	w.leave(&out)
	return out
}

// leave takes back what place did.
func (w *World) leave(p *Placing) {
	if p.Placed {
		w.part.RemoveApplication(applicant, beginning)
	}
}

// place submits an application, which stays.
func (w *World) place(s placement.Submission) Placing {
	s.Forced = s.Forced || placement.IsForced(s.Tags)
	trace := placement.Explain(w.conf.Rules, s, w.part)
	out := Placing{
		Partition: w.conf.Name, User: s.User.Name, Groups: append([]string{}, s.User.Groups...),
		Steps: make([]Step, 0, len(trace.Steps)),
	}
	for _, step := range trace.Steps {
		out.Steps = append(out.Steps, stepOf(&step))
	}
	err := trace.Err
	if err == nil {
		err = w.enter(s, objects.QueuePath(trace.Path), &out)
	}
	if err != nil {
		out.Reason = err.Error()
		return out
	}
	out.Placed, out.Queue = true, trace.Path
	out.Rule = trace.Steps[len(trace.Steps)-1].Rule
	return out
}

// enter adds the applicant to the queue at path, and notes what was created for it.
func (w *World) enter(s placement.Submission, path objects.QueuePath, out *Placing) error {
	var made []objects.QueuePath
	if _, ok := w.part.Queue(path); !ok {
		made = w.missing(path)
		if err := w.part.CreateLeaf(path, s.User); err != nil {
			return err
		}
	}
	if err := w.part.AddApplication(applicant, s.User, path, s.Tags, beginning); err != nil {
		return err
	}
	for _, problem := range w.part.UseQuotaTags(path, s.Tags) {
		out.Warnings = append(out.Warnings, problem.Error())
	}
	leaf, _ := w.part.Queue(path)
	out.Access = accessOf(leaf, s.User)
	for _, p := range made {
		q, _ := w.part.Queue(p)
		out.Created = append(out.Created, madeOf(q))
	}
	return nil
}

// missing are the queues along path that do not exist, from the top.
func (w *World) missing(path objects.QueuePath) []objects.QueuePath {
	var out []objects.QueuePath
	at := objects.RootPath
	for _, name := range path.Parts()[1:] {
		at = at.Child(name)
		if _, ok := w.part.Queue(at); !ok {
			out = append(out, at)
		}
	}
	return out
}

func stepOf(s *placement.Step) Step {
	out := Step{Rule: s.Rule, Outcome: s.Outcome.String(), Queue: s.Path, Reason: s.Why}
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
	return &Access{Queue: string(g.Queue), List: list, Name: g.List.Names(u)}
}

func madeOf(q *objects.Queue) Made {
	out := Made{Queue: string(q.Path()), Parent: !q.Leaf()}
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
