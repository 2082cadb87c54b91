package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/canopy-scheduler/canopy/internal/bench/report"
	"github.com/canopy-scheduler/canopy/internal/measure"
)

// pollJob describes the readers of one process, and the contents that they expect.
type pollJob struct {
	Address string `json:"address"`
	Pollers int    `json:"pollers"`
	Stalled int    `json:"stalled"`
	Seconds int    `json:"seconds"`
	Seed    uint64 `json:"seed"`

	Queues       int    `json:"queues"`
	Nodes        int    `json:"nodes"`
	Applications int    `json:"applications"`
	Allocations  int    `json:"allocations"` // minimum
	Extra        int    `json:"extra"`       // at most this many more
	Queue        string `json:"queue"`       // the name of one of each
	Node         string `json:"node"`
	Application  string `json:"application"`
	User         string `json:"user"`
}

// endpoint is a path with the expected content of its answer.
type endpoint struct {
	path string
	want map[string][2]int // minimum and maximum occurrences of a key
	text bool              // plain text: the keys are parts of lines
}

// endpoints are the endpoints of a server that readers use.
func (p *pollJob) endpoints() []endpoint {
	const partition = "/ws/v1/partition/default/"
	within := func(least, most int) [2]int { return [2]int{least, most} }
	exactly := func(n int) [2]int { return within(n, n) }
	placed := within(p.Allocations, p.Allocations+p.Extra)
	one := map[string][2]int{"applicationID": exactly(1)}
	return []endpoint{
		{path: "/healthz", want: map[string][2]int{"healthy": exactly(1)}},
		{path: "/readyz", want: map[string][2]int{"ready": exactly(1)}},
		{path: "/ws/v1/scheduler/healthcheck", want: map[string][2]int{"Healthy": exactly(1), "Name": within(5, 50)}},
		{path: "/ws/v1/partitions", want: map[string][2]int{"nodeSortingPolicy": exactly(1)}},
		{path: partition + "queues", want: map[string][2]int{"queuename": exactly(p.Queues)}},
		{path: partition + "nodes", want: map[string][2]int{"nodeID": exactly(p.Nodes), "allocationKey": placed}},
		{path: partition + "node/" + p.Node, want: map[string][2]int{"nodeID": exactly(1)}},
		{path: partition + "node/" + p.Node + "/eviction-order", want: map[string][2]int{"nodeID": exactly(1)}},
		{path: partition + "queue/" + p.Queue + "/applications", want: map[string][2]int{"applicationID": within(1, p.Applications)}},
		{path: partition + "queue/" + p.Queue + "/application/" + p.Application, want: one},
		{path: partition + "application/" + p.Application, want: one},
		{path: partition + "applications/active", want: map[string][2]int{"applicationID": exactly(p.Applications), "allocationKey": placed}},
		{path: partition + "applications/completed", want: map[string][2]int{"applicationID": exactly(0)}},
		{path: partition + "applications/rejected", want: map[string][2]int{"applicationID": within(0, 1)}},
		{path: partition + "usage/users", want: map[string][2]int{"userName": within(1, p.Applications)}},
		{path: partition + "usage/user/" + p.User, want: map[string][2]int{"userName": exactly(1)}},
		{path: partition + "usage/groups", want: map[string][2]int{"groupName": within(0, p.Applications)}},
		{path: partition + "classquotas", want: map[string][2]int{"classQuotas": exactly(1)}},
		{path: partition + "preemptions", want: map[string][2]int{"preemptions": exactly(1)}},
		{path: "/ws/v1/events/batch", want: map[string][2]int{"InstanceUUID": exactly(1), "objectID": within(1, 10_000)}},
		{path: "/ws/v1/config/history", want: map[string][2]int{"generation": within(1, 50)}},
		{path: "/ws/v1/priorityclasses", want: map[string][2]int{"name": within(1, 50)}},
		{path: "/ws/v1/disruptionbudgets", want: map[string][2]int{"namespace": exactly(0)}},
		{path: "/ws/v1/metrics", text: true, want: map[string][2]int{
			"\nyunikorn_queue_resource{": within(p.Queues, p.Queues*50), "\ngo_goroutines ": exactly(1),
		}},
	}
}

