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
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// defaultPreemptionLimit bounds the preemptions of an answer if the request has no limit.
const defaultPreemptionLimit = 100

// preemptions lists the preemptions that are kept, the newest first (OBS-22, PRE-109).
func (s *service) preemptions(r *http.Request) (any, error) {
	l, err := s.partition(r)
	if err != nil {
		return nil, err
	}
	want, err := readPreemptionFilter(r.URL.Query())
	if err != nil {
		return nil, err
	}
	all, err := l.Preemptions(r.Context())
	if err != nil {
		return nil, err
	}
	body := dao.PreemptionList{Total: all.Total, UnknownConfirmations: all.UnknownConfirmations, Remembered: len(all.Last),
		CoolDowns: dao.NewCoolDowns(all.CoolDowns), Preemptions: []preemption.Preemption{}}
	for i := range all.Last {
		if len(body.Preemptions) == want.limit {
			break
		}
		if p := all.Last[i]; want.matches(&p) {
			p.Candidates, p.MoreCandidates = nil, 0
			body.Preemptions = append(body.Preemptions, p)
		}
	}
	return body, nil
}

// preemption shows one preemption, with all candidates on its node (PRE-110).
func (s *service) preemption(r *http.Request) (any, error) {
	text, err := parameter(r, "number")
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil || number == 0 {
		return nil, badRequest("preemption %q: it is a number from 1 on", text)
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
		return nil, notFound(fmt.Sprintf("preemption %d", number))
	}
	return found, nil
}

// preemptionFilter selects preemptions.
type preemptionFilter struct {
	limit  int
	app    string // empty: any, likewise the next two
	queue  string
	reason string
}

func readPreemptionFilter(q url.Values) (preemptionFilter, error) {
	w := preemptionFilter{limit: defaultPreemptionLimit, app: q.Get("application"), queue: strings.ToLower(q.Get("queue")),
		reason: strings.ToLower(q.Get("reason"))}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return w, badRequest("limit %q: it is a number from 1 on", text)
		}
		w.limit = n
	}
	if w.reason != "" && !slices.Contains(victim.ReasonCodes[:], w.reason) {
		return w, badRequest("reason %q: it is one of %s", w.reason, strings.Join(victim.ReasonCodes[:], ", "))
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

// matches reports whether r has the reason, and its ask, its violating queue or a victim matches.
func (w *preemptionFilter) matches(r *preemption.Preemption) bool {
	concerns := func(app objects.AppID, queue objects.QueuePath) bool {
		return (w.app == "" || string(app) == w.app) &&
			(w.queue == "" || string(queue) == w.queue || strings.HasPrefix(string(queue), w.queue+"."))
	}
	return (w.reason == "" || victim.ReasonCodes[r.Reason] == w.reason) &&
		(w.app == "" && w.queue == "" || r.Ask != nil && concerns(r.Ask.App, r.Ask.Queue) ||
			r.QuotaViolation != nil && concerns("", r.QuotaViolation.Queue) ||
			slices.ContainsFunc(r.Victims, func(v preemption.Victim) bool { return concerns(v.App, v.Queue) }))
}
