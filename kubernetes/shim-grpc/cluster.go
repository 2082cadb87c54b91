package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listerscorev1 "k8s.io/client-go/listers/core/v1"
	policyv1 "k8s.io/client-go/listers/policy/v1"
	schedulingv1 "k8s.io/client-go/listers/scheduling/v1"
	listersschedulingv1beta1 "k8s.io/client-go/listers/scheduling/v1beta1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
)

// cluster is the Kubernetes side: what the informers know, and the calls that change objects. It outlives sessions.
type cluster struct {
	client       kubernetes.Interface
	nodeLister   listerscorev1.NodeLister
	podIndex     cache.Indexer
	namespaces   listerscorev1.NamespaceLister
	claims       listerscorev1.PersistentVolumeClaimLister
	volumes      listerscorev1.PersistentVolumeLister
	classes      schedulingv1.PriorityClassLister
	budgets      policyv1.PodDisruptionBudgetLister
	groups       listersschedulingv1beta1.PodGroupLister // nil: the server has no pod groups
	events       record.EventRecorder
	queue        workqueue.TypedRateLimitingInterface[object] // what has changed, and what is to be tried again
	changes      chan object                                  // out of the queue
	mirrored     chan struct{}                                // a priority class or a budget has changed
	calls        chan struct{}                                // a token for each binding or deletion on its way
	statusCalls  chan struct{}                                // likewise for status, which must not delay the others
	factory      informers.SharedInformerFactory
	recorder     record.EventBroadcaster
	metrics      *metrics
	withoutHints sync.Once // it has been said that the scheduler has no waiting states
}

// object names what has changed.
type object struct {
	kind            kind
	namespace, name string
}

type kind int

const podKind, nodeKind, groupKind kind = 0, 1, 2

// The indexes of pods.
const byNode, byApplication, byGroup = "node", "application", "group"

// watchCluster starts the informers, and waits until they know the cluster.
func watchCluster(ctx context.Context, client kubernetes.Interface, settings settings, m *metrics) (*cluster, error) {
	strip := func(o any) (any, error) {
		if m, err := meta.Accessor(o); err == nil {
			m.SetManagedFields(nil) // which are not used, and a third of an object
		}
		return o, nil
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 10*time.Minute, informers.WithTransform(strip))
	core, scheduling := factory.Core().V1(), factory.Scheduling().V1()
	pods := core.Pods().Informer()
	c := &cluster{
		client: client, factory: factory, metrics: m,
		nodeLister: core.Nodes().Lister(), podIndex: pods.GetIndexer(), namespaces: core.Namespaces().Lister(),
		claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(),
		classes: scheduling.PriorityClasses().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[object](500*time.Millisecond, 5*time.Minute)),
		changes: make(chan object), mirrored: make(chan struct{}, 1),
		calls: make(chan struct{}, maxCalls), statusCalls: make(chan struct{}, maxStatusCalls),
		recorder: record.NewBroadcaster(record.WithContext(ctx)),
	}
	c.events = c.recorder.NewRecorder(scheme.Scheme, v1.EventSource{Component: settings.schedulerName})
	c.recorder.StartRecordingToSink(&corev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	schedulerName := settings.schedulerName
	if err := pods.AddIndexers(cache.Indexers{
		byGroup: func(p any) ([]string, error) {
			if name := groupOf(p.(*v1.Pod)); name.name != "" && p.(*v1.Pod).Spec.SchedulerName == schedulerName {
				return []string{name.String()}, nil
			}
			return nil, nil
		},
		byNode: func(p any) ([]string, error) { return []string{p.(*v1.Pod).Spec.NodeName}, nil },
		byApplication: func(p any) ([]string, error) {
			if p.(*v1.Pod).Spec.SchedulerName != schedulerName {
				return nil, nil
			}
			return []string{applicationID(p.(*v1.Pod))}, nil
		},
	}); err != nil {
		return nil, err
	}
	watched := map[kind]cache.SharedIndexInformer{podKind: pods, nodeKind: core.Nodes().Informer()}
	has, resource := false, schedulingv1beta1.SchemeGroupVersion.WithResource("podgroups")
	if err := c.insist(ctx, "discovery", c.calls, object{name: resource.String()}, func() (err error) {
		has, err = discovery.IsResourceEnabled(client.Discovery(), resource)
		return err
	}); err != nil {
		return nil, err
	}
	if has { // from Kubernetes 1.37 on, where they are enabled
		groups := factory.Scheduling().V1beta1().PodGroups()
		c.groups, watched[groupKind] = groups.Lister(), groups.Informer()
	}
	for kind, informer := range watched {
		if err := onChange(informer, func(name cache.ObjectName) {
			c.queue.Add(object{kind, name.Namespace, name.Name})
		}); err != nil {
			return nil, err
		}
	}
	if settings.rest != nil {
		budgets := factory.Policy().V1().PodDisruptionBudgets()
		c.budgets = budgets.Lister()
		for _, informer := range []cache.SharedIndexInformer{scheduling.PriorityClasses().Informer(), budgets.Informer()} {
			if err := onChange(informer, func(cache.ObjectName) { makeReady(c.mirrored) }); err != nil {
				return nil, err
			}
		}
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the cluster has not answered: %w", ctx.Err())
	}
	go func() {
		for o, down := c.queue.Get(); !down; o, down = c.queue.Get() {
			select {
			case c.changes <- o:
			case <-ctx.Done():
			}
			c.queue.Done(o)
		}
	}()
	return c, nil
}

