package usage

import (
	"testing"

	"gotest.tools/v3/assert"
	"pgregory.net/rapid"
)

func TestSplit_Examples(t *testing.T) {
	for name, c := range map[string]struct {
		total  int64
		claims []claim
		want   []int64
	}{
		"guarantees first, the rest in equal parts": {10, []claim{{4, 10}, {0, 10}}, []int64{7, 3}},
		"a guarantee without demand is not owed":    {10, []claim{{8, 2}, {0, 10}}, []int64{2, 8}},
		"too little for all guarantees":             {6, []claim{{8, 10}, {4, 10}}, []int64{4, 2}},
		"no queue has demand":                       {10, []claim{{4, 0}, {0, 0}}, []int64{0, 0}},
		"what one does not need goes to the others": {12, []claim{{0, 2}, {0, 9}, {0, 9}}, []int64{2, 5, 5}},
		"rounding loses nothing":                    {7, []claim{{0, 9}, {0, 9}}, []int64{3, 4}},
		"large quantities do not overflow": {1 << 62, []claim{{1<<63 - 1, 1<<63 - 1}, {1<<63 - 1, 1<<63 - 1}},
			[]int64{1 << 61, 1 << 61}},
	} {
		t.Run(name, func(t *testing.T) { assert.DeepEqual(t, split(c.total, c.claims), c.want) })
	}
}

func TestSplit_Properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "queues")
		total := rapid.Int64Range(0, 1000).Draw(t, "total")
		claims := make([]claim, n)
		var demand, guaranteed int64
		for i := range claims {
			claims[i] = claim{rapid.Int64Range(0, 200).Draw(t, "guaranteed"), rapid.Int64Range(0, 300).Draw(t, "demand")}
			demand += claims[i].demand
			guaranteed += min(claims[i].guaranteed, claims[i].demand)
		}
		parts := split(total, claims)
		var sum int64
		for i, p := range parts {
			sum += p
			if p < 0 || p > claims[i].demand {
				t.Fatalf("queue %d is owed %d, and has the demand %d", i, p, claims[i].demand)
			}
			if total >= guaranteed && p < min(claims[i].guaranteed, claims[i].demand) {
				t.Fatalf("queue %d is owed %d, and less than its guarantee", i, p)
			}
			for j, q := range parts { // max-min: a queue with less of the rest has no demand left
				mine, its := p-min(claims[i].guaranteed, claims[i].demand), q-min(claims[j].guaranteed, claims[j].demand)
				if total > guaranteed && mine < its-1 && p < claims[i].demand {
					t.Fatalf("%d and %d of the rest, and queue %d has demand left", mine, its, i)
				}
			}
		}
		if want := min(total, demand); sum != want {
			t.Fatalf("the parts add up to %d and not to %d", sum, want)
		}
	})
}
