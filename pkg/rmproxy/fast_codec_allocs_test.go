package rmproxy

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/server/wire"
	"github.com/canopy-scheduler/canopy/internal/testing/fakerm"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

// typicalRequest is a message of a shim with asks that have so many tags each.
func typicalRequest(asks, tags int) *si.AllocationRequest {
	m := &si.AllocationRequest{RmID: "rm"}
	for i := range asks {
		id := fmt.Sprintf("%08x-5b0c-4f5e-9d3a-2f6f3c9e1a77", i*2654435761)
		x := &si.Allocation{
			AllocationKey: id, ApplicationID: fmt.Sprintf("spark-%08d-application", i%10), PartitionName: "[rm]default",
			ResourcePerAlloc: fakerm.Resource(4<<30, 1000), Priority: int32(i % 3), TaskGroupName: "executors",
			PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: true},
		}
		for j := range tags {
			if x.AllocationTags == nil {
				x.AllocationTags = map[string]string{}
			}
			key := []string{"kubernetes.io/meta/podName", "kubernetes.io/meta/namespace", "creationTime", "label/app"}[j%4]
			x.AllocationTags[key] = []string{"executor-" + id, "analytics", fmt.Sprint(1700000000 + i), "spark"}[j%4]
		}
		m.Allocations = append(m.Allocations, x)
	}
	return m
}

func marshalled(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	assert.NilError(t, err)
	return b
}

// must is an assertion that allocates nothing.
func must(t testing.TB, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func sameText(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

// responseBatches has n effects of each list about allocations.
func responseBatches(n int) [][]outboundEffect {
	var made, released, refused []outboundEffect
	amounts := resources.FromMap(map[string]resources.Quantity{"memory": 4 << 30, "vcore": 1000})
	for i := range n {
		key, app := objects.AllocationKey(fmt.Sprintf("%08x-5b0c-4f5e-9d3a-2f6f3c9e1a77", i)),
			objects.AppID("spark-application")
		ask := &objects.Ask{Key: key, App: app, Amounts: amounts}
		made = append(made,
			outboundEffect{"default", scheduler.Allocated{Binding: &scheduler.Binding{Ask: ask, Node: "node-0001"}}})
		released = append(released,
			outboundEffect{"default", scheduler.Released{Key: key, App: app, Type: 1, Message: "finished"}})
		refused = append(refused,
			outboundEffect{"default", scheduler.AskRejected{Key: key, App: app, Reason: "no such application"}})
	}
	return [][]outboundEffect{made, released, refused}
}

// decodeAllocs counts the objects that decoding a message makes. The memo of names is a hash
// table, in which two names may collide by chance: the minimum of several streams counts.
func decodeAllocs(t *testing.T, in []byte) float64 {
	best := math.Inf(1)
	for range 3 {
		m := newRequest(allocationStream)
		best = min(best, testing.AllocsPerRun(20, func() { must(t, m.decode(in)) }))
	}
	return best
}

func TestFastCodec_AskAllocatesOneStringAndItsTags(t *testing.T) {
	const asks = 100
	for tags, want := range map[int]float64{0: asks, 4: 3 * asks} { // a map of tags is two
		got := decodeAllocs(t, marshalled(t, typicalRequest(asks, tags)))
		assert.Equal(t, got, want, "%d tags", tags)
	}
}

func TestFastCodec_ReleaseAllocatesItsKey(t *testing.T) {
	const n = 100
	out := &si.AllocationReleasesRequest{}
	for i := range n {
		out.AllocationsToRelease = append(out.AllocationsToRelease, &si.AllocationRelease{
			PartitionName: "default", ApplicationID: "app", AllocationKey: fmt.Sprintf("the key of allocation %d", i),
		})
	}
	assert.Equal(t, decodeAllocs(t, marshalled(t, &si.AllocationRequest{Releases: out})), float64(n))
}

func TestFastCodec_EncodingAllocatesNothing(t *testing.T) {
	s, m := &session{rm: "rm"}, &wire.Response{}
	for i, batch := range responseBatches(100) {
		got := testing.AllocsPerRun(20, func() {
			s.encode(m, batch)
			_, err := m.Bytes()
			must(t, err)
		})
		// One for all releases: the name of the partition.
		assert.Equal(t, got, []float64{0, 1, 0}[i], "list %d", i)
	}
}

// From the bytes of a message to asks, per ask.
func BenchmarkDecode(b *testing.B) {
	const asks = 100
	for _, tags := range []int{0, 4} {
		in := marshalled(b, typicalRequest(asks, tags))
		b.Run(fmt.Sprintf("tags=%d/fast", tags), func(b *testing.B) {
			b.ReportAllocs()
			m := newRequest(allocationStream)
			for b.Loop() {
				must(b, m.decode(in))
				for i := range m.allocations.Allocations {
					_, err := readAsk(&m.allocations.Allocations[i])
					must(b, err)
				}
			}
			reportPerAsk(b, asks, len(in))
		})
		b.Run(fmt.Sprintf("tags=%d/generated", tags), func(b *testing.B) {
			b.ReportAllocs()
			s := &session{}
			for b.Loop() {
				var m si.AllocationRequest
				must(b, proto.Unmarshal(in, &m))
				for _, x := range s.fromProto(&m).Allocations {
					_, err := readAsk(&x)
					must(b, err)
				}
			}
			reportPerAsk(b, asks, len(in))
		})
	}
}

// From effects to the bytes of a message, per answer.
func BenchmarkEncode(b *testing.B) {
	const n = 100
	s, buf := &session{rm: "rm"}, make([]byte, 0, 1<<16)
	for i, name := range []string{"allocated", "released", "rejected"} {
		batch := responseBatches(n)[i]
		b.Run(name+"/fast", func(b *testing.B) {
			b.ReportAllocs()
			m := &wire.Response{}
			for b.Loop() {
				s.encode(m, batch)
				_, err := m.Bytes()
				must(b, err)
			}
			reportPerAsk(b, n, 0)
		})
		b.Run(name+"/generated", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := proto.MarshalOptions{}.MarshalAppend(buf, s.allocationResponse(batch))
				must(b, err)
			}
			reportPerAsk(b, n, 0)
		})
	}
}

func reportPerAsk(b *testing.B, n, bytes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/ask")
	if bytes > 0 {
		b.ReportMetric(float64(bytes)/float64(n), "B/ask")
	}
}
