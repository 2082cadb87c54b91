package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// startWithMirror starts a shim that puts priority classes and budgets to the server.
func startWithMirror(t *testing.T, queues string, objects ...runtime.Object) *fixture {
	t.Helper()
	f := newFixture(t, queues, objects...)
	f.kinds++
	f.change = func(s *settings, wire grpc.ClientConnInterface) grpc.ClientConnInterface {
		var err error
		s.rest, err = newRESTClient("http://"+f.admin, "", "")
		assert.NilError(t, err)
		return wire
	}
	f.startServer()
	f.startShim()
	return f
}

// untilObjects waits until the server has these objects of a kind, without those of the system, in its words.
func (f *fixture) untilObjects(kind string, want ...string) {
	f.t.Helper()
	f.until(func() error {
		var objects []map[string]any
		assert.NilError(f.t, json.Unmarshal([]byte(f.rest("/ws/v1/"+kind)), &objects))
		var got []string
		for _, o := range objects {
			if o["system"] == nil {
				delete(o, "partitions")
				text, err := json.Marshal(o)
				assert.NilError(f.t, err)
				got = append(got, string(text))
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			return fmt.Errorf("%s:\n%s\nnot\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return nil
	})
}

func testBudget(name string, change func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "work", Generation: 1},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1},
	}
	change(b)
	return b
}

// Priority classes and budgets of the scheduler become those of the cluster, and follow them: new, changed and deleted
// ones. What the file of queues has and the cluster does not is deleted.
func TestMirror_FollowsTheCluster(t *testing.T) {
	never := v1.PreemptNever
	two, quarter := intstr.FromInt32(2), intstr.FromString("25%")
	f := startWithMirror(t, `
priorityclasses: [{name: other, value: 1}, {name: kept, value: 5, submitacl: ann}]
disruptionbudgets: [{name: other, namespace: work, minAvailable: 1, selector: {matchLabels: {a: b}}}]
`+testQueues,
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Value: 5, Description: "new words"},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "first"}, Value: 7, GlobalDefault: true},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "system-node-critical"}, Value: 2000001000},
		testBudget("number", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = &two }),
		testBudget("percent", func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MaxUnavailable, b.Status.DisruptionsAllowed = &quarter, 3
		}))
	f.untilObjects("priorityclasses",
		`{"globalDefault":true,"name":"first","preemptionPolicy":"PreemptLowerPriority","value":7}`,
		`{"description":"new words","globalDefault":false,"name":"kept","preemptionPolicy":"PreemptLowerPriority",`+
			`"submitacl":"ann","value":5}`)
	f.untilObjects("disruptionbudgets",
		`{"minAvailable":2,"name":"number","namespace":"work","selector":{"matchLabels":{"app":"number"}}}`,
		`{"allowed":3,"name":"percent","namespace":"work","selector":{"matchLabels":{"app":"percent"}}}`)

	classes, budgets := f.client.SchedulingV1().PriorityClasses(), f.client.PolicyV1().PodDisruptionBudgets("work")
	_, err := classes.Update(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "first"},
		Value: 8, PreemptionPolicy: &never}, metav1.UpdateOptions{}) // it was created again with another value
	assert.NilError(t, err)
	_, err = classes.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Value: 9, GlobalDefault: true}, metav1.CreateOptions{})
	assert.NilError(t, err)
	assert.NilError(t, classes.Delete(t.Context(), "kept", metav1.DeleteOptions{}))
	assert.NilError(t, budgets.Delete(t.Context(), "number", metav1.DeleteOptions{}))
	_, err = budgets.Update(t.Context(), testBudget("percent", func(b *policyv1.PodDisruptionBudget) {
		b.Spec.MaxUnavailable, b.Status.DisruptionsAllowed, b.Generation = &two, 3, 2 // the controller has not seen it
	}), metav1.UpdateOptions{})
	assert.NilError(t, err)
	f.untilObjects("priorityclasses",
		`{"globalDefault":true,"name":"default","preemptionPolicy":"PreemptLowerPriority","value":9}`,
		`{"globalDefault":false,"name":"first","preemptionPolicy":"Never","value":8}`)
	f.untilObjects("disruptionbudgets",
		`{"allowed":0,"name":"percent","namespace":"work","selector":{"matchLabels":{"app":"percent"}}}`)

	_, err = classes.Update(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "default"},
		Value: 9}, metav1.UpdateOptions{})
	assert.NilError(t, err)
	_, err = classes.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "another"},
		Value: 10, GlobalDefault: true}, metav1.CreateOptions{})
	assert.NilError(t, err)
	f.untilObjects("priorityclasses",
		`{"globalDefault":true,"name":"another","preemptionPolicy":"PreemptLowerPriority","value":10}`,
		`{"globalDefault":false,"name":"default","preemptionPolicy":"PreemptLowerPriority","value":9}`,
		`{"globalDefault":false,"name":"first","preemptionPolicy":"Never","value":8}`)
	events, err := f.client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	assert.NilError(t, err)
	for _, e := range events.Items {
		assert.Assert(t, e.Reason != "Refused", "there is one default at a time: %s", e.Message)
	}
}

