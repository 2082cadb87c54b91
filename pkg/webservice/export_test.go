package webservice

import (
	"reflect"
	"strings"
)

// DocumentedSection and DocumentedRoute are what docs/REST.md needs of the route table, in its order.
type DocumentedSection struct {
	Title  string
	Routes []DocumentedRoute
}

// DocumentedRoute is a route of the table.
type DocumentedRoute struct{ Method, Path, Example string }

// DocumentedRoutes is the route table.
func DocumentedRoutes() (all []DocumentedSection) {
	for _, section := range routeSections {
		one := DocumentedSection{Title: section.title}
		for _, info := range section.routes {
			method, _, _ := strings.Cut(info.pattern, " ")
			one.Routes = append(one.Routes, DocumentedRoute{method, pathOf(info.pattern), info.example})
		}
		all = append(all, one)
	}
	return all
}

// DocumentedTypes are the types of the schemas of the description, by name.
func DocumentedTypes() map[string]reflect.Type {
	s := newSchemas()
	for _, info := range routesByPattern {
		info.operation("", s)
	}
	return s.types
}
