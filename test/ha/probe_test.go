package ha

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// probeTimeout is how long a probe waits for an answer.
const probeTimeout = 300 * time.Millisecond

// answer is what a leader has answered.
type answer struct {
	at     time.Time // when it came
	member string
	epoch  int64
}

// probe asks the members in turn which of them leads, and keeps the answers. A question is asked after the last answer
// has come, so that an answer with a lower epoch than an earlier one is one that a former leader should not have given.
type probe struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	answers []answer
	fell    []string
}

func newProbe(g *group) *probe {
	ctx, cancel := context.WithCancel(context.Background())
	p := &probe{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		clients := map[string]healthpb.HealthClient{}
		for _, m := range g.members {
			c, err := grpc.NewClient(m.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				panic(err) // the address is valid
			}
			defer c.Close()
			clients[m.name] = healthpb.NewHealthClient(c)
		}
		for ctx.Err() == nil {
			for _, m := range g.members {
				p.ask(ctx, m.name, clients[m.name])
			}
		}
	}()
	g.t.Cleanup(p.stop)
	return p
}

func (p *probe) stop() {
	p.cancel()
	<-p.done
}

// ask asks one member.
func (p *probe) ask(ctx context.Context, member string, client healthpb.HealthClient) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var head metadata.MD
	r, err := client.Check(ctx, &healthpb.HealthCheckRequest{}, grpc.Header(&head))
	if err != nil || r.Status != healthpb.HealthCheckResponse_SERVING {
		return
	}
	epoch := int64(-1)
	if v := head.Get("canopy-epoch"); len(v) == 1 {
		epoch, _ = strconv.ParseInt(v[0], 10, 64)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.answers); n > 0 {
		last := p.answers[n-1]
		if epoch < last.epoch || epoch == last.epoch && member != last.member {
			p.fell = append(p.fell,
				fmt.Sprintf("%s answers in epoch %d after %s in epoch %d", member, epoch, last.member, last.epoch))
		}
	}
	p.answers = append(p.answers, answer{time.Now(), member, epoch})
}

// last is the last answer; zero: there is none.
func (p *probe) last() answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) == 0 {
		return answer{}
	}
	return p.answers[len(p.answers)-1]
}

// problems are the answers that should not have been given.
func (p *probe) problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.fell...)
}

// leaderAfter waits for the leader of a later epoch.
func (p *probe) leaderAfter(g *group, epoch int64, within time.Duration) (*member, int64) {
	g.t.Helper()
	until(g.t, within, func() error {
		if a := p.last(); a.epoch <= epoch {
			return fmt.Errorf("the last answer is %+v, and one after epoch %d is waited for", a, epoch)
		}
		return nil
	})
	a := p.last()
	for _, m := range g.members {
		if m.name == a.member {
			return m, a.epoch
		}
	}
	panic("no member " + a.member)
}
