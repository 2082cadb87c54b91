package main

import (
	"strings"
	"testing"
)

func TestReport_Verdict(t *testing.T) {
	cases := []struct {
		name, events string
		wantOut      string
		wantErr      string
	}{
		{
			name: "tests that ran are counted and go test's line is kept",
			events: `{"Action":"run","Package":"a","Test":"T"}
{"Action":"output","Package":"a","Test":"T","Output":"noise\n"}
{"Action":"pass","Package":"a","Test":"T"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
{"Action":"pass","Package":"a"}`,
			wantOut: "ok  \ta\t0.1s\n1 passed, 0 failed, 0 skipped\n",
		}, {
			name: "a package where no test ran has failed, although others passed",
			events: `{"Action":"pass","Package":"a","Test":"T"}
{"Action":"pass","Package":"a"}
{"Action":"output","Package":"b","Output":"ok  \tb\t0.1s [no tests to run]\n"}
{"Action":"pass","Package":"b"}`,
			wantOut: "ok  \tb\t0.1s [no tests to run]\n1 passed, 0 failed, 0 skipped\n",
			wantErr: "no test ran in b",
		}, {
			name: "a package where every test was skipped has failed",
			events: `{"Action":"skip","Package":"a","Test":"T"}
{"Action":"pass","Package":"a"}`,
			wantOut: "0 passed, 0 failed, 1 skipped\n",
			wantErr: "no test ran in a",
		}, {
			name: "a package without test files is no failure, but a run of nothing else is",
			events: `{"Action":"output","Package":"a","Output":"?   \ta\t[no test files]\n"}
{"Action":"skip","Package":"a"}`,
			wantOut: "?   \ta\t[no test files]\n0 passed, 0 failed, 0 skipped\n",
			wantErr: "no test ran at all",
		}, {
			name: "the output of a failing test is printed, of a passing one not",
			events: `{"Action":"output","Package":"a","Test":"T","Output":"why\n"}
{"Action":"fail","Package":"a","Test":"T"}
{"Action":"output","Package":"a","Test":"U","Output":"noise\n"}
{"Action":"pass","Package":"a","Test":"U"}
{"Action":"output","Package":"a","Output":"FAIL\ta\n"}
{"Action":"fail","Package":"a"}`,
			wantOut: "why\nFAIL\ta\n1 passed, 1 failed, 0 skipped\n",
		}, {
			name: "the output of a test that did not end is printed",
			events: `{"Action":"output","Package":"a","Test":"T","Output":"panic: timed out\n"}
{"Action":"output","Package":"a","Output":"FAIL\ta\n"}
{"Action":"fail","Package":"a"}`,
			wantOut: "panic: timed out\nFAIL\ta\n0 passed, 0 failed, 0 skipped\n",
			wantErr: "no test ran at all",
		}, {
			name: "a package whose process ends without a failing test is named, with the tests that had begun",
			events: `{"Action":"run","Package":"a","Test":"T"}
{"Action":"pass","Package":"a","Test":"T"}
{"Action":"run","Package":"a","Test":"U"}
{"Action":"output","Package":"a","Output":"FAIL\ta\n"}
{"Action":"fail","Package":"a"}`,
			wantOut: "U had not ended\nFAIL\ta\n1 passed, 0 failed, 0 skipped\n",
			wantErr: "no test failed, but the process ended with an error, in a",
		}, {
			name: "the output of the compiler is printed",
			events: `{"ImportPath":"a","Action":"build-output","Output":"a.go:1: no\n"}
{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}
{"Action":"fail","Package":"a"}`,
			wantOut: "a.go:1: no\nFAIL\ta [build failed]\n0 passed, 0 failed, 0 skipped\n",
			wantErr: "no test ran at all",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			r := report{out: &out, packages: map[string]*packageResult{}}
			if err := r.read(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := r.verdict(); err != nil {
				got = err.Error()
			}
			if out.String() != c.wantOut {
				t.Errorf("printed\n%s\nwant\n%s", out.String(), c.wantOut)
			}
			if got != c.wantErr {
				t.Errorf("error %q, want %q", got, c.wantErr)
			}
		})
	}
}
