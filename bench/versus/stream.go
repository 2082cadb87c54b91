package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"google.golang.org/protobuf/proto"
)

const (
	rmID      = "versus"
	partition = "default"
	batch     = 1000 // entries of one message while loading

	gibibyte = 1 << 30

	// sentinelKey names an ask of an application that does not exist. It is the last of
	// the stream.
	sentinelKey = "sentinel"
)

// Stream is everything the shim says, in order. It is complete before the scheduler
// starts, so that making it up costs neither arm anything.
type Stream struct {
	Register *si.RegisterResourceManagerRequest
	Nodes    []*si.NodeRequest // draining: nothing can be placed yet
	Apps     []*si.ApplicationRequest
	Running  []*si.AllocationRequest // reported to run already; none unless asks preempt
	Asks     []*si.AllocationRequest
	Sentinel *si.AllocationRequest // is refused; hearing so means that all asks before it were read
	Open     *si.NodeRequest       // takes every node into use; deciding starts here, unless asks preempt
	Digest   string                // equal streams have equal digests
}

// askShapes are millicores and GiB; the seed decides which ask has which.
var askShapes = [...][2]int64{{500, 1}, {1000, 2}, {1000, 4}, {2000, 4}}

// newStream makes the stream of a workload up, the same for the same seed.
func newStream(w Workload, seed uint64) *Stream {
	s := &Stream{
		Register: &si.RegisterResourceManagerRequest{
			RmID: rmID, Version: "versus", PolicyGroup: "queues", Config: w.config(),
			ExtraConfig: map[string]string{"log.level": "ERROR"},
		},
		Open: &si.NodeRequest{RmID: rmID},
	}
	var nodes []*si.NodeInfo
	for i := range w.Nodes {
		id := nodeID(i)
		nodes = append(nodes, &si.NodeInfo{
			NodeID: id, Action: si.NodeInfo_CREATE_DRAIN,
			Attributes:          map[string]string{"si/node-partition": partition},
			SchedulableResource: amounts(int64(w.Cores)*1000, int64(w.Cores)*4),
		})
		s.Open.Nodes = append(s.Open.Nodes, &si.NodeInfo{
			NodeID: id, Action: si.NodeInfo_DRAIN_TO_SCHEDULABLE, Attributes: map[string]string{},
		})
	}
	for some := range slices.Chunk(nodes, batch) {
		s.Nodes = append(s.Nodes, &si.NodeRequest{RmID: rmID, Nodes: some})
	}
	for some := range slices.Chunk(applications(w), batch) {
		s.Apps = append(s.Apps, &si.ApplicationRequest{RmID: rmID, New: some})
	}
	if w.preempts() {
		s.addPreemption(w)
	} else {
		for some := range slices.Chunk(asks(w, seed), batch) {
			s.Asks = append(s.Asks, &si.AllocationRequest{RmID: rmID, Allocations: some})
		}
	}
	s.Sentinel = &si.AllocationRequest{RmID: rmID,
		Allocations: []*si.Allocation{ask(sentinelKey, "no-such-app", askShapes[0])}}
	s.Digest = s.digest()
	return s
}

func applications(w Workload) []*si.AddApplicationRequest {
	leaves := w.leaves()
	apps := make([]*si.AddApplicationRequest, w.Apps)
	for i := range apps {
		apps[i] = &si.AddApplicationRequest{
			ApplicationID: appID(i), QueueName: leaves[i%len(leaves)], PartitionName: partition,
			Ugi: &si.UserGroupInformation{User: "user", Groups: []string{"group"}},
		}
	}
	if w.preempts() {
		apps = append(apps, &si.AddApplicationRequest{
			ApplicationID: preemptorApp, QueueName: "root.owed", PartitionName: partition,
			Ugi: &si.UserGroupInformation{User: "user", Groups: []string{"group"}},
		})
	}
	return apps
}

func asks(w Workload, seed uint64) []*si.Allocation {
	rng := rand.New(rand.NewPCG(seed, 1))
	all := make([]*si.Allocation, w.Asks)
	for i := range all {
		shape := askShapes[rng.IntN(len(askShapes))]
		all[i] = ask(fmt.Sprintf("ask-%06d", i), appID(i%w.Apps), shape)
	}
	return all
}

func nodeID(i int) string { return fmt.Sprintf("node-%05d", i) }

func appID(i int) string { return fmt.Sprintf("app-%05d", i) }

func ask(key, app string, shape [2]int64) *si.Allocation {
	return &si.Allocation{
		AllocationKey: key, ApplicationID: app, PartitionName: partition,
		ResourcePerAlloc: amounts(shape[0], shape[1]),
	}
}

func amounts(millicores, memoryGiB int64) *si.Resource {
	return &si.Resource{Resources: map[string]*si.Quantity{
		common.CPU:    {Value: millicores},
		common.Memory: {Value: memoryGiB * gibibyte},
	}}
}

func (s *Stream) digest() string {
	hash := sha256.New()
	write := func(m proto.Message) {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			panic("stream: a message cannot be marshalled: " + err.Error())
		}
		hash.Write(b)
	}
	write(s.Register)
	for _, m := range s.Nodes {
		write(m)
	}
	for _, m := range s.Apps {
		write(m)
	}
	for _, m := range s.Running {
		write(m)
	}
	for _, m := range s.Asks {
		write(m)
	}
	write(s.Open)
	return hex.EncodeToString(hash.Sum(nil))[:16]
}
