package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/internal/lab/conformance"
	"github.com/canopy-scheduler/canopy/pkg/canopy"
	"github.com/canopy-scheduler/canopy/pkg/hints/canopyv1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answerTimeout is how long an answer may take in a run that is to pass, and brokenTimeout in one that waits for
// answers that never come.
const (
	answerTimeout = 30 * time.Second
	brokenTimeout = 3 * time.Second
)

// startServer starts Canopy and connects to it.
func startServer(t *testing.T) *grpc.ClientConn {
	ctx, cancel := context.WithCancel(context.Background())
	s, err := canopy.Start(ctx, canopy.Options{GRPC: canopy.GRPC{Address: "127.0.0.1:0"}})
	assert.NilError(t, err)
	t.Cleanup(func() {
		cancel()
		assert.NilError(t, s.Close())
	})
	return connect(t, s.GRPCAddress().String())
}

func connect(t *testing.T, address string) *grpc.ClientConn {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, conn.Close()) })
	return conn
}

func TestRun_CanopyPassesAllCases(t *testing.T) {
	results, err := conformance.Run(context.Background(), startServer(t), conformance.Options{
		Features: conformance.Features(), Timeout: answerTimeout, Now: time.Now,
	})
	assert.NilError(t, err)
	assert.Assert(t, len(results) > 30, "%d cases", len(results))
	for _, r := range results {
		assert.Check(t, r.Failure == nil, "%s: %v", r.Case.Name, r.Failure)
	}
}

// ruleNumber is the number of a rule of docs/behaviour.
var ruleNumber = regexp.MustCompile(`[A-Z]{3}-\d+`)

func TestCases_SayWhatTheyDemand(t *testing.T) {
	files, err := filepath.Glob("../../../docs/behaviour/*.md")
	assert.NilError(t, err)
	var rules strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		assert.NilError(t, err)
		rules.Write(text)
	}
	names := map[string]bool{}
	for _, c := range conformance.Cases() {
		assert.Assert(t, !names[c.Name], "%s is there twice", c.Name)
		names[c.Name] = true
		assert.Assert(t, strings.HasSuffix(c.Demand, ".") && c.Source != "", c.Name)
		for _, number := range ruleNumber.FindAllString(c.Source, -1) {
			assert.Assert(t, strings.Contains(rules.String(), "\n### "+number+" "), "%s: there is no rule %s", c.Name, number)
		}
	}
}