// measurePoll reads for the duration of the job.
func measurePoll(ctx context.Context, p *pollJob, r *result) error {
	before := measure.ReadClocks()
	ctx, stop := context.WithTimeout(ctx, time.Duration(p.Seconds)*time.Second+2*readersLeadTime)
	defer stop()
	all := &pollResults{sample: report.Sample{}, answerTimes: r.family(answerTimes)}
	var readers sync.WaitGroup
	for i := range p.Stalled {
		readers.Go(func() { all.stall(ctx, p, i) })
	}
	transport := &http.Transport{MaxIdleConnsPerHost: p.Pollers, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for i := range p.Pollers {
		readers.Go(func() { all.poll(ctx, p, client, i) })
	}
	readers.Wait()
	cpu, _ := measure.ReadClocks().Since(before)
	all.sample["readerCPU"] = cpu.Seconds()
	for name, n := range all.sample {
		r.sample[name] = n
	}
	return nil
}

// pollResults are the results of readers.
type pollResults struct {
	mu           sync.Mutex
	sample       report.Sample
	answerTimes  measure.Histogram
	loggedErrors int // wrong answers written to standard error
}

// poll requests the paths in turn at given times, without waiting for answers.
func (a *pollResults) poll(ctx context.Context, p *pollJob, client *http.Client, number int) {
	paths := p.endpoints()
	rng := rand.New(rand.NewPCG(p.Seed, uint64(number)))
	due := time.Now().Add(time.Duration(rng.Float64() * float64(time.Second)))
	var under sync.WaitGroup
	defer under.Wait()
	for turn := number; ; turn++ {
		wait := time.NewTimer(time.Until(due))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
		e, asked := paths[turn%len(paths)], due
		under.Go(func() { a.ask(p, client, e, asked, number%2 == 1, turn%validateEvery == 0) })
		due = due.Add(time.Second)
	}
}

const (
	responseTimeout = 30 * time.Second // an answer that takes longer has failed
	validateEvery   = 10               // one of this many answers is checked for its JSON grammar
)

// ask sends a request and checks its answer.
func (a *pollResults) ask(p *pollJob, client *http.Client, e endpoint, due time.Time, packed, validate bool) {
	ctx, stop := context.WithTimeout(context.Background(), responseTimeout) // a request that was sent is read to its end
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Address+e.path, nil)
	if err != nil {
		panic("bench: " + err.Error()) // the paths are constants
	}
	if packed {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	response, err := client.Do(request)
	if err != nil {
		a.record("answersFailed", e, err, 0, due)
		return
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable {
		_, _ = io.Copy(io.Discard, response.Body)
		a.record("answersRefused", e, nil, 0, due)
		return
	}
	n, err := e.check(response, validate)
	switch {
	case err == nil:
		a.record("answers", e, nil, n, due)
	case errors.Is(err, errWrong):
		a.record("answersWrong", e, err, n, due)
	default:
		a.record("answersFailed", e, err, n, due)
	}
}

func (a *pollResults) record(metric string, e endpoint, err error, bytes int, due time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sample[metric]++
	a.sample["answerBytes"] += float64(bytes)
	if metric == "answers" {
		a.answerTimes.Add(time.Since(due))
	}
	if err != nil && a.loggedErrors < 5 {
		a.loggedErrors++
		logError("%s: %v", e.path, err)
	}
}

// stall requests a large list and does not read it.
func (a *pollResults) stall(ctx context.Context, p *pollJob, number int) {
	lists := []string{"nodes", "queues", "applications/active"}
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp", p.Address)
		if err != nil {
			return
		}
		_, err = fmt.Fprintf(conn, "GET /ws/v1/partition/default/%s HTTP/1.1\r\nHost: bench\r\n\r\n", lists[number%len(lists)])
		select {
		case <-ctx.Done():
		case <-time.After(stallDuration):
		}
		if err == nil && ctx.Err() == nil {
			a.mu.Lock()
			a.sample["connectionsCut"]++ // the server has closed it by now: a new connection replaces it
			a.mu.Unlock()
		}
		_ = conn.Close()
	}
}

// stallDuration is how long an unread connection is kept: longer than the server waits.
const stallDuration = serverStallTimeout + time.Second

// check reads an answer to its end.
func (e *endpoint) check(response *http.Response, validate bool) (bytes int, err error) {
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%w: %s", errWrong, response.Status)
	}
	body, err := unpacked(response)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(bufio.NewReaderSize(body, 64<<10))
	if err != nil {
		return len(text), err
	}
	return len(text), e.checkText(text, validate)
}
