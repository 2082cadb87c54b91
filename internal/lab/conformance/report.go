package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"time"
)

// Report holds the results of a run.
type Report struct {
	Address string
	Results []Result
	Skipped []Case // of features that the endpoint is not said to have
}

// Failed returns how many cases failed.
func (r *Report) Failed() (n int) {
	for _, x := range r.Results {
		if x.Failure != nil {
			n++
		}
	}
	return n
}

// reportedCase is a case in JSON.
type reportedCase struct {
	Name    string  `json:"name"`
	Demand  string  `json:"demand"`
	Source  string  `json:"source"`
	Feature string  `json:"feature,omitempty"`
	Passed  bool    `json:"passed"`
	Failure string  `json:"failure,omitempty"`
	Seconds float64 `json:"seconds"`
	Skipped string  `json:"skipped,omitempty"` // why it was not run
}

// MarshalJSON returns the report as an object with the figures and a list of the cases.
func (r *Report) MarshalJSON() ([]byte, error) {
	out := struct {
		Address string         `json:"address"`
		Passed  int            `json:"passed"`
		Failed  int            `json:"failed"`
		Skipped int            `json:"skipped"`
		Cases   []reportedCase `json:"cases"`
	}{r.Address, len(r.Results) - r.Failed(), r.Failed(), len(r.Skipped), []reportedCase{}}
	for _, x := range r.Results {
		c := reported(x.Case)
		c.Passed, c.Seconds = x.Failure == nil, x.Duration.Seconds()
		if x.Failure != nil {
			c.Failure = x.Failure.Error()
		}
		out.Cases = append(out.Cases, c)
	}
	for _, x := range r.Skipped {
		c := reported(x)
		c.Skipped = x.notSupported()
		out.Cases = append(out.Cases, c)
	}
	return json.Marshal(out)
}

func reported(c Case) reportedCase {
	return reportedCase{Name: c.Name, Demand: c.Demand, Source: c.Source, Feature: c.Feature}
}

// notSupported says why the case was not run.
func (c *Case) notSupported() string {
	return "not supported: the feature " + c.Feature + " was not named"
}

// The elements of a JUnit report, as CI systems read it.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
		Skipped *junitSkipped `xml:"skipped"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes the report in the form of JUnit.
func (r *Report) WriteJUnit(out io.Writer) error {
	suite := junitSuite{Name: "conformance", Tests: len(r.Results) + len(r.Skipped), Failures: r.Failed(),
		Skipped: len(r.Skipped)}
	var total time.Duration
	for _, x := range r.Results {
		total += x.Duration
		c := junitOf(x.Case, x.Duration)
		if x.Failure != nil {
			c.Failure = &junitFailure{x.Failure.Error(), x.Case.Demand + " (" + x.Case.Source + ")"}
		}
		suite.Cases = append(suite.Cases, c)
	}
	for _, x := range r.Skipped {
		c := junitOf(x, 0)
		c.Skipped = &junitSkipped{x.notSupported()}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = seconds(total)
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(out)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(out, "\n")
	return err
}

func junitOf(c Case, took time.Duration) junitCase {
	return junitCase{Class: "conformance." + path.Dir(c.Name), Name: path.Base(c.Name), Time: seconds(took)}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
