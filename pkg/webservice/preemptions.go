package webservice

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
)

func (s *service) routePreemptions(mux *router) {
	s.route(mux, "/ws/v1/partition/{partition}/preemptions", s.preemptions)
	s.route(mux, "/ws/v1/partition/{partition}/preemptions/{number}", s.preemption)
	s.routeDryRun(mux)
}

// mostListed is how many preemptions an answer has, if the client does not say.
const mostListed = 100

// rightNames are the rights in the words of the interface.
var rightNames = [...]string{preemption.OfNode: "node", preemption.OfGuarantee: "guarantee", preemption.OfPriority: "priority", preemption.OfQuota: "quota", preemption.OfPressure: "pressure"}

// preemptions lists the last ones, the newest first.
func (s *service) preemptions(r *http.Request) (any, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	want, err := preemptionsWanted(r.URL.Query())
	if err != nil {
		return nil, err
	}
	all, err := l.Preemptions(r.Context())
	if err != nil {
		return nil, err
	}
	body := preemptionsBody{Made: all.Made, Strays: all.Strays, Remembered: len(all.Last), Paused: viewPauses(all.Pauses), Preemptions: []preemptionBody{}}
	for i := range all.Last {
		if len(body.Preemptions) == want.limit {
			break
		}
		if want.matches(&all.Last[i]) {
			body.Preemptions = append(body.Preemptions, viewPreemption(&all.Last[i]))
		}
	}
	return body, nil
}

// preemption is one of them, with everybody who was on the node.
func (s *service) preemption(r *http.Request) (any, error) {
	text, err := parameter(r, "number")
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || number == 0 {
		return nil, badRequest(fmt.Sprintf("preemption %q: it is a number from 1 on", text))
	}
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	found, err := l.Preemption(r.Context(), number)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, notFound("Preemption")
	}
	body := viewPreemption(found)
	body.Candidates, body.More = viewCandidates(found.Candidates), found.MoreCandidates
	return body, nil
}

// wanted says which preemptions a client asks for.
type wanted struct {
	limit int
	app   string // empty: any, as the next two
	queue string
	right string
}

func preemptionsWanted(q url.Values) (wanted, error) {
	w := wanted{limit: mostListed, app: q.Get("application"), queue: strings.ToLower(q.Get("queue")), right: strings.ToLower(q.Get("right"))}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return w, badRequest(fmt.Sprintf("limit %q: it is a number from 1 on", text))
		}
		w.limit = n
	}
	if w.right != "" && !slices.Contains(rightNames[:], w.right) {
		return w, badRequest(fmt.Sprintf("right %q: it is one of %s", w.right, strings.Join(rightNames[:], ", ")))
	}
	if w.queue != "" {
		for _, level := range strings.Split(w.queue, ".") {
			if !queueLevel.MatchString(level) {
				return w, badQueueName(w.queue)
			}
		}
	}
	return w, nil
}

// matches reports whether the ask or a victim of r is one that is asked for.
func (w *wanted) matches(r *scheduler.Preemption) bool {
	concerns := func(app objects.AppID, queue objects.QueuePath) bool {
		return (w.app == "" || string(app) == w.app) && (w.queue == "" || string(queue) == w.queue || strings.HasPrefix(string(queue), w.queue+"."))
	}
	return (w.right == "" || rightNames[r.Right] == w.right) && (concerns(r.Ask.App, r.Ask.Queue) || concerns("", r.Excess.Queue) ||
		slices.ContainsFunc(r.Victims, func(v scheduler.Victim) bool { return concerns(v.App, v.Queue) }))
}
