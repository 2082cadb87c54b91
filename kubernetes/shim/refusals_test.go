package shim_test

import (
	"testing"
	"time"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/entrypoint"
	"github.com/apache/yunikorn-k8shim/pkg/cache"
	"github.com/apache/yunikorn-k8shim/pkg/client"
	"github.com/apache/yunikorn-k8shim/pkg/common/constants"
	"github.com/apache/yunikorn-k8shim/pkg/conf"
	"github.com/apache/yunikorn-k8shim/pkg/dispatcher"
	"github.com/apache/yunikorn-k8shim/pkg/plugin/predicates"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A pod whose binding the API server refuses is given up by the shim, and its node gets no more pods of the shape after
// three of them (NOD-46): the fourth goes to the other node.
func TestShim_ANodeThatRefusesBindingsIsAvoided(t *testing.T) {
	t.Setenv("CANOPY_HTTP_ADDRESS", "none")
	t.Setenv("CANOPY_RECOVERY_QUIET", "0")
	predicates.EnableOptionalKubernetesFeatureGates() // as the program does
	core := entrypoint.StartAllServices()
	t.Cleanup(core.StopAll)
	provider := client.NewMockedAPIProvider(false)
	provider.GetAPIs().SchedulerAPI = core.RMProxy
	bindings := make(chan string, 8)
	provider.MockBindFn(func(p *v1.Pod, node string) error {
		bindings <- p.Name + " to " + node
		if node == "a" {
			return apierrors.NewForbidden(v1.Resource("pods"), p.Name, nil)
		}
		return nil
	})
	cluster := cache.NewContext(provider)
	dispatcher.RegisterEventHandler("applications", dispatcher.EventTypeApp, cluster.ApplicationEventHandler())
	dispatcher.RegisterEventHandler("tasks", dispatcher.EventTypeTask, cluster.TaskEventHandler())
	dispatcher.Start()
	t.Cleanup(dispatcher.Stop)
	_, err := core.RMProxy.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: conf.GetSchedulerConf().ClusterID, PolicyGroup: "queues", Version: "1", Config: configs.DefaultSchedulerConfig,
	}, cache.NewAsyncRMCallback(cluster))
	assert.NilError(t, err)
	for _, name := range []string{"a", "b"} {
		addNode(t, core, cluster, name)
	}
	for _, pod := range []string{"p1", "p2", "p3"} {
		assert.Equal(t, bind(t, cluster, pod, bindings), pod+" to a")
		untilReleased(t, core)
	}
	assert.Equal(t, bind(t, cluster, "p4", bindings), "p4 to b")
}

// The shim refuses a node for its taints in the words by which the core's entrypoint knows such a refusal.
func TestShim_SaysWhichPluginRefusesATaintedNode(t *testing.T) {
	cluster := cache.NewContext(client.NewMockedAPIProvider(false))
	cluster.GetSchedulerCache().UpdateNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:   v1.NodeSpec{Taints: []v1.Taint{{Key: "new", Effect: v1.TaintEffectNoExecute}}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourcePods: resource.MustParse("10")}}})
	cluster.GetSchedulerCache().UpdatePod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}})
	shim := cache.NewAsyncRMCallback(cluster)
	err := shim.Predicates(&si.PredicatesArgs{AllocationKey: "p", NodeID: "a", Allocate: true})
	assert.ErrorContains(t, err, "failed plugin: 'TaintToleration'")
}

func addNode(t *testing.T, core *entrypoint.ServiceContext, cluster *cache.Context, name string) {
	t.Helper()
	amounts := v1.ResourceList{v1.ResourcePods: resource.MustParse("10"), v1.ResourceCPU: resource.MustParse("4")}
	cluster.GetSchedulerCache().UpdateNode(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: amounts, Capacity: amounts},
	})
	rm := conf.GetSchedulerConf().ClusterID
	assert.NilError(t, core.RMProxy.UpdateNode(&si.NodeRequest{RmID: rm, Nodes: []*si.NodeInfo{{
		NodeID: name, Action: si.NodeInfo_CREATE, Attributes: map[string]string{"si/node-partition": "[" + rm + "]default"},
		SchedulableResource: &si.Resource{Resources: map[string]*si.Quantity{"pods": {Value: 10}, "vcore": {Value: 4000}}},
	}}}))
}

// bind makes a pod, and returns its binding.
func bind(t *testing.T, cluster *cache.Context, name string, bindings <-chan string) (binding string) {
	t.Helper()
	cluster.AddPod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "work", UID: types.UID(name), Labels: map[string]string{constants.LabelApplicationID: "app"},
		},
		Spec: v1.PodSpec{SchedulerName: constants.SchedulerName, Containers: []v1.Container{{
			Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}},
		}}},
		Status: v1.PodStatus{Phase: v1.PodPending},
	})
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		for _, app := range cluster.GetAllApplications() {
			app.Schedule() // as the shim does each second
		}
		select {
		case binding = <-bindings:
			return poll.Success()
		default:
			return poll.Continue("%s is not bound", name)
		}
	}, poll.WithTimeout(20*time.Second))
	return binding
}

// untilReleased waits until the core knows that nothing runs.
func untilReleased(t *testing.T, core *entrypoint.ServiceContext) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		app := core.Scheduler.GetClusterContext().GetApplication("app", "default")
		if app == nil || len(app.GetAllAllocations()) == 0 {
			return poll.Success()
		}
		return poll.Continue("app has %d allocations", len(app.GetAllAllocations()))
	}, poll.WithTimeout(20*time.Second))
}
