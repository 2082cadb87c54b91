package own

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// throttle has the API server answer 429 to every request of the schedulers.
const throttle = `
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: throttled}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 0, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: throttled}
spec:
  priorityLevelConfiguration: {name: throttled}
  matchingPrecedence: 2
  rules:
    - subjects:
        - {kind: ServiceAccount, serviceAccount: {name: yunikorn-admin, namespace: yunikorn}}
        - {kind: ServiceAccount, serviceAccount: {name: canopy, namespace: canopy}}
      resourceRules:
        - {apiGroups: ["*"], resources: ["*"], verbs: ["*"], namespaces: ["*"], clusterScope: true}
`

// An API server that answers 429 for some seconds, or half a minute, delays bindings and loses none: clients try again.
func TestFaults_APIServerThrottles(t *testing.T) {
	for _, long := range []bool{false, true} {
		both(t, fmt.Sprint("throttled-", long), queues, func(t *testing.T, c *cluster, namespace string) {
			c.create(namespace, "before", "root.bounded", queueMaxPods-10, "100m")
			before := c.untilPlaced(namespace, queueMaxPods-10)
			refused := c.throttled()
			c.kubectl(throttle, "apply", "-f", "-")
			t.Cleanup(func() { c.kubectl(throttle, "delete", "--ignore-not-found", "-f", "-") })
			c.create(namespace, "during", "root.bounded", 20, "100m")
			seconds := 5
			if long {
				seconds = 30
			}
			for range seconds {
				<-time.After(time.Second)
				assert.Assert(t, c.allocated("root.bounded") <= queueMaxPods*100)
			}
			assert.Assert(t, c.throttled() > refused, "no request was refused")
			c.kubectl(throttle, "delete", "-f", "-")
			after := c.untilPlaced(namespace, queueMaxPods)
			for name, node := range before {
				assert.Equal(t, after[name], node, name)
			}
			assert.Equal(t, c.allocated("root.bounded"), int64(queueMaxPods*100))
		})
	}
}

// throttled returns how many requests the API server has refused because of throttle.
func (c *cluster) throttled() (n int) {
	c.t.Helper()
	metrics, err := c.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(c.t.Context())
	assert.NilError(c.t, err)
	counter := regexp.MustCompile(`(?m)^apiserver_flowcontrol_rejected_requests_total\{flow_schema="throttled".*\} (\d+)$`)
	for _, found := range counter.FindAllStringSubmatch(string(metrics), -1) {
		var one int
		_, err := fmt.Sscan(found[1], &one)
		assert.NilError(c.t, err)
		n += one
	}
	return n
}

// replacePending deletes the pods that are not bound, and creates as many as n.
func (c *cluster) replacePending(namespace string, n int) {
	c.t.Helper()
	zero := int64(0)
	assert.NilError(c.t, c.client.CoreV1().Pods(namespace).DeleteCollection(c.t.Context(),
		metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{FieldSelector: "spec.nodeName="}))
	c.create(namespace, "after", "root.bounded", n, "100m")
}

// Connections to the API server that are cut again and again, while pods come and go, lose nothing: the watches begin
// anew, and what was missed is found.
func TestFaults_WatchesAreCut(t *testing.T) {
	t.Run("YuniKorn", func(t *testing.T) {
		c := connectWith(t, "cut-yunikorn", queues)
		defer c.restart("") // with its own kubeconfig
		api := startProxy(t, filepath.Join(c.folder, "scheduler.kubeconfig"))
		defer api.stop()
		c.restart("")
		cutWatches(t, c, "cut-yunikorn", api)
	})
	t.Run("native", func(t *testing.T) {
		n := startNative(t, "cut-native")
		api := startProxy(t, n.credentials)
		defer api.stop()
		n.shim.restart()
		n.knowsNodes()
		cutWatches(t, n.cluster, "cut-native", api)
	})
}

func cutWatches(t *testing.T, c *cluster, namespace string, api *proxy) {
	t.Helper()
	c.create(namespace, "before", "root.bounded", queueMaxPods/2, "100m")
	before, pods := c.untilPlaced(namespace, queueMaxPods/2), c.client.CoreV1().Pods(namespace)
	zero, cut := int64(0), 0
	for i := range 15 {
		c.create(namespace, fmt.Sprint("during", i), "root.bounded", 4, "100m")
		cut += api.cut()
		<-time.After(300 * time.Millisecond)
		for j := range 2 {
			assert.NilError(t, pods.Delete(t.Context(), fmt.Sprintf("during%d-%d", i, j),
				metav1.DeleteOptions{GracePeriodSeconds: &zero}))
		}
		cut += api.cut()
		<-time.After(700 * time.Millisecond)
		assert.Assert(t, c.allocated("root.bounded") <= queueMaxPods*100)
	}
	assert.Assert(t, cut >= 15, "%d connections were cut", cut)
	if strings.HasSuffix(namespace, "-yunikorn") { // it gives a pod up whose binding was cut
		c.replacePending(namespace, queueMaxPods/2)
	}
	c.create(namespace, "more", "root.bounded", 5, "100m") // above the max
	after := c.untilPlaced(namespace, queueMaxPods)
	for name, node := range before {
		assert.Equal(t, after[name], node, name)
	}
	assert.Equal(t, c.allocated("root.bounded"), int64(queueMaxPods*100))
}

// proxy is between a client and the API server.
type proxy struct {
	server      string
	stop        func() // puts the kubeconfig back, and ends the proxy
	mu          sync.Mutex
	connections map[net.Conn]bool
}

// startProxy puts a proxy in the place of the API server in a kubeconfig.
func startProxy(t *testing.T, kubeconfig string) *proxy {
	t.Helper()
	original, err := os.ReadFile(kubeconfig)
	assert.NilError(t, err)
	config, err := clientcmd.Load(original)
	assert.NilError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	p := &proxy{connections: map[net.Conn]bool{}}
	for _, c := range config.Clusters {
		at, err := url.Parse(c.Server)
		assert.NilError(t, err)
		p.server, c.Server = at.Host, "https://"+listener.Addr().String()
	}
	assert.NilError(t, clientcmd.WriteToFile(*config, kubeconfig))
	p.stop = func() {
		assert.Check(t, os.WriteFile(kubeconfig, original, 0o600))
		assert.Check(t, listener.Close())
		p.cut()
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // it is closed
			}
			go p.serve(client)
		}
	}()
	return p
}

// serve connects a client with the API server until one of them ends, or it is cut.
func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.connections[client] = true
	p.mu.Unlock()
	go func() {
		_, _ = io.Copy(server, client) // its end is that of the connection
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
	p.mu.Lock()
	delete(p.connections, client)
	p.mu.Unlock()
}

// cut ends all connections, and returns how many these were.
func (p *proxy) cut() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.connections {
		_ = c.Close() // the client may have closed it
		n++
	}
	return n
}
