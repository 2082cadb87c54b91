package webservice

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/canopy-scheduler/canopy/internal/server/cpushare"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// A part of a list: the elements after a place in its order, at most so many, with some of their fields (RST-9 to
// RST-11). Without one of these parameters a list is whole.

var (
	limitParameter = queryParameter{name: "limit",
		help: "how many elements at most, 1 or more; the header Link of the answer leads to the next ones", kind: "integer"}
	afterParameter  = queryParameter{name: "after", help: "elements after this place, which the link to the next page has"}
	fieldsParameter = queryParameter{name: "fields",
		help: "only these fields of each element, separated by commas; others are left out, also those that are always " +
			"there otherwise"}
	userParameter = queryParameter{name: "user", help: "only applications of this user"}
)

// pageParameters are the parameters of a list that has pages.
var pageParameters = []queryParameter{limitParameter, afterParameter, fieldsParameter}

// page is the part of a list that a request asks for.
type page struct {
	limit  int             // 0: no bound
	after  string          // a place in the order of the list; empty: its beginning
	fields map[string]bool // nil: all
	query  url.Values      // of the request
	ctx    context.Context // of the request
}

// readPage reads a page from the query. element is a body of the list.
func readPage(r *http.Request, element any) (page, error) {
	p := page{query: r.URL.Query(), ctx: r.Context()}
	var err error
	if p.limit, err = limitOf(p.query); err != nil {
		return p, err
	}
	if p.after, err = filterOf(p.query, "after"); err != nil {
		return p, err
	}
	text, err := filterOf(p.query, "fields")
	if err != nil || text == "" {
		return p, err
	}
	known := fieldNames(reflect.TypeOf(element))
	p.fields = map[string]bool{}
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return p, badRequest("%s", unknownListField(name, known))
		}
		p.fields[name] = true
	}
	return p, nil
}

// limitOf is the limit of a query; 0: it has none.
func limitOf(query url.Values) (int, error) {
	text, err := filterOf(query, "limit")
	if err != nil || text == "" {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, badRequest("limit %q: it is a number from 1 on", truncated(text))
	}
	return int(n), nil
}

// filterOf is the value of a parameter; empty: the query does not have it. One without a value is an error: the answer
// would look as if it had been applied.
func filterOf(query url.Values, name string) (string, error) {
	if query.Has(name) && query.Get(name) == "" {
		return "", badRequest("parameter %q has no value", name)
	}
	return query.Get(name), nil
}

func unknownListField(name string, known []string) string {
	text := fmt.Sprintf("unknown field %q: ", truncated(name))
	if i := slices.IndexFunc(known, func(x string) bool { return strings.EqualFold(x, name) }); i >= 0 {
		return text + fmt.Sprintf("did you mean %q?", known[i])
	}
	if hint := validation.DidYouMean(name, known); hint != "" {
		return text + hint
	}
	return text + "the fields are " + strings.Join(known, ", ")
}

// selectPage selects elements of a list in its order: up to limit that come after the place and that are wanted. more:
// the list has others behind them.
func selectPage[T any](p page, all iter.Seq[T], isAfter, isWanted func(T) bool) (selected []T, more bool) {
	slot := cpushare.Readers.Acquire(p.ctx)
	defer slot.Release()
	for x := range all {
		slot.Yield()
		if p.after != "" && !isAfter(x) || !isWanted(x) {
			continue
		}
		if p.limit > 0 && len(selected) == p.limit {
			return selected, true
		}
		selected = append(selected, x)
	}
	return selected, false
}

// pageOf answers with the selected elements. place returns the place of an element, show its JSON.
func pageOf[V, T any](p page, selected []V, more bool, place func(V) string, show func(V) T) *pageBody {
	list := &pageBody{body: dao.ListOf(slices.Values(selected), show), options: onlyFields[T](p.fields)}
	if more {
		list.next = p.nextLink(place(selected[len(selected)-1]))
	}
	return list
}

// onlyFields are the options that leave out other fields of each T; without any wanted, all fields stay.
func onlyFields[T any](wanted map[string]bool) json.Options {
	if wanted == nil {
		return nil
	}
	return json.WithMarshalers(json.MarshalToFunc(func(to *jsontext.Encoder, x T) error {
		object, err := json.Marshal(x, answerOptions)
		if err != nil {
			return err
		}
		from := jsontext.NewDecoder(bytes.NewReader(object), answerOptions)
		begin, err := from.ReadToken()
		err = errors.Join(err, to.WriteToken(begin))
		for err == nil && from.PeekKind() == '"' {
			name, _ := from.ReadToken()
			field := name.String()
			value, bad := from.ReadValue()
			if err = bad; err == nil && wanted[field] {
				err = errors.Join(to.WriteToken(jsontext.String(field)), to.WriteValue(value))
			}
		}
		return errors.Join(err, to.WriteToken(jsontext.EndObject))
	}))
}

// fieldNames returns the names of the fields of a body in JSON, in their order.
func fieldNames(t reflect.Type) (names []string) {
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "-" && field.IsExported() && !(field.Anonymous && name == "") {
			names = append(names, cmp.Or(name, field.Name))
		}
	}
	return names
}

// nextLink returns the relative link to the page after a place.
func (p page) nextLink(place string) string {
	next := url.Values{}
	for name, values := range p.query {
		next.Set(name, values[0])
	}
	next.Set("after", place)
	return "?" + next.Encode()
}
