package preemption

import (
	"errors"
	"time"

	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/preemption/fairshare"
	"github.com/canopy-scheduler/canopy/pkg/preemption/victim"
	"github.com/canopy-scheduler/canopy/pkg/quota"
)

// Engine runs the preemption of one partition: which ask groups are evaluated and when, what is preempted and
// nominated, the log, and the cycles. The marks and nominations themselves are in the partition. An Engine is not safe
// for concurrent use: the Core of its partition owns and calls it.
type Engine struct {
	part        *objects.Partition
	shares      *fairshare.Shares // of part
	changes     *changes          // of part
	oracle      *objects.Oracle   // nil: every node passes the predicates
	opt         objects.Options
	host        Host
	servedUntil time.Time // deadlines up to this time have been served

	timeouts     timeouts
	pressed      []pressedNode  // nodes in their grace, by its end
	victimSearch *victim.Search // nil: there was no search yet
	toEvaluate   []*evaluation  // ask groups to evaluate for preemption
	backOff      backOff        // ask groups that found no victims
	youngEnd     time.Time      // when a candidate of a search without victims no longer is young; zero: none was

	log          preemptionLog
	cycles       CycleDetector
	victimLeaves map[*objects.Allocation][]objects.QueuePath // the leaves of the victims of each nominated ask

	knownInfeasible map[evaluationKey]bool // keys without a plan; scratch of Preempt
	searches        int                    // searches in this call of Preempt
	evaluated       uint64                 // asks evaluated, since the Engine was made
	oracleAsked     bool                   // the RM was asked in the current evaluation of an ask
	oracleRefused   bool                   // the RM refused a node in the current evaluation of an ask
}

// Host is the scheduler that an Engine belongs to. Its calls that begin with On report what the engine has done,
// in the order in which it was done; each comes after the change of the partition.
type Host interface {
	// FirstFeasibleNode returns the first node, in node order, that is feasible for x now; nil: there is none.
	FirstFeasibleNode(x *objects.Allocation) *objects.Node
	// Allows reports whether other allocations leave n to x when those of gone have ended, and MayRefuse whether there may
	// be a node that they do not leave to it. Accepts reports whether they leave n to x now, and the RM accepts x there.
	Allows(x *objects.Allocation, n *objects.Node, gone []*objects.Allocation) bool
	MayRefuse(x *objects.Allocation) bool
	Accepts(x *objects.Allocation, n *objects.Node) bool
	// GiveUpVerdict says why x cannot be placed on its nominated node, although its victims have ended.
	GiveUpVerdict(x *objects.Allocation) string
	// ConstraintVerdict names a constraint that blocks an ask, as a verdict does.
	ConstraintVerdict(c quota.Constraint) string

	// OnPreempted: the victims were marked, and the RM must release them. preemptor is nil if they were not preempted for
	// an ask; cause then says what they were preempted for.
	OnPreempted(victims []*objects.Allocation, preemptor *objects.Allocation, reason victim.Reason, cause string)
	// OnNominated: x was nominated for a node, and waits for this many victims.
	OnNominated(x *objects.Allocation, node *objects.Node, reason victim.Reason, victims int)
	// OnNominationEnd: a nomination has ended. lostTo is the ask that has the node now, nil if there is none.
	OnNominationEnd(l EndedNomination, end NominationState, lostTo *objects.Allocation, message string)
	// OnOverdue: a victim has not ended within the nomination timeout.
	OnOverdue(y *objects.Allocation, preemptedAt time.Time)
	// OnCycle: leaves preempt each other in a cycle. until is the end of their cool-down; zero: there is none.
	OnCycle(cycle Cycle, until time.Time)
	// OnCoolDownEnded: two leaves may preempt each other again.
	OnCoolDownEnded(c CoolDown)
}

// New returns the Engine of a partition, without an Oracle.
func New(p *objects.Partition, opt objects.Options, host Host) *Engine {
	shares := fairshare.New(p)
	return &Engine{
		part: p, shares: shares, changes: watch(p, shares), opt: opt, host: host,
		log:          newPreemptionLog(opt.PreemptionHistory),
		victimLeaves: map[*objects.Allocation][]objects.QueuePath{}, backOff: newBackOff(),
	}
}

