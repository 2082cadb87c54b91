package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// mirror keeps the priority classes and the disruption budgets of the scheduler like those of the cluster, over REST.
type mirror struct {
	*cluster
	*restClient
	classNames atomic.Pointer[map[string]bool] // that the scheduler has
	refused    map[string]string               // by object: why the scheduler has refused it, which was said
}

// The times of a mirror until it compares: after a change; without one, as the scheduler may have read its file of
// queues again; and after an error.
const mirrorGather, mirrorAgain, mirrorRetry = time.Second, time.Minute, 5 * time.Second

// entry is an object of the cluster as REST has it. Fields that are not there stay as they are.
type entry struct {
	fields map[string]any
	about  runtime.Object
	after  bool // it is changed after the others
}

// pathOf is the path of an object below /ws/v1/.
func pathOf(kind string, fields map[string]any) string {
	path := kind + "/" + url.PathEscape(fmt.Sprint(fields["name"]))
	if namespace, has := fields["namespace"]; has {
		path += "?namespace=" + url.QueryEscape(fmt.Sprint(namespace))
	}
	return path
}

// newClass returns a priority class. There is one default at a time: it comes after one that is none any more.
func newClass(c *schedulingv1.PriorityClass) entry {
	return entry{map[string]any{"name": c.Name, "value": float64(c.Value), "globalDefault": c.GlobalDefault,
		"preemptionPolicy": string(ptr.Deref(c.PreemptionPolicy, v1.PreemptLowerPriority)),
		"description":      c.Description}, c, c.GlobalDefault}
}

// newBudget returns a budget. A number that must be available means the same to the scheduler. A percentage, and a
// number that may be missing, count from how many there should be, which only the controller of budgets knows: what it
// says may be disrupted now is sent instead, and 0 as long as it has not seen the budget as it is.
func newBudget(b *policyv1.PodDisruptionBudget) entry {
	fields := map[string]any{"name": b.Name, "namespace": b.Namespace}
	var selector map[string]any
	text, _ := json.Marshal(cmp.Or(b.Spec.Selector, &metav1.LabelSelector{})) // it always has a JSON form
	_ = json.Unmarshal(text, &selector)
	fields["selector"] = selector
	switch least := b.Spec.MinAvailable; {
	case least != nil && least.Type == intstr.Int:
		fields["minAvailable"] = float64(least.IntVal)
	case b.Status.ObservedGeneration < b.Generation:
		fields["allowed"] = float64(0)
	default:
		fields["allowed"] = float64(b.Status.DisruptionsAllowed)
	}
	return entry{fields, b, false}
}

// has reports whether the scheduler has a priority class. Those of the system are not named to it: who may use them
// is decided by the cluster, and the scheduler has rules of its own.
func (m *mirror) has(class string) bool {
	return m != nil && (*m.classNames.Load())[class]
}

// startMirror compares once, so that the first pods can name their classes, and goes on until ctx ends, which the
// second result waits for. Without a client there is no mirror.
func startMirror(ctx context.Context, c *cluster, client *restClient) (*mirror, func()) {
	if client == nil {
		return nil, func() {}
	}
	m, ended := &mirror{cluster: c, restClient: client, refused: map[string]string{}}, make(chan struct{})
	m.classNames.Store(&map[string]bool{})
	err := m.compare(ctx)
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			again := mirrorAgain
			if err != nil {
				slog.Warn("priority classes and disruption budgets are not compared", "error", err)
				again = mirrorRetry
			}
			select {
			case <-m.mirrored:
				sleep(ctx, mirrorGather)
			case <-time.After(again):
			case <-ctx.Done():
				return
			}
			err = m.compare(ctx)
		}
	}()
	return m, func() { <-ended }
}

// compare changes what differs. An object that is refused has an event that says why; it does not keep others away.
func (m *mirror) compare(ctx context.Context) error {
	var classes, budgets []entry
	listed, _ := m.classes.List(labels.Everything()) // it has no error
	for _, c := range listed {
		if !strings.HasPrefix(c.Name, "system-") { // both have the same; the API server allows no others
			classes = append(classes, newClass(c))
		}
	}
	names, err := m.compareKind(ctx, "priorityclasses", "priorityclass", classes)
	if err != nil {
		return err
	}
	m.classNames.Store(&names)
	listedBudgets, _ := m.budgets.List(labels.Everything())
	for _, b := range listedBudgets {
		budgets = append(budgets, newBudget(b))
	}
	_, err = m.compareKind(ctx, "disruptionbudgets", "disruptionbudget", budgets)
	return err
}

