package recording

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func TestCommandText_RoundTrips(t *testing.T) {
	for _, c := range commandTypes[1:] {
		t.Run(c.Name(), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			g := generator{rand.New(rand.NewPCG(seed, 2)), true}
			for range randomValues {
				v := reflect.New(c).Elem()
				g.fill(v)
				name, fields, exact := CommandText(v.Interface().(scheduler.Command))
				assert.Assert(t, exact, "%s", fields)
				got, err := ParseCommand(name, fields)
				assert.NilError(t, err)
				assert.Assert(t, equalValues(reflect.ValueOf(got), v), "got\n%#v\nwant\n%#v\n%s", got, v, fields)
			}
		})
	}
}

func TestBeginText_RoundTrips(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := generator{rand.New(rand.NewPCG(seed, 2)), true}
	for range randomValues {
		var want Begin
		g.fill(reflect.ValueOf(&want).Elem())
		text, exact := BeginText(&want)
		assert.Assert(t, exact, "%s", text)
		got, err := ParseBegin(text)
		assert.NilError(t, err)
		assert.Assert(t, equalValues(reflect.ValueOf(*got), reflect.ValueOf(want)), "%s", text)
	}
}

// Values that have names are texts, and so are times and durations.
func TestCommandText_IsReadable(t *testing.T) {
	name, fields, exact := CommandText(scheduler.Release{App: "a", Key: "k", Type: scheduler.PreemptedByScheduler})
	assert.Assert(t, exact)
	assert.Equal(t, name+" "+string(fields), `release {"app":"a","key":"k","type":"preempted"}`)
	_, fields, exact = CommandText(scheduler.SubmitAsk{Ask: &objects.Ask{Key: "k", App: "a",
		Created: objects.TimestampOf(time.Unix(1_500_000_000, 0))}})
	assert.Assert(t, exact)
	assert.Equal(t, string(fields), `{"ask":{"app":"a","created":"2017-07-14T02:40:00Z","key":"k"}}`)
}

func TestCommandText_NamesAreUTF8(t *testing.T) {
	_, _, exact := CommandText(scheduler.RemoveNode{Node: "\xff"})
	assert.Assert(t, !exact)
	b := Begin{}
	b.Partition.Name = "\xff"
	_, exact = BeginText(&b)
	assert.Assert(t, !exact)
}

func TestParseCommand_Refuses(t *testing.T) {
	for text, want := range map[string]string{
		`fly {}`:                                   `there is no command "fly"`,
		`remove-node {"nod":"n"}`:                  `remove-node: scheduler.RemoveNode has no field "nod"`,
		`remove-node {"node":7}`:                   `remove-node: node of scheduler.RemoveNode: 7 is no objects.NodeID`,
		`remove-node []`:                           `remove-node: [] is no scheduler.RemoveNode`,
		`remove-node {} {}`:                        `remove-node: there is more behind the JSON value`,
		`remove-node {`:                            `remove-node: unexpected EOF`,
		`submit-ask {}`:                            `submit-ask has no ask`,
		`submit-ask {"ask":null}`:                  `ask of scheduler.SubmitAsk: <nil> is no objects.Ask`,
		`release {"type":"EATEN"}`:                 `EATEN is no scheduler.Termination`,
		`release {"scope":256}`:                    `256 is no scheduler.ReleaseScope`,
		`submit-ask {"ask":{"created":"noon"}}`:    `created of objects.Ask: parsing time "noon"`,
		`set-capacity {"total":{"vcore":"a"}}`:     `a is no resources.Quantity`,
		`set-capacity {"total":{"vcore":1.5}}`:     `vcore of map[string]resources.Quantity: strconv.ParseInt`,
		`set-capacity {"total":[]}`:                `[] is no map[string]resources.Quantity`,
		`set-capacity {"total":7}`:                 `7 is no map[string]resources.Quantity`,
		`set-listening {"listening":"yes"}`:        `yes is no bool`,
		`set-attributes {"attributes":{"zone":1}}`: `1 is no string`,
		`set-attributes {"attributes":[[1]]}`:      `[[1]] is no map[string]string`,
	} {
		name, fields, _ := strings.Cut(text, " ")
		_, err := ParseCommand(name, []byte(fields))
		assert.ErrorContains(t, err, want, text)
	}
}