// onChange calls do with the name of each object of an informer that is added, changed or removed.
func onChange(informer cache.SharedIndexInformer, do func(cache.ObjectName)) error {
	handle := func(o any) {
		if name, err := cache.DeletionHandlingObjectToName(o); err == nil {
			do(name)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: handle,
		UpdateFunc: func(_, o any) { handle(o) }, DeleteFunc: handle})
	return err
}

// makeReady makes a channel of one element ready, if it is not.
func makeReady(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// stop ends what watchCluster has started; its context has ended.
func (c *cluster) stop() {
	c.queue.ShutDown()
	c.recorder.Shutdown()
	c.factory.Shutdown()
}

// node reads a node as the informer knows it; nil: there is none.
func (c *cluster) node(name string) *v1.Node {
	n, _ := c.nodeLister.Get(name) // the only error is that it is unknown
	return n
}

// pod reads a pod as the informer knows it; nil: there is none.
func (c *cluster) pod(name object) *v1.Pod {
	found, _, _ := c.podIndex.GetByKey(name.String())
	p, _ := found.(*v1.Pod)
	return p
}

// podsOf reads the pods that an index has under a value.
func (c *cluster) podsOf(index, value string) (pods []*v1.Pod) {
	found, _ := c.podIndex.ByIndex(index, value) // the only error is an unknown index
	for _, p := range found {
		pods = append(pods, p.(*v1.Pod))
	}
	return pods
}

// preemptible reports whether pods of a priority class may be preempted, which its annotation can forbid.
func (c *cluster) preemptible(class string) bool {
	pc, err := c.classes.Get(class)
	return err != nil || pc.Annotations[annotationPreemption] != "false"
}

var errGone = errors.New("the pod is gone, or another one has its name")

// bind binds a pod. An error of the API server that says nothing about the pod, such as a lost connection, is not the
// end: the call is made again until there is an answer, or the informer knows one.
func (c *cluster) bind(ctx context.Context, pod *v1.Pod, node string) error {
	return c.insist(ctx, "bind", c.calls, nameOf(pod), func() error {
		switch now := c.pod(nameOf(pod)); {
		case now == nil || now.UID != pod.UID:
			return errGone
		case now.Spec.NodeName == node:
			return nil
		}
		pods, target := c.client.CoreV1().Pods(pod.Namespace),
			metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
		err := pods.Bind(ctx, &v1.Binding{ObjectMeta: target, Target: v1.ObjectReference{Kind: "Node", Name: node}},
			metav1.CreateOptions{})
		// a call before may have bound it, whose answer was lost, and the informer not know it yet
		if apierrors.IsConflict(err) {
			if now, e := pods.Get(ctx, pod.Name, metav1.GetOptions{}); e == nil && now.UID == pod.UID &&
				now.Spec.NodeName == node {
				return nil
			}
		}
		return err
	})
}

// remove deletes a pod; that it is gone is success. One that is preempted says so before, for controllers that do not
// count that as a failure of the pod.
func (c *cluster) remove(ctx context.Context, pod *v1.Pod, preempted bool) error {
	if preempted {
		says := map[string]any{"type": v1.DisruptionTarget, "status": v1.ConditionTrue,
			"reason": v1.PodReasonPreemptionByScheduler, "message": "preempted by the scheduler",
			"lastTransitionTime": metav1.Now(), "observedGeneration": pod.Generation}
		if err := c.patchPod(ctx, pod, map[string]any{"conditions": []any{says}}); err != nil {
			slog.Warn("a pod that is preempted does not say so", "pod", nameOf(pod), "error", err)
		}
	}
	err := c.insist(ctx, "delete", c.calls, nameOf(pod), func() error {
		return c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
			*metav1.NewPreconditionDeleteOptions(string(pod.UID)))
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // a conflict: another pod has the name
		return nil
	}
	return err
}

// The most calls at a time: for more than a connection has streams, usually 100, the client would open others.
const maxCalls, maxStatusCalls = 64, 8

// insist makes a call until it succeeds, or fails in a way that will not change.
func (c *cluster) insist(ctx context.Context, what string, tokens chan struct{}, on object, call func() error) error {
	backoff := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 7, Cap: 10 * time.Second}
	for {
		tokens <- struct{}{}
		err := call()
		<-tokens
		switch {
		case err == nil:
			c.metrics.calls.WithLabelValues(what, "ok").Inc()
			return nil
		case definite(err):
			c.metrics.calls.WithLabelValues(what, "refused").Inc()
			return err
		}
		c.metrics.calls.WithLabelValues(what, "retried").Inc()
		slog.Warn("the API server did not answer, trying again", "call", what, "object", on, "error", err)
		sleep(ctx, backoff.Step())
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// definite reports whether an error is an answer about the pod: the same call would fail again.
func definite(err error) bool {
	return errors.Is(err, errGone) || apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsForbidden(err)
}

// nameOf names a pod.
func nameOf(p *v1.Pod) object { return object{podKind, p.Namespace, p.Name} }

// String is the name as kubectl prints it.
func (o object) String() string { return cache.NewObjectName(o.namespace, o.name).String() }
