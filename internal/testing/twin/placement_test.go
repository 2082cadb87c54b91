package twin

import (
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/placement"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// placementQueue returns the queue for a new application: a leaf, or a path to create (PLC-1). Random runs
// only have the rules provided and user, without filters and parents; the others have table tests.
func (t *Twin) placementQueue(c scheduler.AddApplication) (objects.QueuePath, bool) {
	rules := t.rules
	if len(rules) == 0 {
		rules = []placement.Rule{{Kind: placement.Provided}}
	}
	for _, r := range rules {
		path := ruleTarget(r.Kind, c)
		if path == "" || isRecoveryQueue(path) || !t.maySubmit(path, c.User) {
			continue
		}
		if q := t.queue(path); q == nil && r.Create || q != nil && t.accepts(q, c.App) {
			return path, true
		}
	}
	if q := t.queue(placement.DefaultQueue); q != nil && t.accepts(q, c.App) &&
		t.maySubmit(placement.DefaultQueue, c.User) {
		return q.path, true
	}
	return "", false
}

// forceTag marks an application that is in the recovery queue if nothing else takes it.
const forceTag = "application.create.force"

func ruleTarget(kind placement.Kind, c scheduler.AddApplication) objects.QueuePath {
	name := strings.ToLower(c.Queue)
	if kind == placement.UserName {
		name = c.User.Name
	}
	if name == "" || strings.HasPrefix(name, "root.") && kind == placement.Provided {
		return objects.QueuePath(name)
	}
	return objects.RootPath.Child(strings.ReplaceAll(name, ".", "_dot_"))
}

// accepts reports whether q may take a new application, as far as the state of the queue matters.
func (t *Twin) accepts(q *queue, id objects.AppID) bool {
	return !q.conf.Parent && !q.draining && (t.admitted[id] || !t.isDrained(q.path))
}

// createQueues creates the missing queues of a path for an application. It returns false where that is not possible.
func (t *Twin) createQueues(path objects.QueuePath, id objects.AppID) bool {
	above := t.pathQueues(path)
	q := above[len(above)-1]
	if q.path == path {
		return true
	}
	if !q.conf.Parent || q.draining || path != placement.RecoveryQueue && t.isDrained(path) && !t.admitted[id] {
		return false
	}
	template := templateFor(above)
	parts := path.Parts()
	for i := len(above); i < len(parts); i++ {
		made := &queue{path: q.path.Child(parts[i]), dynamic: &dynamicQueue{parent: i < len(parts)-1, template: template}}
		made.conf = dynamicConf(made, above)
		q.children = append(q.children, made)
		q = made
	}
	return true
}

// templateFor returns the nearest child template along a path; nil: there is none.
func templateFor(above []*queue) (t *configs.ChildTemplate) {
	for _, q := range above {
		if q.conf.ChildTemplate != nil {
			t = q.conf.ChildTemplate
		}
	}
	return t
}
