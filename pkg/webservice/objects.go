package webservice

import (
	"context"
	"fmt"
	"net/http"

	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/registry"
)

// objectKind describes one kind of the named objects that the configuration keeps (ADR 50): where and in which forms
// they are served. The requests are the same for all kinds.
type objectKind[T any, P registry.Object[T]] struct {
	plural, single   string // paths: GET and POST of plural; GET, PUT and DELETE of single, which has {name}
	apiVersion, kind string // as Kubernetes objects
	// namespace is the namespace that requests and objects without one mean; empty: the objects of the kind are in
	// no namespace, and a request cannot name one.
	namespace string
	// inForce are the objects of a configuration.
	inForce func(*configs.Config) registry.Registry[T, P]
	// list reads an object and writes the objects into the text of a configuration.
	list *queuesyaml.NamedList[T, P]
	// complete sets the fields that an update lacks and that then stay; nil: each has its default.
	complete func(sent *queuesyaml.Document[T], old *T)
	// warns reports whether the answer to a change has the warnings about the object in the request.
	warns bool
	// forms returns the JSON and YAML form of an object now.
	forms func(*service, context.Context) (func(*T) (inJSON, inYAML any), error)
	// changed is the answer to a change of an object.
	changed func(*T, changeBody) any
}

// objectList is a list of objects of a kind as a Kubernetes object.
type objectList struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Items      []any  `yaml:"items"`
}

// jsonOrYAML serves JSON, or YAML if the client accepts that.
func jsonOrYAML(handle func(*service, *http.Request) (inJSON, inYAML any, err error)) serve {
	return func(s *service, info *routeInfo) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Vary", "Accept")
			inJSON, inYAML, err := handle(s, r)
			if err != nil || !accepts(r, yamlContentTypes...) {
				s.answer(w, r, http.StatusOK, inJSON, err)
				return
			}
			text, err := yaml.Marshal(inYAML)
			if err != nil {
				s.fail(w, r, fmt.Errorf("%s: %w", info.pattern, err))
				return
			}
			s.writeText(w, r, yamlType, text)
		}
	}
}

// all lists the objects in force, by namespace and then by name: all of them, or those of the namespace that the
// query names.
func (k *objectKind[T, P]) all(s *service, r *http.Request) (inJSON, inYAML any, err error) {
	forms, err := k.forms(s, r.Context())
	if err != nil {
		return nil, nil, err
	}
	bodies, list := []any{}, objectList{k.apiVersion, k.kind + "List", []any{}}
	objects := k.inForce(s.currentConfig()).All()
	for i := range objects {
		x := P(&objects[i])
		if wanted := r.URL.Query().Get("namespace"); k.namespace != "" && wanted != "" && wanted != x.Key().Namespace {
			continue
		}
		body, item := forms(x)
		bodies, list.Items = append(bodies, body), append(list.Items, item)
	}
	return bodies, list, nil
}

func (k *objectKind[T, P]) one(s *service, r *http.Request) (inJSON, inYAML any, err error) {
	key, err := k.key(r)
	if err != nil {
		return nil, nil, err
	}
	x, ok := k.inForce(s.currentConfig()).Get(key)
	if !ok {
		return nil, nil, k.refusal(P(nil).Kind().UnknownObject(key))
	}
	forms, err := k.forms(s, r.Context())
	if err != nil {
		return nil, nil, err
	}
	inJSON, inYAML = forms(x)
	return inJSON, inYAML, nil
}

// key has the name in the path and the namespace in the query or, without one, that of objects without one.
func (k *objectKind[T, P]) key(r *http.Request) (registry.Key, error) {
	name, err := parameter(r, "name")
	key := registry.Key{Namespace: k.namespace, Name: name}
	if sent := k.sentNamespace(r); sent != "" {
		key.Namespace = sent
	}
	return key, err
}

// sentNamespace is the namespace in the query; empty: none.
func (k *objectKind[T, P]) sentNamespace(r *http.Request) string {
	if k.namespace == "" {
		return ""
	}
	return r.URL.Query().Get("namespace")
}
