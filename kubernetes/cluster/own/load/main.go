// Command load creates pods of several applications for a scheduler, and measures by a watch when each is bound.
//
// It prints one line of JSON. Latencies are from the answer to the creation of a pod until the watch shows its node, so
// they have the lag of the watch in them, which is the same for every scheduler.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// options are the flags.
type options struct {
	apps, pods, creators int
	namespace, scheduler string
	cpu, memory          string
	wait                 time.Duration
}

// result is printed.
type result struct {
	Pods     int     `json:"pods"`
	Bound    int     `json:"bound"`
	Created  float64 `json:"createdSeconds"` // until the last pod was created
	AllBound float64 `json:"boundSeconds"`   // until the last pod was bound
	Median   float64 `json:"medianSeconds"`
	P99      float64 `json:"p99Seconds"`
}

func main() {
	var o options
	flag.IntVar(&o.apps, "apps", 20, "applications")
	flag.IntVar(&o.pods, "pods", 2000, "pods of all applications together")
	flag.IntVar(&o.creators, "creators", 32, "pods that are created at the same time")
	flag.StringVar(&o.namespace, "namespace", "load", "namespace of the pods")
	flag.StringVar(&o.scheduler, "scheduler", "yunikorn", "schedulerName of the pods")
	flag.StringVar(&o.cpu, "cpu", "100m", "CPU that a pod requests")
	flag.StringVar(&o.memory, "memory", "100Mi", "memory that a pod requests")
	flag.DurationVar(&o.wait, "wait", 10*time.Minute, "how long to wait until all are bound; 0: not at all")
	flag.Parse()
	r, err := run(context.Background(), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil || o.wait > 0 && r.Bound < r.Pods {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (r result, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return r, err
	}
	config.QPS, config.Burst, config.ContentType = 5000, 5000, "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return r, err
	}
	if err := makeNamespace(ctx, client, o.namespace); err != nil {
		return r, err
	}
	l := &load{options: o, client: client, created: map[string]time.Time{}, bound: map[string]time.Time{}}
	if o.wait == 0 {
		err = l.create(ctx)
		return result{Pods: o.pods}, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	watched := make(chan error, 1)
	go func() { watched <- l.watch(ctx) }()
	begin := time.Now()
	if err := l.create(ctx); err != nil {
		return r, err
	}
	r.Created = time.Since(begin).Seconds()
	if err := <-watched; err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return r, err
	}
	return l.result(r, begin), nil
}

// makeNamespace creates a namespace, and waits until pods can be created in it.
func makeNamespace(ctx context.Context, client kubernetes.Interface, name string) error {
	_, err := client.CoreV1().Namespaces().Create(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for range 600 {
		if _, err = client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{}); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// load is one run.
type load struct {
	options
	client kubernetes.Interface

	mu             sync.Mutex
	created, bound map[string]time.Time
}

// create creates all pods, one after the other of each application.
func (l *load) create(ctx context.Context) error {
	jobs, failed := make(chan int), make(chan error, l.creators)
	var all sync.WaitGroup
	for range l.creators {
		all.Go(func() {
			for i := range jobs {
				pod := l.pod(i)
				if _, err := l.client.CoreV1().Pods(l.namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
					failed <- err
					return
				}
				l.note(l.created, pod.Name)
			}
		})
	}
	defer all.Wait()
	defer close(jobs)
	for i := range l.options.pods {
		select {
		case jobs <- i:
		case err := <-failed:
			return err
		}
	}
	return nil
}

func (l *load) pod(i int) *v1.Pod {
	requests := v1.ResourceList{"cpu": resource.MustParse(l.cpu), "memory": resource.MustParse(l.memory)}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("load-%d-%d", i%l.apps, i/l.apps),
			Labels: map[string]string{"applicationId": fmt.Sprintf("load-%d", i%l.apps), "load": l.namespace},
		},
		Spec: v1.PodSpec{
			SchedulerName: l.scheduler, RestartPolicy: v1.RestartPolicyNever,
			Containers: []v1.Container{{Name: "c", Image: "none", Resources: v1.ResourceRequirements{Requests: requests}}},
		},
	}
}

// note notes the first time of a pod.
func (l *load) note(in map[string]time.Time, name string) (count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := in[name]; !ok {
		in[name] = time.Now()
	}
	return len(in)
}

// watch notes when pods are bound, until all are. A watch that ends begins again with the present state.
func (l *load) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		w, err := l.client.CoreV1().Pods(l.namespace).Watch(ctx, metav1.ListOptions{LabelSelector: "load=" + l.namespace})
		if err != nil {
			return err
		}
		for event := range w.ResultChan() {
			if pod, ok := event.Object.(*v1.Pod); ok && pod.Spec.NodeName != "" && l.note(l.bound, pod.Name) == l.options.pods {
				w.Stop()
				return nil
			}
		}
		w.Stop()
	}
	return ctx.Err()
}

func (l *load) result(r result, begin time.Time) result {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.Pods, r.Bound = l.options.pods, len(l.bound)
	latencies := make([]float64, 0, len(l.bound))
	for name, at := range l.bound {
		latencies = append(latencies, max(0, at.Sub(l.created[name]).Seconds()))
		r.AllBound = max(r.AllBound, at.Sub(begin).Seconds())
	}
	slices.Sort(latencies)
	if len(latencies) > 0 {
		quantile := func(q float64) float64 { return latencies[int(q*float64(len(latencies)-1))] }
		r.Median, r.P99 = quantile(0.5), quantile(0.99)
	}
	return r
}