// A scheduler that is broken in one way fails the cases that are about it, and no others.
func TestRun_BrokenSchedulersFail(t *testing.T) {
	for name, broken := range map[string]struct {
		allocations func(*si.AllocationResponse)
		apps        func(*si.ApplicationResponse)
		nodes       func(*si.NodeResponse)
		states      func(*canopyv1.WaitingState)
		only        string // a fault that names keys of a case concerns the cases of its group only; empty: all are run
		fails       []string
	}{
		"placeholders time out instead of being replaced": {
			allocations: func(m *si.AllocationResponse) {
				for _, r := range m.Released {
					if r.TerminationType == si.TerminationType_PLACEHOLDER_REPLACED {
						r.TerminationType = si.TerminationType_TIMEOUT
					}
				}
			},
			fails: []string{"gangs/replaced"},
		},
		"victims are never released": {
			allocations: func(m *si.AllocationResponse) {
				m.Released = slices.DeleteFunc(m.Released, func(r *si.AllocationRelease) bool {
					return r.TerminationType == si.TerminationType_PREEMPTED_BY_SCHEDULER
				})
			},
			fails: []string{"hints/nominated", "preemption/guarantee"},
		},
		"asks are rejected without an answer": {
			allocations: func(m *si.AllocationResponse) {
				m.RejectedAllocations = slices.DeleteFunc(m.RejectedAllocations, func(r *si.RejectedAllocation) bool {
					return !strings.HasPrefix(r.AllocationKey, "fence-")
				})
			},
			fails: []string{"asks/contradiction", "asks/rejected"},
		},
		"large asks are allocated twice": {
			allocations: func(m *si.AllocationResponse) {
				for _, a := range slices.Clone(m.New) {
					if strings.HasPrefix(a.AllocationKey, "large-") {
						m.New = append(m.New, a)
					}
				}
			},
			fails: []string{"asks/foreign", "canopy/orphan-released", "canopy/orphaned", "nodes/drained", "recovery/streams"},
		},
		"running allocations are forgotten in a recovery": {
			allocations: func(m *si.AllocationResponse) {
				m.New = slices.DeleteFunc(m.New,
					func(a *si.Allocation) bool { return strings.HasPrefix(a.AllocationKey, "running-") })
			},
			fails: []string{"recovery/restart"},
		},
		"applications have no states": {
			apps:  func(m *si.ApplicationResponse) { m.Updated = nil },
			fails: []string{"applications/states", "gangs/hard", "gangs/soft"},
		},
		"pod anti-affinity is ignored": {
			allocations: moved("second-anti-affinity", "a-anti-affinity"),
			only:        "canopy/*",
			fails:       []string{"canopy/anti-affinity"},
		},
		"topology spread is ignored": {
			allocations: placedWith("third-topology-spread", "fourth-topology-spread"),
			only:        "canopy/*",
			fails:       []string{"canopy/topology-spread"},
		},
		"preferences are ignored": {
			allocations: moved("first-preferred-node", "a-preferred-node"),
			only:        "canopy/*",
			fails:       []string{"canopy/preferred-node"},
		},
		"preferences are required": {
			allocations: without("second-preferred-node"),
			only:        "canopy/*",
			fails:       []string{"canopy/preferred-node"},
		},
		"taints are ignored": {
			allocations: placedWith("tolerant-node-constraints", "tainted-node-constraints"),
			only:        "canopy/*",
			fails:       []string{"canopy/node-constraints"},
		},
		"new labels of a node are ignored": {
			allocations: without("nowhere-node-constraints"),
			only:        "canopy/*",
			fails:       []string{"canopy/node-constraints"},
		},
		"members that do not wait for each other": {
			allocations: placedWith("plain-virtual-placeholders", "real-1-virtual-placeholders"),
			only:        "canopy/*",
			fails:       []string{"canopy/virtual-placeholders"},
		},
		"members that are placed one by one": {
			allocations: placedWith("plain-together", "real-1-together"),
			only:        "canopy/*",
			fails:       []string{"canopy/together"},
		},
		"nodes are added for an ask that a max keeps": {
			states: func(x *canopyv1.WaitingState) {
				if x.State == canopyv1.WaitingState_STATE_SKIPPED {
					x.State = canopyv1.WaitingState_STATE_FAILED
				}
			},
			only:  "hints/*",
			fails: []string{"hints/states"},
		},
		"explanations have no rank": {
			states: func(x *canopyv1.WaitingState) { x.Rank = nil },
			only:   "hints/*",
			fails:  []string{"hints/explained"},
		},
		"nodes are added for an ask with victims": {
			states: func(x *canopyv1.WaitingState) { x.NominatedNode = "" },
			only:   "hints/*",
			fails:  []string{"hints/nominated"},
		},
		"unknown nodes are accepted": {
			nodes: func(m *si.NodeResponse) {
				for _, r := range m.Rejected {
					m.Accepted = append(m.Accepted, &si.AcceptedNode{NodeID: r.NodeID})
				}
				m.Rejected = nil
			},
			fails: []string{"nodes/rejected", "nodes/unknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := startServer(t)
			p := &proxy{to: si.NewSchedulerClient(conn), nodes: broken.nodes, apps: broken.apps,
				allocations: broken.allocations, toHints: canopyv1.NewHintsClient(conn), states: broken.states}
			results, err := conformance.Run(context.Background(), p.start(t), conformance.Options{
				Only: broken.only, Features: conformance.Features(), Timeout: brokenTimeout, Now: time.Now,
			})
			assert.NilError(t, err)
			var failed []string
			for _, r := range results {
				if r.Failure != nil {
					failed = append(failed, r.Case.Name)
				}
			}
			slices.Sort(failed)
			assert.DeepEqual(t, failed, broken.fails)
		})
	}
}

// moved changes the node on which an ask is placed.
func moved(key, node string) func(*si.AllocationResponse) {
	return func(m *si.AllocationResponse) {
		for _, a := range m.New {
			if a.AllocationKey == key {
				a.NodeID = node
			}
		}
	}
}

// without drops the placement of an ask.
func without(key string) func(*si.AllocationResponse) {
	return func(m *si.AllocationResponse) {
		m.New = slices.DeleteFunc(m.New, func(a *si.Allocation) bool { return a.AllocationKey == key })
	}
}

// placedWith places another ask on the same node as soon as one is placed.
func placedWith(key, other string) func(*si.AllocationResponse) {
	return func(m *si.AllocationResponse) {
		for _, a := range slices.Clone(m.New) {
			if a.AllocationKey == key {
				m.New = append(m.New, &si.Allocation{AllocationKey: other, ApplicationID: a.ApplicationID, NodeID: a.NodeID})
			}
		}
	}
}

// Cases of a feature are run for endpoints that have it only.
func TestSelect_FeaturesAreNamed(t *testing.T) {
	promised, skipped, err := conformance.Select("")
	assert.NilError(t, err)
	assert.Assert(t, len(skipped) > 4)
	assert.Assert(t, !slices.ContainsFunc(promised, func(c conformance.Case) bool {
		return c.Feature != "" || strings.HasPrefix(c.Name, "canopy/") || strings.HasPrefix(c.Name, "hints/")
	}))
	all, skipped, err := conformance.Select("", "canopy")
	assert.NilError(t, err)
	assert.Equal(t, len(skipped), 0)
	assert.Assert(t, len(all) > len(promised))
	_, _, err = conformance.Select("canopy/*")
	assert.Error(t, err, `the cases called "canopy/*" are about features that were not named`)
	_, _, err = conformance.Select("", "magic")
	assert.Error(t, err, `no feature is called "magic": the features are canopy`)
	for _, c := range promised { // another scheduler must not need to know the tags
		assert.Assert(t, !strings.Contains(c.Text(), "canopy.scheduler/"), c.Name)
	}
}

