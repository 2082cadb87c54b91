package own

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mayChangeClock is the environment variable without which no test changes the clock of the machine.
const mayChangeClock = "CANOPY_SET_CLOCK"

// clockAhead is less than tokens of service accounts last, which would end otherwise.
const clockAhead = 10 * time.Minute

// A clock that differs: pods that the API server dates ten minutes ahead wait and are bound like others, and none is
// lost or bound above the max. Control plane and scheduler are on one machine, so its clock is set while such pods are
// created.
func TestFaults_ClockDiffers(t *testing.T) {
	if os.Getenv(mayChangeClock) != "1" {
		t.Skipf("it sets the clock of the machine for some seconds: allow it by %s=1, as root", mayChangeClock)
	}
	both(t, "clock", queues, func(t *testing.T, c *cluster, namespace string) {
		c.create(namespace, "first", "root.bounded", queueMaxPods, "100m")
		c.untilPlaced(namespace, queueMaxPods)
		begun, wall := time.Now(), time.Now().Round(0) // of begun only the monotonic reading is used
		set := func(ahead time.Duration) {
			t.Helper()
			now := syscall.NsecToTimeval(wall.Add(time.Since(begun) + ahead).UnixNano())
			assert.NilError(t, syscall.Settimeofday(&now))
		}
		t.Cleanup(func() { set(0) })
		set(clockAhead)
		c.create(namespace, "ahead", "root.bounded", 30, "100m")
		set(0)
		c.create(namespace, "now", "root.bounded", 30, "100m")
		pods, err := c.client.CoreV1().Pods(namespace).List(t.Context(),
			metav1.ListOptions{LabelSelector: "applicationId=ahead"})
		assert.NilError(t, err)
		assert.Equal(t, len(pods.Items), 30)
		for _, p := range pods.Items {
			assert.Assert(t, p.CreationTimestamp.After(time.Now().Add(clockAhead/2)),
				"%s is of %v, so the clock of the API server was not ahead", p.Name, p.CreationTimestamp)
		}
		c.untilPlaced(namespace, queueMaxPods)

		zero := int64(0)
		end := func(app string) {
			t.Helper()
			assert.NilError(t,
				c.client.CoreV1().Pods(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: &zero},
					metav1.ListOptions{LabelSelector: "applicationId=" + app}))
		}
		end("first")
		placed := c.untilPlaced(namespace, queueMaxPods)
		assert.Equal(t, c.allocated("root.bounded"), int64(queueMaxPods*100))
		for name := range placed {
			assert.Assert(t, !strings.HasPrefix(name, "first"), name)
		}
		end("ahead")
		end("now")
		c.until("nothing is left", func(context.Context) error {
			if got := c.allocated("root.bounded"); got != 0 {
				return fmt.Errorf("the queue has %d", got)
			}
			return nil
		})
	})
}
