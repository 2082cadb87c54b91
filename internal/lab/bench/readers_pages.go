package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A page has a stream of changes. When what it shows has changed it reads that again, and then rests for four times as
// long as that took, and for at least pageRest: it spends a fifth of the time on reading at most (WEB-5, WEB-7).
const pageRest = 900 * time.Millisecond

// page opens a page until the context ends. Pages show the views in turn.
func (a *pollResults) page(ctx context.Context, p *pollJob, client *http.Client, number int) {
	views := p.views()
	v := views[number%len(views)]
	changed := make(chan struct{}, 1)
	var stream sync.WaitGroup
	defer stream.Wait()
	stream.Go(func() { a.follow(ctx, p, client, v, changed) })
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		var reads sync.WaitGroup
		for _, e := range v.reads {
			reads.Go(func() { a.ask(p, client, e, began, true, number%validateEvery == 0) })
		}
		reads.Wait()
		rest := time.NewTimer(max(pageRest, v.rest, 4*time.Since(began)))
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
			return
		}
	}
}

// follow reads the stream of changes and says when something that the view shows has changed. A stream that ends early
// has failed.
func (a *pollResults) follow(ctx context.Context, p *pollJob, client *http.Client, v view, changed chan<- struct{}) {
	e := endpoint{path: "/ws/v1/live"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.Address+e.path, nil)
	if err != nil {
		panic("bench: " + err.Error()) // the path is a constant
	}
	response, err := client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%w: %s", errWrong, response.Status)
	}
	if err != nil {
		a.streamEnded(ctx, e, err)
		return
	}
	defer response.Body.Close()
	var shown string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		text, isData := strings.CutPrefix(lines.Text(), "data: ")
		if !isData {
			continue
		}
		next, err := v.numbers(text)
		if err != nil {
			a.streamEnded(ctx, e, err)
			return
		}
		if next == shown {
			continue
		}
		shown = next
		a.count("pageChanges")
		select {
		case changed <- struct{}{}:
		default: // it will read again anyway
		}
	}
	a.streamEnded(ctx, e, errors.Join(io.ErrUnexpectedEOF, lines.Err()))
}

// streamEnded records the failure of a stream, unless its page was closed.
func (a *pollResults) streamEnded(ctx context.Context, e endpoint, err error) {
	if ctx.Err() == nil {
		a.record("answersFailed", e, err, 0, time.Now())
	}
}

// numbers returns the numbers of a message of the stream that are those of the topics of v.
func (v *view) numbers(message string) (string, error) {
	var m struct {
		Generation json.Number                       `json:"generation"`
		Events     json.Number                       `json:"events"`
		Partitions map[string]map[string]json.Number `json:"partitions"`
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		return "", err
	}
	of := m.Partitions["default"]
	if of == nil {
		of = map[string]json.Number{}
	}
	of["generation"], of["events"] = m.Generation, m.Events
	var numbers []string
	for _, topic := range v.topics {
		numbers = append(numbers, of[topic].String())
	}
	return strings.Join(numbers, " "), nil
}

func (a *pollResults) count(metric string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sample[metric]++
}