// A scheduler without the service of hints passes what the interface promises, and fails the cases of hints if it is
// said to have them.
func TestRun_WithoutHints(t *testing.T) {
	p := &proxy{to: si.NewSchedulerClient(startServer(t))}
	conn := p.start(t)
	results, err := conformance.Run(context.Background(), conn,
		conformance.Options{Only: "hints/replaced", Features: []string{"canopy"}, Timeout: answerTimeout, Now: time.Now})
	assert.NilError(t, err)
	assert.ErrorContains(t, results[0].Failure, "WaitingStates ends with Unimplemented")
	_, err = conformance.Run(context.Background(), conn,
		conformance.Options{Only: "hints/*", Timeout: answerTimeout, Now: time.Now})
	assert.Error(t, err, `the cases called "hints/*" are about features that were not named`)
}

// Nothing is waited for on a stream that has ended.
func TestRun_EndedStreamFailsAtOnce(t *testing.T) {
	p := &proxy{to: si.NewSchedulerClient(startServer(t)), refuses: true}
	results, err := conformance.Run(context.Background(), p.start(t),
		conformance.Options{Only: "asks/priority", Timeout: time.Hour, Now: time.Now})
	assert.NilError(t, err)
	assert.ErrorContains(t, results[0].Failure, "UpdateAllocation ends with Unimplemented")
}

func TestRun_Refusals(t *testing.T) {
	_, err := conformance.Run(context.Background(), startServer(t),
		conformance.Options{Only: "no/such", Timeout: answerTimeout, Now: time.Now})
	assert.ErrorContains(t, err, `no case is called "no/such"`)
	_, _, err = conformance.Select("[")
	assert.ErrorContains(t, err, "syntax error")

	free, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	address := free.Addr().String()
	assert.NilError(t, free.Close())
	_, err = conformance.Run(context.Background(), connect(t, address),
		conformance.Options{Timeout: answerTimeout, Now: time.Now})
	assert.Equal(t, status.Code(err), codes.Unavailable, "%v", err)

	conn := startServer(t)
	_, err = si.NewSchedulerClient(conn).RegisterResourceManager(context.Background(),
		&si.RegisterResourceManagerRequest{RmID: "other"})
	assert.NilError(t, err)
	results, err := conformance.Run(context.Background(), conn, conformance.Options{Timeout: answerTimeout, Now: time.Now})
	assert.ErrorContains(t, err, "another resource manager is registered")
	assert.Equal(t, len(results), 0)
}

func TestReport_Forms(t *testing.T) {
	r := &conformance.Report{Address: "host:1", Results: []conformance.Result{
		{Case: conformance.Case{Name: "asks/priority", Demand: "D.", Source: "S"}, Duration: 1500 * time.Millisecond},
		{Case: conformance.Case{Name: "gangs/soft", Demand: "D.", Source: "S"}, Failure: errors.New("missing <x>")},
	}, Skipped: []conformance.Case{{Name: "hints/states", Demand: "D.", Source: "S", Feature: "canopy"}}}
	text, err := json.Marshal(r)
	assert.NilError(t, err)
	assert.Equal(t, string(text), `{"address":"host:1","passed":1,"failed":1,"skipped":1,"cases":[`+
		`{"name":"asks/priority","demand":"D.","source":"S","passed":true,"seconds":1.5},`+
		`{"name":"gangs/soft","demand":"D.","source":"S","passed":false,"failure":"missing \u003cx\u003e","seconds":0},`+
		`{"name":"hints/states","demand":"D.","source":"S","feature":"canopy","passed":false,"seconds":0,`+
		`"skipped":"not supported: the feature canopy was not named"}]}`)

	var out bytes.Buffer
	assert.NilError(t, r.WriteJUnit(&out))
	var suite struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
			} `xml:"failure"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
		} `xml:"testcase"`
	}
	assert.NilError(t, xml.Unmarshal(out.Bytes(), &suite))
	assert.Equal(t, suite.Tests, 3)
	assert.Equal(t, suite.Failures, 1)
	assert.Equal(t, suite.Skipped, 1)
	assert.Equal(t, suite.Cases[2].Skipped.Message, "not supported: the feature canopy was not named")
	assert.Equal(t, suite.Cases[0].Class+" "+suite.Cases[0].Name, "conformance.asks priority")
	assert.Assert(t, suite.Cases[0].Failure == nil)
	assert.Equal(t, suite.Cases[1].Failure.Message, "missing <x>")
}
