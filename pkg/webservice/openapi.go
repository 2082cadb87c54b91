package webservice

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// The description of the REST interface as an OpenAPI document, made from the route table and from the types of the
// answers (RST-13). It describes what the listener serves: the admin listener has the changes.

const openAPIPath = "/ws/v1/openapi.json"

// openAPI answers with the description of all routes.
func (s *service) openAPI(*http.Request) (any, error) { return s.description(), nil }

// describe returns the OpenAPI document of the routes.
func describe(patterns []string) schema {
	schemas, paths, tags := newSchemas(), map[string]schema{}, []schema{}
	for _, section := range routeSections {
		used := false
		for i := range section.routes {
			info := &section.routes[i]
			if !slices.Contains(patterns, info.pattern) {
				continue
			}
			used = true
			method, _, _ := strings.Cut(info.pattern, " ")
			path := pathOf(info.pattern)
			if paths[path] == nil {
				paths[path] = schema{}
			}
			paths[path][strings.ToLower(method)] = info.operation(section.title, schemas)
		}
		if used {
			tags = append(tags, schema{"name": section.title})
		}
	}
	return schema{
		"openapi": "3.1.0",
		"info": schema{
			"title": "Canopy", "version": "v1",
			"description": "The REST interface of the Canopy scheduler. Paths marked x-yunikorn are those of Apache YuniKorn, " +
				"and ignore parameters that they do not know; the others refuse them.",
		},
		"paths": paths, "tags": tags, "components": schema{"schemas": schemas.components},
	}
}

// operation describes a route.
func (info *routeInfo) operation(section string, schemas *schemas) schema {
	out := schema{"summary": info.summary, "tags": []string{section}, "operationId": operationID(info.pattern),
		"responses": info.responses(schemas)}
	if info.origin == yunikornRoute {
		out["x-yunikorn"] = true
	}
	if parameters := info.parameters(); len(parameters) > 0 {
		out["parameters"] = parameters
	}
	if info.body != nil {
		out["requestBody"] = info.body.describe(schemas)
	}
	return out
}

var (
	pathName = regexp.MustCompile(`\{(\w+)\}`)
	wordGap  = regexp.MustCompile(`[^A-Za-z0-9]+`)
)

// operationID is the method and the path in words.
func operationID(pattern string) string {
	method, path, _ := strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
	id := strings.ToLower(method)
	for word := range strings.FieldsSeq(wordGap.ReplaceAllString(strings.TrimPrefix(path, "/ws"), " ")) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

// parameters are the names in the path and the parameters of the query.
func (info *routeInfo) parameters() (all []schema) {
	for _, m := range pathName.FindAllStringSubmatch(info.pattern, -1) {
		all = append(all,
			schema{"name": m[1], "in": "path", "required": true, "description": pathParameters[m[1]],
				"schema": schema{"type": "string"}})
	}
	for _, p := range info.query {
		value := schema{"type": "string"}
		if p.kind != "" {
			value["type"] = p.kind
		}
		if len(p.values) > 0 {
			value["enum"] = p.values
		}
		one := schema{"name": p.name, "in": "query", "description": p.help, "schema": value}
		if p.flag {
			one["allowEmptyValue"] = true
		}
		all = append(all, one)
	}
	return all
}

// describe describes the body of a request.
func (b *requestBody) describe(schemas *schemas) schema {
	content := schema{}
	for _, kind := range slices.Concat(b.media, []string{"*/*"})[:max(1, len(b.media))] {
		content[kind] = schema{"schema": schema{"type": "string"}}
		if b.value != nil {
			content[kind] = schema{"schema": schemas.of(reflect.TypeOf(b.value))}
		}
	}
	return schema{"description": b.help, "required": true, "content": content}
}

// responses describes the answers by status.
func (info *routeInfo) responses(schemas *schemas) schema {
	failed := func(description string, body schema) schema {
		return schema{"description": description, "content": schema{jsonType: schema{"schema": body}}}
	}
	plain := schemas.of(reflect.TypeFor[dao.Error]())
	out := schema{
		strconv.Itoa(info.successStatus()): info.success(schemas),
		"default":                          failed("a fault, the end of the scheduler, or a Host that is refused", plain),
	}
	failures := info.errors
	if failures == nil && strings.Contains(info.pattern, "/partition/{partition}/") {
		failures = ofPartition
	}
	if info.origin == canopyRoute {
		failures = append([]int{http.StatusBadRequest}, failures...) // an unknown parameter
	}
	for _, status := range failures {
		body := plain
		if own, ok := info.errorBodies[status]; ok {
			body = schema{"anyOf": []schema{schemas.of(reflect.TypeOf(own)), plain}}
		}
		out[strconv.Itoa(status)] = failed(http.StatusText(status), body)
	}
	return out
}

// successStatus is the status of an answer that is no error.
func (info *routeInfo) successStatus() int {
	if info.status == 0 {
		return http.StatusOK
	}
	return info.status
}

// success describes the answer that is no error.
func (info *routeInfo) success(schemas *schemas) schema {
	media := info.media
	if media == nil {
		media = []string{jsonType}
	}
	content := schema{}
	for _, kind := range media {
		value := schema{"type": "string"}
		switch {
		case kind == jsonType && info.answer != nil:
			value = schemas.of(reflect.TypeOf(info.answer))
		case kind == jsonType:
			value = schema{}
		}
		content[kind] = schema{"schema": value}
	}
	out := schema{"description": http.StatusText(info.successStatus())}
	if len(content) > 0 {
		out["content"] = content
	}
	return out
}
