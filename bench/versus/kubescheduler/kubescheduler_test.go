package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestPeer_SchedulesEveryPodOfEachWorkload(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"--nodes=50", "--pods=30", "--runs=1", "--canopy-lab=", "--output=json"}
	if code := run(args, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.KubeScheduler, "v1.") {
		t.Errorf("version of kube-scheduler %q", got.KubeScheduler)
	}
	if len(got.Workloads) != len(workloads) {
		t.Errorf("%d workloads, want %d", len(got.Workloads), len(workloads))
	}
	for _, w := range got.Workloads {
		if len(w.PeerRuns) != 1 || w.PeerRuns[0].Pods != 30 || w.KubeScheduler <= 0 {
			t.Errorf("%+v", w)
		}
	}
}

func TestWorkloads_ConstrainWhereTheirNamesSaySo(t *testing.T) {
	placed := map[string]map[string]bool{}
	for _, name := range []string{"affinity", "antiaffinity", "taints"} {
		chosen, err := chooseWorkloads(name)
		if err != nil {
			t.Fatal(err)
		}
		placed[name] = map[string]bool{}
		p, err := newPeer(t.Context(), chosen[0], 12)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			pod := chosen[0].pod(i)
			if err := p.schedule(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			assumed, err := p.Cache.GetPod(pod)
			if err != nil {
				t.Fatal(err)
			}
			placed[name][assumed.Spec.NodeName] = true
		}
	}
	for name, want := range map[string]int{"affinity": 4, "antiaffinity": 12, "taints": 12} {
		if got := len(placed[name]); got != want {
			t.Errorf("%s uses %d of 12 nodes, want %d", name, got, want)
		}
	}
}

func TestFlags_WrongOnesAreErrorsThatNameThem(t *testing.T) {
	for arg, want := range map[string]string{
		"--workloads=basic,baisc": `workload "baisc": must be one of basic, `,
		"--output=yaml":           `output "yaml": must be text or json`,
		"--runs=0":                "runs 0: must be a positive number",
		"--pods=0":                "pods 0: must be a positive number",
		"--pods=5001":             "pods 5001: must not be more than nodes, 5000",
		"--deadline=0s":           "deadline 0s: must be a positive time",
		"--canopy-lab=/none":      `canopy-lab "/none": must be a program`,
		"basic":                   `argument "basic": there are only flags`,
		"--nodes=many":            `invalid value "many" for flag -nodes`,
	} {
		args := []string{"--canopy-lab=", arg}
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != 2 || !strings.Contains(errs.String(), want) || out.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, want 2 and %q", arg, code, errs.String(), want)
		}
	}
}

func TestCanopyArgs_AskForTheSameWorkload(t *testing.T) {
	o := options{nodes: 5000, pods: 2500}
	for name, want := range map[string]string{
		basic:      "--nodes 5000 --asks 2500",
		"spread":   "--nodes 5000 --asks 2500 --constraint spread",
		preemption: "--nodes 5000 --asks 20000 --preemptors 2500 --victims 3",
	} {
		if got := strings.Join(canopyArgs(workload{name: name}, o), " "); !strings.HasSuffix(got, " --output json "+want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
