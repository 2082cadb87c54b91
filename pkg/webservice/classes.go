package webservice

import (
	"context"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/priorities"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const (
	classVersion    = "scheduling.k8s.io/v1"
	classObjectKind = "PriorityClass"
)

// classKind are the priority classes.
var classKind = objectKind[priorities.Class, *priorities.Class]{
	plural: "/ws/v1/priorityclasses", single: "/ws/v1/priorityclass/{name}",
	apiVersion: classVersion, kind: classObjectKind,
	inForce: func(c *configs.Config) priorities.Registry { return c.Classes },
	list:    queuesyaml.PriorityClasses, complete: completeClass,
	forms: func(*service, context.Context) (func(*priorities.Class) (inJSON, inYAML any), error) {
		return func(c *priorities.Class) (inJSON, inYAML any) { return viewClass(c), classObjectOf(c) }, nil
	},
	changed: func(c *priorities.Class, b changeBody) any { return changedClassBody{viewClass(c), b} },
}

// changedClassBody answers a change of a priority class.
type changedClassBody struct {
	classBody
	changeBody
}

// classBody is a priority class. Its fields have the names of Kubernetes, with submitacl and system added.
type classBody struct {
	Name             string `json:"name"`
	Value            int32  `json:"value"`
	GlobalDefault    bool   `json:"globalDefault"`
	PreemptionPolicy string `json:"preemptionPolicy"`
	Description      string `json:"description,omitempty"`
	// the users and groups that may use it; missing: all, or none for a system class
	SubmitACL *string `json:"submitacl,omitempty"`
	System    bool    `json:"system,omitempty"` // a built-in class
}

// classObject is a priority class as a Kubernetes object.
type classObject struct {
	APIVersion       string             `yaml:"apiVersion"`
	Kind             string             `yaml:"kind"`
	Metadata         dao.ObjectMetadata `yaml:"metadata"`
	Value            int32              `yaml:"value"`
	GlobalDefault    bool               `yaml:"globalDefault,omitempty"`
	PreemptionPolicy string             `yaml:"preemptionPolicy"`
	Description      string             `yaml:"description,omitempty"`
	SubmitACL        *string            `yaml:"submitacl,omitempty"`
}

func viewClass(c *priorities.Class) classBody {
	return classBody{c.Name, c.Value, c.GlobalDefault, c.Policy.String(), c.Description, aclText(c), c.IsSystem()}
}

func classObjectOf(c *priorities.Class) classObject {
	return classObject{
		classVersion, classObjectKind, dao.ObjectMetadata{Name: c.Name},
		c.Value, c.GlobalDefault, c.Policy.String(), c.Description, aclText(c),
	}
}

func aclText(c *priorities.Class) *string {
	if c.SubmitACL == nil {
		return nil
	}
	text := c.SubmitACL.String()
	return &text
}

// completeClass keeps the preemption policy and the submit ACL in an update that does not have them: older clients
// do not send these fields.
func completeClass(sent *queuesyaml.Document[priorities.Class], old *priorities.Class) {
	if !sent.Has(priorities.PolicyField) {
		sent.Object.Policy = old.Policy
	}
	if !sent.Has(priorities.ACLField) {
		sent.Object.SubmitACL = old.SubmitACL
	}
}
