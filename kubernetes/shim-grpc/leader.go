package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseTimes are how long a lease lasts, when its holder stops trying to renew it, and how often it is renewed.
type leaseTimes struct{ duration, deadline, retry time.Duration }

// usualLease has the times of kube-scheduler: another replica takes over 15 s after a crash.
var usualLease = leaseTimes{15 * time.Second, 10 * time.Second, 2 * time.Second}

// lead does the work while this process holds the lease NAMESPACE/NAME, and waits for the lease otherwise, until ctx
// ends or the work fails.
func lead(ctx context.Context, client kubernetes.Interface, lease string, times leaseTimes, m *metrics,
	work func(context.Context) error) error {
	name, err := cache.ParseObjectName(lease)
	if err != nil || name.Namespace == "" || name.Name == "" {
		return fmt.Errorf("--leader-elect must be NAMESPACE/NAME of a Lease, not %q", lease)
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}, Client: client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}
	for err == nil && ctx.Err() == nil {
		m.leader.Set(0)
		m.ready.Store(true) // to take over
		err = leadOnce(ctx, lock, times, func(ctx context.Context) error {
			slog.Info("this replica leads", "lease", lease)
			m.leader.Set(1)
			m.ready.Store(false)
			return work(ctx)
		})
	}
	return err
}

// leadOnce waits for the lease, and returns when the work has ended, because the lease is lost or for another reason.
// The lease is released after the work only, so that no two replicas work.
func leadOnce(ctx context.Context, lock resourcelock.Interface, times leaseTimes,
	work func(context.Context) error) error {
	electing, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	var mu sync.Mutex // the callback is another goroutine, which may start after Run has returned
	started, ended := false, false
	result := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: times.duration, RenewDeadline: times.deadline, RetryPeriod: times.retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				mu.Lock()
				late := ended
				started = !late
				mu.Unlock()
				if late {
					return
				}
				leading, stop := context.WithCancel(leading)
				defer context.AfterFunc(ctx, stop)()
				result <- work(leading)
				giveUp()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("--leader-elect: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !started {
			giveUp()
		}
	})()
	elector.Run(electing)
	mu.Lock()
	ended = true
	working := started
	mu.Unlock()
	if working {
		err = <-result
		releaseLease(lock, times.deadline)
	}
	return err
}

// releaseLease lets another replica take over at once.
func releaseLease(lock resourcelock.Interface, within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	held, _, err := lock.Get(ctx)
	if err == nil && held.HolderIdentity == lock.Identity() {
		held.HolderIdentity, held.LeaseDurationSeconds = "", 1
		err = lock.Update(ctx, *held)
	}
	if err != nil {
		slog.Warn("the lease is not released, and ends by itself", "error", err)
	}
}
