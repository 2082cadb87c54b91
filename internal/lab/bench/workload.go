package bench

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/canopy-scheduler/canopy/internal/lab/bench/workload"
	"github.com/canopy-scheduler/canopy/internal/lab/sim"
	"github.com/canopy-scheduler/canopy/pkg/configs"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// stream has all messages of a cell, in order. Asks are kept as draws and created when they are sent,
// so that a stream of a million of them is small.
type stream struct {
	spec           workload.Spec
	seed           uint64
	config         string // queues.yaml
	partition      configs.Partition
	nodes          []sim.Node
	apps           []sim.Application
	leaves         []objects.QueuePath
	shapes         []resources.Amounts
	draws          []draw              // of the asks, followed by those of churn
	size           resources.Amounts   // of each node
	preemptorSizes []resources.Amounts // sizes of asks that preempt
	digest         string
}

// draw has the random properties of an ask.
type draw struct {
	shape    uint32
	priority int32
}

// Random sources of a stream: separate ones, so that other nodes do not change the asks.
const (
	seedShapes = iota + 1
	seedDraws
	seedBound
	seedPace
	seedReleases
)

func (s *stream) rng(what uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, what)) }

// newStream creates the stream of a workload, the same for the same seed. Its error says that the nodes
// would be smaller than the largest ask. The spec must have been checked.
func newStream(spec workload.Spec, seed uint64) (*stream, error) {
	s := &stream{spec: spec, seed: seed}
	s.leaves = leafPaths(objects.RootPath, spec.Depth, spec.Fanout, nil)
	s.drawShapes()
	s.drawAsks()
	if err := s.computeSizes(); err != nil {
		return nil, err
	}
	for i := range spec.Nodes {
		s.nodes = append(s.nodes,
			sim.Node{ID: objects.NodeID("node-" + padded(i, 6)), Capacity: s.size, Draining: true, Attributes: s.labels(i)})
	}
	for i := range len(s.leaves) * spec.AppsPerLeaf {
		s.apps = append(s.apps, sim.Application{
			ID:    objects.AppID("spark-" + padded(i, 8) + "-application"),
			Queue: s.leaves[i%len(s.leaves)], User: "user-" + padded(i%17, 2),
		})
	}
	s.config = s.configText()
	return s, s.finish()
}