// compareKind compares the objects of a kind, and returns the names of those that the scheduler then has.
func (m *mirror) compareKind(ctx context.Context, plural, kind string, entries []entry) (map[string]bool, error) {
	var known []map[string]any
	if err := m.call(ctx, http.MethodGet, plural, nil, &known); err != nil {
		return nil, err
	}
	wanted, has, names := map[string]entry{}, map[string]map[string]any{}, map[string]bool{}
	for _, e := range entries {
		wanted[pathOf(kind, e.fields)] = e
	}
	for _, old := range known {
		if old["system"] == true {
			continue
		}
		path, gone := pathOf(kind, old), false
		e, keep := wanted[path]
		if !keep || old["value"] != e.fields["value"] { // REST does not change the value of a class
			var err error
			if gone, err = m.change(ctx, e.about, path, http.MethodDelete, path, nil); err != nil {
				return nil, err
			}
		}
		if !gone {
			has[path], names[fmt.Sprint(old["name"])] = old, true
		}
	}
	order := func(e entry) string { return fmt.Sprint(e.after, pathOf(kind, e.fields)) } // false before true
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(order(a), order(b)) })
	for _, e := range entries {
		path := pathOf(kind, e.fields)
		method, where := http.MethodPost, plural
		if old := has[path]; old != nil {
			differs := false
			for name, field := range e.fields {
				differs = differs || !same(old[name], field)
			}
			if !differs {
				continue
			}
			method, where = http.MethodPut, path
		}
		done, err := m.change(ctx, e.about, path, method, where, e.fields)
		if err != nil {
			return nil, err
		}
		if done {
			names[fmt.Sprint(e.fields["name"])] = true
		}
	}
	return names, nil
}

// same compares fields of objects; REST leaves out one that is empty.
func same(a, b any) bool {
	return reflect.DeepEqual(a, b) || a == nil && b == "" || a == "" && b == nil
}

// change makes a change of the object id, and reports whether the scheduler has made it. A refusal is an event of the
// object, once for the same reason; any other failure is an error.
func (m *mirror) change(ctx context.Context, about runtime.Object, id, method, path string, body any) (bool, error) {
	err := m.call(ctx, method, path, body, nil)
	reason, refused := errors.AsType[refusal](err)
	if !refused {
		return err == nil, err
	}
	if m.refused[id] != string(reason) {
		m.refused[id] = string(reason)
		slog.Error("the scheduler refuses a change", "method", method, "object", id, "reason", reason)
		if about != nil {
			m.events.Event(about, v1.EventTypeWarning, "Refused", string(reason))
		}
	}
	return false, nil
}

// restClient calls the REST of the scheduler, at its admin listener.
type restClient struct {
	base   string
	client *http.Client
}

// refusal is an answer that says that an object is wrong, or that it cannot be changed now.
type refusal string

func (r refusal) Error() string { return string(r) }

// newRESTClient makes a client for a URL, with authority and token of the gRPC connection. A call may take 30 s.
func newRESTClient(address, caCert, tokenFile string) (*restClient, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("--rest-address must be http://HOST:PORT or https://HOST:PORT, not %q", address)
	}
	client, err := rest.HTTPClientFor(&rest.Config{Host: u.Host, BearerTokenFile: tokenFile,
		TLSClientConfig: rest.TLSClientConfig{CAFile: caCert}, Timeout: 30 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("--ca-cert, --token-file: %w", err)
	}
	return &restClient{u.Scheme + "://" + u.Host, client}, nil
}

// call sends a body, if there is one, and reads the answer into a value, if there is one.
func (c *restClient) call(ctx context.Context, method, path string, body, answer any) error {
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body) // it always has a JSON form
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+"/ws/v1/"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(response.Body)
	switch code := response.StatusCode; {
	case err != nil:
		return err
	case code < 300:
		if answer == nil {
			return nil
		}
		return json.Unmarshal(text, answer)
	case code == http.StatusBadRequest, code == http.StatusConflict, code == http.StatusUnprocessableEntity:
		told := struct{ Message string }{string(text)}
		_ = json.Unmarshal(text, &told) // else it is the text
		return refusal(told.Message)
	default:
		return fmt.Errorf("%s %s: %s: %.200s", method, request.URL, response.Status, text)
	}
}
