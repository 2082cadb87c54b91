package recording

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// effectTypes are all effects.
var effectTypes = []reflect.Type{
	reflect.TypeFor[scheduler.NodeAccepted](), reflect.TypeFor[scheduler.NodeRejected](),
	reflect.TypeFor[scheduler.ApplicationAccepted](),
	reflect.TypeFor[scheduler.ApplicationRejected](), reflect.TypeFor[scheduler.ApplicationUpdated](),
	reflect.TypeFor[scheduler.AskRejected](),
	reflect.TypeFor[scheduler.Allocated](), reflect.TypeFor[scheduler.Released](),
	reflect.TypeFor[scheduler.AskTimedOut](),
	reflect.TypeFor[scheduler.PartitionReset](), reflect.TypeFor[scheduler.Refused](),
	reflect.TypeFor[scheduler.NodeChanged](),
	reflect.TypeFor[scheduler.QueueChanged](), reflect.TypeFor[scheduler.AskCancelled](),
	reflect.TypeFor[scheduler.OperatorActed](),
	reflect.TypeFor[scheduler.AsksWait](), reflect.TypeFor[scheduler.Event](),
}

func TestDigest_KnowsAllEffects(t *testing.T) {
	want := receiversOf(t, "effect")
	var got []string
	for _, e := range effectTypes {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	assert.DeepEqual(t, got, want)
}

// TestDigest_DependsOnEachField changes one field after the other of an effect.
func TestDigest_DependsOnEachField(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	var d Digester
	for _, e := range effectTypes {
		if e == reflect.TypeFor[scheduler.Allocated]() || e == reflect.TypeFor[scheduler.AsksWait]() {
			continue // see below
		}
		v := reflect.New(e).Elem()
		g.fillEffect(v)
		before := d.Digest([]scheduler.Effect{v.Interface().(scheduler.Effect)}, nil)
		for i := range v.NumField() {
			changed := reflect.New(e).Elem()
			changed.Set(v)
			for sameValue(changed.Field(i), v.Field(i)) {
				g.fillEffect(changed.Field(i))
			}
			after := d.Digest([]scheduler.Effect{changed.Interface().(scheduler.Effect)}, nil)
			assert.Assert(t, after != before, "%s.%s", e, e.Field(i).Name)
		}
	}
}

// sameValue reports whether two values say the same: no map or list, or an empty one, says that there are no entries.
func sameValue(a, b reflect.Value) bool {
	return (a.Kind() == reflect.Map || a.Kind() == reflect.Slice) && a.Len()+b.Len() == 0 ||
		reflect.DeepEqual(a.Interface(), b.Interface())
}

// fillEffect is fill for fields that no command has.
func (g generator) fillEffect(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[preemption.Cycle]():
		v.Set(reflect.ValueOf(preemption.Cycle{objects.QueuePath(g.name())}))
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(g.Int64N(1<<33), g.Int64N(1e9)).UTC()))
	default:
		if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[resources.Amounts]() {
			for i := range v.NumField() {
				g.fillEffect(v.Field(i))
			}
			return
		}
		g.fill(v)
	}
}

func TestDigest_OfAPlacement(t *testing.T) {
	var d Digester
	ask := objects.Ask{Key: "k", App: "a", Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1})}
	digest := func(node objects.NodeID, change func(a *objects.Ask)) uint64 {
		a := ask
		change(&a)
		return d.Digest([]scheduler.Effect{scheduler.Allocated{Binding: &scheduler.Binding{Ask: &a, Node: node}}}, nil)
	}
	same := func(*objects.Ask) {}
	want := digest("n", same)
	assert.Equal(t, digest("n", same), want)
	for name, got := range map[string]uint64{
		"node":    digest("m", same),
		"key":     digest("n", func(a *objects.Ask) { a.Key = "l" }),
		"app":     digest("n", func(a *objects.Ask) { a.App = "b" }),
		"amounts": digest("n", func(a *objects.Ask) { a.Amounts = a.Amounts.Times(2) }),
		"shifted": digest("", func(a *objects.Ask) { a.App = "an" }),
	} {
		assert.Assert(t, got != want, name)
	}
	assert.Equal(t, d.Digest(nil, nil), uint64(0))
	assert.Assert(t, d.Digest(nil, []byte("q")) != 0)
}

func TestDigest_OfWaitingAsks(t *testing.T) {
	var d Digester
	digest := func(change func(w *scheduler.WaitingAsk)) uint64 {
		first := scheduler.WaitingAsk{Ask: &objects.Ask{Key: "j", App: "a"}, State: objects.WaitFailed}
		second := scheduler.WaitingAsk{Ask: &objects.Ask{Key: "k", App: "a"}, State: objects.WaitSkipped,
			Blocked: scheduler.NoQueueHeadroom, Subject: "root.a"}
		change(&second)
		together := d.Digest([]scheduler.Effect{scheduler.AsksWait{Asks: []scheduler.WaitingAsk{first, second}}}, nil)
		apart := d.Digest([]scheduler.Effect{scheduler.AsksWait{Asks: []scheduler.WaitingAsk{first}},
			scheduler.AsksWait{Asks: []scheduler.WaitingAsk{second}}}, nil)
		assert.Equal(t, together, apart, "how many asks an effect has is no difference")
		return together
	}
	want := digest(func(*scheduler.WaitingAsk) {})
	for name, got := range map[string]uint64{
		"key":     digest(func(w *scheduler.WaitingAsk) { w.Ask.Key = "l" }),
		"app":     digest(func(w *scheduler.WaitingAsk) { w.Ask.App = "b" }),
		"state":   digest(func(w *scheduler.WaitingAsk) { w.State = objects.WaitFailed }),
		"blocked": digest(func(w *scheduler.WaitingAsk) { w.Blocked = scheduler.NoLimitHeadroom }),
		"subject": digest(func(w *scheduler.WaitingAsk) { w.Subject = "root.b" }),
		"shifted": digest(func(w *scheduler.WaitingAsk) { w.Ask.Key, w.Ask.App = "", "ka" }),
	} {
		assert.Assert(t, got != want, name)
	}
}
