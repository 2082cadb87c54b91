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

	"github.com/canopy-scheduler/canopy/internal/lab/bench/report"
	"github.com/canopy-scheduler/canopy/internal/lab/measure"
)

// pollJob describes the readers of one process, and the contents that they expect.
type pollJob struct {
	Address string `json:"address"`
	Pollers int    `json:"pollers"`
	Stalled int    `json:"stalled"`
	Pages   int    `json:"pages"`
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
	Ask          string `json:"ask"` // the key of one that runs
	User         string `json:"user"`
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
	transport := &http.Transport{MaxIdleConnsPerHost: p.Pollers + 6*p.Pages, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for i := range p.Pollers {
		readers.Go(func() { all.poll(ctx, p, client, i) })
	}
	for i := range p.Pages {
		readers.Go(func() { all.page(ctx, p, client, i) })
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
		_, err = fmt.Fprintf(conn, "GET /ws/v1/partition/default/%s HTTP/1.1\r\nHost: bench\r\n\r\n",
			lists[number%len(lists)])
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

// stallDuration is the time for which an unread connection is kept: longer than the server waits.
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