// SetOracle sets the Oracle; nil: every node passes the predicates.
func (eng *Engine) SetOracle(oracle *objects.Oracle) { eng.oracle = oracle }

// Reset starts again with another partition: the RM has re-registered (PRE-89). The log keeps its preemptions.
func (eng *Engine) Reset(p *objects.Partition, now time.Time) {
	eng.log.untrackAll(now)
	eng.part, eng.shares = p, fairshare.New(p)
	eng.changes, eng.toEvaluate, eng.backOff, eng.victimSearch = watch(p, eng.shares), nil, newBackOff(), nil
	eng.cycles, eng.timeouts, eng.pressed, eng.youngEnd = CycleDetector{}, timeouts{}, nil, time.Time{}
	clear(eng.victimLeaves)
}

// ServeDeadlines ends the back-offs that are over at now, and collects the queues whose max is to be enforced. It
// precedes each command and each run.
func (eng *Engine) ServeDeadlines(now time.Time) {
	eng.servedUntil = now
	eng.endYouth(now)
	eng.changes.enforcement.CollectDue(now)
	eng.toEvaluate = append(eng.toEvaluate, eng.backOff.popExpired(now)...)
}

// BeginRun comes before any decision of a run. It ends the cool-downs that are over, nominations and waits that have
// timed out, and the graces of nodes (PRE-81, PRE-87, PRE-106, PRE-119).
func (eng *Engine) BeginRun(now time.Time) {
	eng.endCoolDowns(now)
	eng.endTimedOutNominations(now)
	eng.endGraces(now)
}

// FinishStep updates the state from which NextDeadline is computed, after a command or a run: also which queues are
// above an enforced max (QUO-48, QUO-49).
func (eng *Engine) FinishStep(now time.Time) {
	eng.changes.enforcement.Update(now, func(x *quota.Queue) { objects.NoteQueueChanged(eng.part, x) })
	eng.expectReleases()
	if eng.changes.configChanged {
		eng.changes.configChanged = false
		eng.refreshDelays()
	}
	eng.refreshFirstAskChanges()
}

// Idle reports whether there is nothing to examine after a placement, and no queue is above an enforced max.
func (eng *Engine) Idle() bool { return eng.changes.idle() }

// NextEnforcement returns the next time at which to search for victims of a queue above an enforced max although no
// command comes, also while no RM listens; ok is false if there is none.
func (eng *Engine) NextEnforcement() (at time.Time, ok bool) {
	return eng.changes.enforcement.NextDue(eng.changes.generation)
}

// NextDeadline returns the next time at which BeginRun or Preempt has work although no command has come; ok is false if
// never. Work that is due already is left to the next run.
func (eng *Engine) NextDeadline() (t time.Time, ok bool) {
	for _, next := range [...]func() (time.Time, bool){eng.nextNominationTimeout, eng.nextCoolDownEnd, eng.nextRetry,
		eng.nextDelayEnd, eng.nextGraceEnd, eng.nextYoungEnd} {
		if at, some := next(); some && (!ok || at.Before(t)) {
			t, ok = at, true
		}
	}
	return t, ok
}

// Check verifies that the log, the leaves of victims and the timeouts agree with the partition, and it verifies the
// counts of the back-off.
func (eng *Engine) Check() error {
	return errors.Join(eng.log.check(eng.part), eng.checkVictimLeaves(), eng.checkTimeouts(), eng.backOff.check())
}

// Stats counts the work of an Engine. It is for tests and benchmarks: no decision depends on it.
type Stats struct {
	victim.SearchStats        // zero before the first search; of the searches since the last Reset
	Evaluations        uint64 // asks that were evaluated, since the Engine was made
	RunSearches        int    // asks searched for in the last call of Preempt
	BackedOff          int    // groups in the back-off
	Delays             int    // of these, those that a delay brings back
	Queued             int    // entries of the queue of the back-off, including groups that no longer wait
}

// Stats returns the counts until now.
func (eng *Engine) Stats() Stats {
	s := Stats{Evaluations: eng.evaluated, RunSearches: eng.searches, BackedOff: len(eng.backOff.byGroup),
		Delays: len(eng.backOff.delays), Queued: len(eng.backOff.queue)}
	if eng.victimSearch != nil {
		s.SearchStats = eng.victimSearch.Stats()
	}
	return s
}
