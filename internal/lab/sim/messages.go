package sim

import (
	"strconv"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/resources"
)

// Partition is the partition of all messages of a Client.
const Partition = "default"

// Node is a node of the simulated cluster.
type Node struct {
	ID       objects.NodeID
	Capacity resources.Amounts
	Draining bool // it is registered as draining

	Attributes map[string]string // labels and taints; nil: none
}

// Application is an application and its leaf queue.
type Application struct {
	ID    objects.AppID
	Queue objects.QueuePath // the full path of a leaf, in lower case
	User  string
}

// Ask is a request for one allocation.
type Ask struct {
	Key      objects.AllocationKey
	App      objects.AppID
	Amounts  resources.Amounts
	Priority int32
	Created  time.Time // creation time of the ask; zero: not sent
	Preempts bool      // the ask sends a preemption policy that allows it to preempt; false: it sends none
}

func (n Node) message() *si.NodeInfo {
	action := si.NodeInfo_CREATE
	if n.Draining {
		action = si.NodeInfo_CREATE_DRAIN
	}
	return &si.NodeInfo{
		NodeID: string(n.ID), Action: action, SchedulableResource: resource(n.Capacity),
		Attributes: map[string]string{common.HostName: string(n.ID)},
	}
}

func (a Application) message() *si.AddApplicationRequest {
	return &si.AddApplicationRequest{
		ApplicationID: string(a.ID), QueueName: string(a.Queue), PartitionName: Partition,
		Ugi: &si.UserGroupInformation{User: a.User},
	}
}

func (a Ask) message() *si.Allocation {
	m := &si.Allocation{
		AllocationKey: string(a.Key), ApplicationID: string(a.App), PartitionName: Partition,
		ResourcePerAlloc: resource(a.Amounts), Priority: a.Priority,
	}
	if !a.Created.IsZero() {
		m.AllocationTags = map[string]string{common.CreationTime: strconv.FormatInt(a.Created.Unix(), 10)}
	}
	if a.Preempts {
		m.PreemptionPolicy = &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: true}
	}
	return m
}

func resource(a resources.Amounts) *si.Resource {
	m := map[string]*si.Quantity{}
	for name, n := range a.All() {
		m[name] = &si.Quantity{Value: int64(n)}
	}
	return &si.Resource{Resources: m}
}
