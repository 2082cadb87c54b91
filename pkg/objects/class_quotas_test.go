package objects

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

func quotaPartition(t testing.TB, quotas string) *Partition {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte("partitions: [{queues: [{name: root, submitacl: '*', queues: [{name: a, " +
		"classquotas: [" + quotas + "]}]}]}]"))
	assert.Assert(t, conf != nil, problems)
	p := NewPartition(conf.Partitions[0])
	assert.NilError(t, p.AddApplication("app", security.User{Name: "ann"}, "root.a", nil, time.Unix(0, 0)))
	return p
}

func quotaAsk(i int) *Ask {
	return &Ask{Key: AllocationKey(fmt.Sprint("k", i)), App: "app",
		Amounts: resources.FromMap(map[string]resources.Quantity{"vcore": 1})}
}

// The class of an ask is stored in what was padding: asks take no more memory than without classes.
func TestPriorityClass_TakesNoMemoryPerAsk(t *testing.T) {
	const asks = 20_000
	held := func(class, quotas string) int64 {
		p := quotaPartition(t, quotas)
		before := heap()
		for i := range asks {
			_, err := p.AddAskWithClass(class, quotaAsk(i), time.Unix(0, 0))
			assert.NilError(t, err)
		}
		grown := heap() - before
		assert.Equal(t, len(p.allocations), asks)
		return grown / asks
	}
	none := held("", "")
	for _, quotas := range []string{"", "{name: q, match: {operator: Exists}, hard: {pods: 1000000, vcore: 1000000}}"} {
		got := held("high", quotas)
		t.Logf("%d bytes for an ask without a class, %d for one with a class and quotas %q", none, got, quotas)
		assert.Assert(t, got <= none+1, "%d bytes for an ask, %d without a class", got, none)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Numbers of classes are freed and used again.
func TestClassNumbers_AreReused(t *testing.T) {
	var c classNumbers
	a, b := c.acquire("a"), c.acquire("b")
	assert.Assert(t, a != b && c.acquire("a") == a && c.acquire("") == 0)
	c.release(0)
	assert.Equal(t, c.name(0), "")
	c.release(a)
	assert.Equal(t, c.name(a), "a", "one ask has the class")
	c.release(a)
	assert.Equal(t, c.acquire("c"), a, "a free number is used before a new one")
	assert.Equal(t, c.name(a)+c.name(b), "cb")
	c.release(a)
	c.release(b)
	assert.Assert(t, c.numbers == nil && c.named == nil && c.free == nil)
}

// BenchmarkAddAskWithClass measures the admission of an ask without class quotas, and with some on
// its path.
func BenchmarkAddAskWithClass(b *testing.B) {
	for _, c := range []struct{ name, class, quotas string }{
		{"no class", "", ""},
		{"no quota", "high", ""},
		{"one quota", "high", "{name: q, match: {operator: In, classes: [high]}, hard: {pods: 100000000}}"},
		{"four quotas", "high", "{name: q, match: {operator: In, classes: [high]}, hard: {pods: 100000000}}," +
			"{name: r, match: {operator: Exists}, hard: {vcore: 100000000}}, {name: s, match: {operator: NotIn, classes: " +
			"[low]}, hard: {memory: 1}}," +
			"{name: t, match: {operator: In, classes: [high]}, users: ['*'], hard: {pods: 100000000}}"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, now := quotaPartition(b, c.quotas), time.Unix(0, 0)
			_, err := p.AddAskWithClass(c.class, quotaAsk(0), now) // the class quotas always count one ask
			assert.NilError(b, err)
			ask := quotaAsk(1)
			b.ReportAllocs()
			for b.Loop() {
				_, err := p.AddAskWithClass(c.class, ask, now)
				assert.NilError(b, err)
				_, ok := p.Cancel(ask.Key, now)
				assert.Assert(b, ok)
			}
		})
	}
}