// What the scheduler refuses is an event of the object, and keeps no other one away.
func TestMirror_SaysWhatIsRefused(t *testing.T) {
	two := intstr.FromInt32(2)
	f := startWithMirror(t, testQueues, testNode("n1", nil),
		testBudget("bad", func(b *policyv1.PodDisruptionBudget) {
			b.Spec.MinAvailable = &two
			b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "k", Operator: "Like", Values: []string{"v"}}}}
		}),
		testBudget("worse", func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Unlike"}}
		}),
		testBudget("good", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = &two }))
	f.untilEvent("bad", "Like")
	f.untilEvent("worse", "Unlike")
	f.untilObjects("disruptionbudgets",
		`{"minAvailable":2,"name":"good","namespace":"work","selector":{"matchLabels":{"app":"good"}}}`)
}

// Pods name their priority class once the scheduler has it, and no budget of the cluster is broken in a queue with
// strict budgets.
func TestMirror_ClassesAndBudgetsCount(t *testing.T) {
	two := intstr.FromInt32(2)
	queues := strings.Replace(testQueues, "- {name: bounded,",
		"- {name: guarded, properties: {disruption.budgets: strict}}\n          - {name: bounded,", 1)
	early := testPod("early", "5", func(p *v1.Pod) { p.Spec.PriorityClassName = "high" })
	f := startWithMirror(t, queues, testNode("n1", nil), early,
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100},
		testBudget("guarded", func(b *policyv1.PodDisruptionBudget) { b.Spec.MinAvailable = &two }))
	f.untilObjects("disruptionbudgets",
		`{"minAvailable":2,"name":"guarded","namespace":"work","selector":{"matchLabels":{"app":"guarded"}}}`)
	const class = `"kubernetes.io/meta/priorityClassName":"high"`
	f.untilCondition("early", "Unschedulable", "")
	text := f.rest("/ws/v1/partition/default/queue/root.work/applications")
	assert.Assert(t, strings.Contains(text, class), "the first pods name their classes: %s", text)
	for i := range 4 {
		f.create(testPod(fmt.Sprint("low-", i), "1", func(p *v1.Pod) {
			in("root.guarded")(p)
			p.Labels["app"] = "guarded"
		}))
	}
	f.untilPlaced(4)
	priority := int32(100)
	for i := range 4 {
		f.create(testPod(fmt.Sprint("high-", i), "1", func(p *v1.Pod) {
			in("root.urgent")(p)
			p.Spec.Priority, p.Spec.PriorityClassName = &priority, "high"
		}))
	}
	f.until(func() error {
		low, high := 0, 0
		for name := range f.placed() {
			if strings.HasPrefix(name, "low") {
				low++
			} else {
				high++
			}
		}
		assert.Assert(t, low >= 2, "two of the budget stay: %v", f.placed())
		if high != 2 {
			return fmt.Errorf("%v", f.placed())
		}
		return nil
	})
	f.untilCondition("high-3", "Unschedulable", "")
	text = f.rest("/ws/v1/partition/default/queue/root.urgent/applications")
	assert.Assert(t, strings.Contains(text, class), text)
	low := 0
	for name := range f.placed() {
		if strings.HasPrefix(name, "low") {
			low++
		}
	}
	assert.Equal(t, low, 2)
}

func TestRESTClient_Address(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:9081", "ftp://host", "http://", "http://host/path", "http://h:x"} {
		_, err := newRESTClient(address, "", "")
		assert.ErrorContains(t, err, "--rest-address")
	}
	_, err := newRESTClient("https://host:9081/", "mirror_test.go", "")
	assert.ErrorContains(t, err, "--ca-cert, --token-file: ")
}

// The client trusts the authority of its file alone, sends the token of its file, and hands on why a change is refused.
func TestRESTClient_AuthorityAndToken(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"Message": "it is there"}`)
	}))
	t.Cleanup(server.Close)
	authority, secret := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "token")
	assert.NilError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: server.Certificate().Raw}), 0o600))
	assert.NilError(t, os.WriteFile(secret, []byte("secret\n"), 0o600))
	call := func(caCert, tokenFile string) error {
		c, err := newRESTClient(server.URL, caCert, tokenFile)
		assert.NilError(t, err)
		return c.call(t.Context(), http.MethodPost, "priorityclasses", map[string]string{"name": "a"}, nil)
	}
	assert.ErrorContains(t, call("", secret), "certificate")
	assert.ErrorContains(t, call(authority, ""), "401 Unauthorized")
	assert.Equal(t, call(authority, secret), error(refusal("it is there")))
}
