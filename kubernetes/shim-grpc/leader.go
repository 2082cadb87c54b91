package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseTimes holds how long a lease lasts, how long its holder tries to renew it, and the pause between two tries.
type leaseTimes struct{ duration, deadline, retry time.Duration }

// usualLease has the times of kube-scheduler: another replica takes over 15 s after a crash.
var usualLease = leaseTimes{15 * time.Second, 10 * time.Second, 2 * time.Second}

// lead waits for the lease NAMESPACE/NAME, and does the work until that or ctx ends. A lost lease is an error. A lease
// is released after the work, not before as client-go does it, so that no two replicas work.
func lead(ctx context.Context, client kubernetes.Interface, lease string, times leaseTimes, m *metrics,
	work func(context.Context) error) error {
	name, err := cache.ParseObjectName(lease)
	if err != nil || name.Namespace == "" || name.Name == "" {
		return fmt.Errorf("--leader-elect must be NAMESPACE/NAME of a Lease, not %q", lease)
	}
	host, _ := os.Hostname() // which is for readers of the lease
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Client: client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
	result, ended := make(chan error, 1), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: times.duration, RenewDeadline: times.deadline, RetryPeriod: times.retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				slog.Info("this replica leads", "lease", lease)
				m.leader.Set(1)
				m.ready.Store(false)
				leading, stop := context.WithCancel(leading)
				defer context.AfterFunc(ctx, stop)()
				result <- work(leading)
			},
			OnStoppedLeading: func() { close(ended) },
			OnNewLeader: func(holder string) {
				if holder != lock.Identity() {
					slog.Info("another replica leads", "lease", lease, "holder", holder)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("--leader-elect: %w", err)
	}
	m.ready.Store(true) // to take over
	electing, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	go elector.Run(electing)
	select {
	case err = <-result:
	case <-ctx.Done():
		if elector.IsLeader() {
			err = <-result
		}
	case <-ended:
		<-result
		return fmt.Errorf("the lease %s is lost", lease)
	}
	giveUp()
	<-ended
	if held, _, e := lock.Get(context.WithoutCancel(ctx)); e == nil && held.HolderIdentity == lock.Identity() {
		held.HolderIdentity, held.LeaseDurationSeconds = "", 1
		e = lock.Update(context.WithoutCancel(ctx), *held)
		slog.Info("the lease is released", "lease", lease, "error", e)
	}
	return err
}
