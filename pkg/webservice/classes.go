package webservice

import (
	"fmt"
	"net/http"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/priorities"
)

// classBody is a priority class. Its fields have the names of Kubernetes, with submitacl and system added.
type classBody struct {
	Name             string  `json:"name"`
	Value            int32   `json:"value"`
	GlobalDefault    bool    `json:"globalDefault"`
	PreemptionPolicy string  `json:"preemptionPolicy"`
	Description      string  `json:"description,omitempty"`
	SubmitACL        *string `json:"submitacl,omitempty"` // the users and groups that may use it; missing: all, or none for a system class
	System           bool    `json:"system,omitempty"`    // a built-in class
}

// classObject is a priority class as a Kubernetes object.
type classObject struct {
	APIVersion       string         `yaml:"apiVersion"`
	Kind             string         `yaml:"kind"`
	Metadata         objectMetadata `yaml:"metadata"`
	Value            int32          `yaml:"value"`
	GlobalDefault    bool           `yaml:"globalDefault,omitempty"`
	PreemptionPolicy string         `yaml:"preemptionPolicy"`
	Description      string         `yaml:"description,omitempty"`
	SubmitACL        *string        `yaml:"submitacl,omitempty"`
}

// classList is a list of priority classes as a Kubernetes object.
type classList struct {
	APIVersion string        `yaml:"apiVersion"`
	Kind       string        `yaml:"kind"`
	Items      []classObject `yaml:"items"`
}

const classVersion = "scheduling.k8s.io/v1"

func viewClass(c *priorities.Class) classBody {
	return classBody{c.Name, c.Value, c.GlobalDefault, c.Policy.String(), c.Description, aclText(c), c.IsSystem()}
}

func classObjectOf(c *priorities.Class) classObject {
	return classObject{
		classVersion, "PriorityClass", objectMetadata{Name: c.Name},
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

func (s *service) routeClasses(mux *router) {
	s.routeJSONOrYAML(mux, "/ws/v1/priorityclasses", s.classes)
	s.routeJSONOrYAML(mux, "/ws/v1/priorityclass/{name}", s.class)
}

// routeJSONOrYAML serves GET and OPTIONS on a path: JSON, or YAML if the client accepts that.
func (s *service) routeJSONOrYAML(mux *router, path string, handle func(*http.Request) (inJSON, inYAML any, err error)) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		inJSON, inYAML, err := handle(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if !accepts(r, yamlContentTypes...) {
			s.writeJSON(w, r, http.StatusOK, inJSON)
			return
		}
		text, err := yaml.Marshal(inYAML)
		if err != nil {
			s.fail(w, r, fmt.Errorf("%s: %w", path, err))
			return
		}
		s.writePieces(w, r, http.StatusOK, yamlType, func(yield func([]byte) bool) { yield(text) })
	})
	mux.HandleFunc("OPTIONS "+path, s.options)
}

// classes lists the classes in force, in name order.
func (s *service) classes(*http.Request) (inJSON, inYAML any, err error) {
	bodies, list := []classBody{}, classList{classVersion, "PriorityClassList", nil}
	for _, c := range s.currentConfig().Classes.All() {
		bodies = append(bodies, viewClass(&c))
		list.Items = append(list.Items, classObjectOf(&c))
	}
	return bodies, list, nil
}

func (s *service) class(r *http.Request) (inJSON, inYAML any, err error) {
	name, err := parameter(r, "name")
	if err != nil {
		return nil, nil, err
	}
	c, ok := s.currentConfig().Classes.Get(name)
	if !ok {
		return nil, nil, unknownClass(name)
	}
	return viewClass(c), classObjectOf(c), nil
}

func unknownClass(name string) error {
	return classFailure(&priorities.Problem{
		Reason: priorities.UnknownClass, Class: name, Field: priorities.NameField, Text: "there is no such class",
	})
}