// finish reads the configuration and computes the digest.
func (s *stream) finish() error {
	conf, problems := queuesyaml.Load([]byte(s.config))
	if conf == nil {
		return fmt.Errorf("the configuration of the workload: %s", problems.Error())
	}
	s.partition = conf.Partitions[0]
	h := sha256.New()
	text := func(x string) { hashNumber(h, len(x)); h.Write([]byte(x)) }
	text(s.config)
	for _, n := range s.nodes {
		text(string(n.ID))
		text(n.Capacity.String())
	}
	for _, a := range s.apps {
		text(string(a.ID))
		text(string(a.Queue))
	}
	for _, a := range s.shapes {
		text(a.String())
	}
	for _, d := range s.draws {
		hashNumber(h, int(d.shape))
		hashNumber(h, int(d.priority))
	}
	text(fmt.Sprint(s.spec.Asks, s.spec.Tags, s.spec.Churn, s.spec.Rate))
	if s.spec.Constraint != "" {
		text(s.spec.Constraint)
	}
	if s.spec.Kinds > 1 {
		text(fmt.Sprint(s.spec.Kinds))
	}
	if s.spec.Topology != "" {
		text(s.spec.Topology)
	}
	if p := s.spec; p.Preemptors > 0 {
		text(fmt.Sprint(p.Preemptors, p.PreemptBy, p.Victims, p.PreemptorSizes, p.AtOnce))
	}
	s.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

func hashNumber(h hash.Hash, n int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}

// drawShapes draws different sizes of asks.
func (s *stream) drawShapes() {
	const mebibyte = 1 << 20
	rng, seen := s.rng(seedShapes), map[[2]int64]bool{}
	for len(s.shapes) < s.spec.Shapes {
		two := [2]int64{100 + rng.Int64N(1901), 128 + rng.Int64N(8065)}
		if seen[two] {
			continue
		}
		seen[two] = true
		m := map[string]resources.Quantity{resources.VCore: resources.Quantity(two[0])}
		for k := 1; k < s.spec.Types; k++ {
			if k == 1 {
				m["memory"] = resources.Quantity(two[1] * mebibyte)
				continue
			}
			m[fmt.Sprintf("example.com/type-%02d", k)] = resources.Quantity(1 + rng.Int64N(4))
		}
		if s.spec.Types == 1 { // the only number must differ
			m[resources.VCore] = resources.Quantity(100 + int64(len(s.shapes)))
		}
		s.shapes = append(s.shapes, resources.FromMap(m))
	}
}

// drawAsks draws shapes: the n-th is 1/n as frequent as the first. With as many shapes as asks, each is
// used once.
func (s *stream) drawAsks() {
	rng := s.rng(seedDraws)
	sums, sum := make([]float64, len(s.shapes)), 0.0
	for i := range sums {
		sum += 1 / float64(i+1)
		sums[i] = sum
	}
	unlike := len(s.shapes) == s.spec.Asks && s.spec.Asks > 1
	s.draws = make([]draw, s.spec.Asks+int(s.spec.Churn*float64(s.spec.Asks)))
	for i := range s.draws {
		at := i % len(s.shapes)
		if !unlike {
			at, _ = slices.BinarySearch(sums, rng.Float64()*sum)
		}
		s.draws[i] = draw{shape: uint32(min(at, len(sums)-1)), priority: int32(rng.IntN(s.spec.Priorities))}
	}
}

// minAsksPerNode is the number of the largest asks that fit on a node of a cluster in which all asks must fit.
const minAsksPerNode = 8

// computeSizes computes the sizes of nodes and of preemptors. Asks must be drawn.
func (s *stream) computeSizes() (err error) {
	if s.size, err = s.nodeSize(); err == nil {
		err = s.drawPreemptors()
	}
	return err
}

// nodeSize returns the size of each node: the asks use the share of the cluster that the spec says, or less
// when nodes would get too small.
func (s *stream) nodeSize() (resources.Amounts, error) {
	demand, largest := map[string]resources.Quantity{}, map[string]resources.Quantity{}
	for _, d := range s.draws[:s.spec.Asks] {
		for name, n := range s.shapes[d.shape].All() {
			demand[name] += n
			largest[name] = max(largest[name], n)
		}
	}
	size := map[string]resources.Quantity{}
	for name, n := range demand {
		size[name] = resources.Quantity(float64(n) / s.spec.Saturation / float64(s.spec.Nodes))
		if s.spec.Saturation <= workload.MaxSafeSaturation {
			size[name] = max(size[name], minAsksPerNode*largest[name])
		}
		if size[name] < largest[name] {
			return resources.Amounts{}, fmt.Errorf(
				"at --saturation %g each of %d nodes has %d of %s, and the largest of %d asks takes %d: "+
					"use fewer --nodes or more --asks",
				s.spec.Saturation, s.spec.Nodes, size[name], name, s.spec.Asks, largest[name])
		}
	}
	return resources.FromMap(size), nil
}

// Keys are as long as those of pods, and end in a number.
const (
	keyStart  = "5b0c4f5e-9d3a-2f6f-3c9e-"
	keyDigits = 12
)

func (s *stream) key(i int) objects.AllocationKey {
	return objects.AllocationKey(keyStart + padded(i, keyDigits))
}

// numberOf is the number in a key of a stream.
func numberOf[S ~string | ~[]byte](key S) (n int) {
	for i := len(keyStart); i < len(key); i++ {
		n = n*10 + int(key[i]-'0')
	}
	return n
}

func (s *stream) appOf(i int) *sim.Application { return &s.apps[i%len(s.apps)] }

func (s *stream) amounts(i int) resources.Amounts { return s.shapes[s.draws[i].shape] }

// ask returns the i-th ask.
func (s *stream) ask(i int) *objects.Ask {
	return &objects.Ask{
		Key: s.key(i), App: s.appOf(i).ID, Amounts: s.amounts(i), Priority: s.draws[i].priority,
		Details: objects.NewAskDetails(objects.AskDetails{Tags: s.tags(i)}),
	}
}

// tags returns tags like those of a pod: some are the same for all of an application.
func (s *stream) tags(i int) map[string]string {
	if s.spec.Constraint != "" {
		return s.constraintTags(i)
	}
	if s.spec.Tags == 0 {
		return nil
	}
	tags := make(map[string]string, s.spec.Tags)
	for t := range s.spec.Tags {
		switch t {
		case 0:
			tags["kubernetes.io/meta/podName"] = "executor-" + padded(i, 8)
		case 1:
			tags["kubernetes.io/meta/namespace"] = "analytics"
		case 2:
			tags["kubernetes.io/label/app"] = string(s.appOf(i).ID)
		default:
			tags[tagNames[t]] = tagNames[t]
		}
	}
	return tags
}

var tagNames = func() (names [workload.MaxTags]string) {
	for i := range names {
		names[i] = "kubernetes.io/label/label-" + padded(i, 2)
	}
	return names
}()

// padded writes a number with at least that many digits.
func padded(n, digits int) string {
	var buf [20]byte
	b := strconv.AppendInt(buf[:0], int64(n), 10)
	if len(b) >= digits {
		return string(b)
	}
	var zeros [20]byte
	at := digits - len(b)
	for i := range at {
		zeros[i] = '0'
	}
	copy(zeros[at:], b)
	return string(zeros[:digits])
}
