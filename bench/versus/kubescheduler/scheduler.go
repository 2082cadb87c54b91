package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// peer is kube-scheduler with its default profile, without its queue and without an API server.
type peer struct {
	*scheduler.Scheduler
	profile framework.Framework
	pods    cache.Indexer        // of the informer, where preemption looks up the pod that preempts
	running map[string][]*v1.Pod // by node: the victims that are left; empty unless the workload preempts
}

// The nodes of a workload that preempts have room for four pods of 0.9 CPUs.
const (
	lowCPU     = "900m"
	lowPerNode = 4
	victims    = 3
)

// newPeer returns a scheduler that knows the nodes of w and what runs on them. Batches are off: the scheduling queue
// counts the cycles by which OpportunisticBatching knows whether its result is still valid.
func newPeer(ctx context.Context, w workload, nodes int) (*peer, error) {
	if err := utilfeature.DefaultMutableFeatureGate.Set("OpportunisticBatching=false"); err != nil {
		return nil, err
	}
	client := fake.NewClientset()
	watched := informers.NewSharedInformerFactory(client, 0)
	noEvents := func(string) events.EventRecorder { return &events.FakeRecorder{} }
	s, err := scheduler.New(ctx, client, watched, nil, noEvents)
	if err != nil {
		return nil, err
	}
	watched.Start(ctx.Done())
	watched.WaitForCacheSync(ctx.Done())
	p := &peer{
		Scheduler: s, profile: s.Profiles[v1.DefaultSchedulerName],
		pods: watched.Core().V1().Pods().Informer().GetIndexer(), running: map[string][]*v1.Pod{},
	}
	for i := range nodes {
		n := w.node(i)
		s.Cache.AddNode(klog.Background(), n)
		if w.name != preemption {
			continue
		}
		for j := range lowPerNode {
			low := newPod(fmt.Sprintf("low-%06d", i*lowPerNode+j), lowCPU, 0)
			low.Spec.NodeName, low.Status.Phase, low.Status.StartTime = n.Name, v1.PodRunning, &metav1.Time{Time: time.Now()}
			if err := s.Cache.AddPod(klog.Background(), low); err != nil {
				return nil, err
			}
			p.running[n.Name] = append(p.running[n.Name], low)
		}
	}
	return p, nil
}

// schedule chooses a node for pod and assumes that it runs there, as a scheduling cycle does.
func (p *peer) schedule(ctx context.Context, pod *v1.Pod) error {
	state := framework.NewCycleState()
	result, err := p.SchedulePod(ctx, p.profile, state, pod)
	if none := (*framework.FitError)(nil); errors.As(err, &none) && len(p.running) > 0 {
		if err := p.preempt(ctx, state, pod, none); err != nil {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
		result, err = p.SchedulePod(ctx, p.profile, framework.NewCycleState(), pod)
	}
	if err != nil {
		return fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	assumed := pod.DeepCopy() // a scheduling cycle copies it, too
	assumed.Spec.NodeName = result.SuggestedHost
	return p.Cache.AssumePod(klog.Background(), assumed)
}

// preempt nominates pod for a node, whose victims end at once.
func (p *peer) preempt(ctx context.Context, state *framework.CycleState, pod *v1.Pod, none *framework.FitError) error {
	if err := p.pods.Add(pod); err != nil {
		return err
	}
	found, status := p.profile.RunPostFilterPlugins(ctx, state, pod, none.Diagnosis.NodeToStatus)
	if !status.IsSuccess() {
		return fmt.Errorf("preemption: %v", status)
	}
	n := found.NominatedNodeName
	if len(p.running[n]) < victims {
		return fmt.Errorf("preemption on %s, where %d victims are left: must be %d", n, len(p.running[n]), victims)
	}
	for _, low := range p.running[n][:victims] {
		if err := p.Cache.RemovePod(klog.Background(), low); err != nil {
			return err
		}
	}
	p.running[n] = p.running[n][victims:]
	pod.Status.NominatedNodeName = n
	return nil
}

// sample is one run of a workload.
type sample struct {
	Pods int     `json:"pods"` // that were scheduled before the deadline
	CPU  float64 `json:"cpuMicros"`
	P50  float64 `json:"p50Micros"`
	P99  float64 `json:"p99Micros"`
}

// measurePeer schedules the pods of w, until the deadline.
func measurePeer(ctx context.Context, w workload, o options) (s sample, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := newPeer(ctx, w, o.nodes)
	if err != nil {
		return s, err
	}
	pods := make([]*v1.Pod, o.pods)
	for i := range pods {
		pods[i] = w.pod(i)
	}
	times := make([]time.Duration, 0, len(pods))
	runtime.GC()
	cpu, start := cpuTime(), time.Now()
	for _, pod := range pods {
		before := time.Now()
		if err := p.schedule(ctx, pod); err != nil {
			return s, err
		}
		times = append(times, time.Since(before))
		if time.Since(start) > o.deadline || ctx.Err() != nil {
			break
		}
	}
	cpu = cpuTime() - cpu
	if err := ctx.Err(); err != nil {
		return s, err
	}
	slices.Sort(times)
	n := len(times)
	return sample{Pods: n, CPU: micros(cpu) / float64(n), P50: micros(times[n/2]), P99: micros(times[n*99/100])}, nil
}

// cpuTime is the CPU time, user and system, that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("getrusage: " + err.Error()) // it cannot fail for the own process
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
