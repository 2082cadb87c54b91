package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/answer"
)

// event is an event record as REST has it.
type event struct {
	Object    string `json:"objectID"`
	Reference string `json:"referenceID"`
	Message   string `json:"message"`
	At        int64  `json:"timestampNano"`
	Type      string `json:"typeName"`
	Change    string `json:"eventChangeTypeName"`
	Detail    string `json:"eventChangeDetailName"`
	Partition string `json:"partition"`
	Resource  struct {
		Resources map[string]struct {
			Value int64 `json:"value"`
		} `json:"resources"`
	} `json:"resource"`
}

// printRecord writes an event as one line: text, or JSON.
func (f *eventsFlags) printRecord(out *bufio.Writer, record json.RawMessage) error {
	if f.output == "json" {
		var line bytes.Buffer
		if err := json.Compact(&line, record); err != nil {
			return err
		}
		line.WriteByte('\n')
		_, err := line.WriteTo(out)
		return err
	}
	var e event
	if err := answer.Decode(record, &e); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, e)
	return err
}

// eventTypes are the printed names of the event types.
var eventTypes = map[string]string{"REQUEST": "ask", "APP": "application", "NODE": "node", "QUEUE": "queue",
	"USERGROUP": "user"}

// String is the event in words: the time, the type, the object, what happened.
func (e event) String() string {
	kind := eventTypes[e.Type]
	if kind == "" {
		kind = strings.ToLower(e.Type)
	}
	at := time.Unix(0, e.At).UTC().Format("2006-01-02T15:04:05.000Z")
	line := fmt.Sprintf("%s  %-11s  %s  %s", at, kind, e.Object, e.words())
	if e.Partition != "" && e.Partition != "default" {
		line += fmt.Sprintf(" (partition %s)", e.Partition)
	}
	return cmdline.PrintableLine(line)
}

// eventWords are the texts of events by detail and change; %s is the reference.
var eventWords = map[string]string{
	"APP_ALLOC ADD":           "got allocation %s",
	"APP_REQUEST ADD":         "asked for %s",
	"REQUEST_CANCEL REMOVE":   "lost ask %s, which was cancelled",
	"APP_NEW ADD":             "was submitted",
	"APP_REJECT SET":          "was rejected",
	"NODE_DECOMISSION REMOVE": "", // its message is the text
	"NODE_SCHEDULABLE SET":    "", // the same
	"NODE_CAPACITY SET":       "was resized",
	"QUEUE_DYNAMIC ADD":       "was created for an application",
	"QUEUE_DYNAMIC REMOVE":    "was removed",
	"DETAILS_NONE REMOVE":     "was removed",
	"NODE_ALLOC ADD":          "got allocation %s",
	"NODE_ALLOC REMOVE":       "lost allocation %s",
	"ALLOC_CANCEL REMOVE":     "lost allocation %s, which was released",
	"ALLOC_PREEMPT REMOVE":    "is losing allocation %s, which was preempted",
	"ALLOC_TIMEOUT REMOVE":    "is losing allocation %s, which timed out",
	"ALLOC_REPLACED REMOVE":   "lost placeholder %s, which was replaced",
}

// words is the text after the object: the change, the amounts and the message.
func (e event) words() string {
	text, about := eventWords[e.Detail+" "+e.Change]
	switch {
	case about && strings.Contains(text, "%s"):
		text = fmt.Sprintf(text, e.Reference)
	case about:
	case strings.HasPrefix(e.Detail, "APP_") && e.Change == "SET":
		text = "is now " + strings.ToLower(strings.TrimPrefix(e.Detail, "APP_"))
	case e.Detail != "" && e.Detail != "DETAILS_NONE":
		text = strings.TrimSpace(e.Reference + " " + e.Detail)
	case e.Reference != "":
		text = "of " + e.Reference
	}
	if amounts := e.amounts(); amounts != "" {
		text += " (" + amounts + ")"
	}
	switch {
	case e.Message == "":
		return text
	case text == "":
		return e.Message
	}
	return text + ": " + e.Message
}

// amounts are the quantities as queues.yaml has them, in the order of their names.
func (e event) amounts() string {
	amounts := make(map[string]int64, len(e.Resource.Resources))
	for name, q := range e.Resource.Resources {
		amounts[name] = q.Value
	}
	return amountsText(amounts)
}
