package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/scheduler"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const operatorHelp = `.

The server must have an admin listener (canopy serve --admin), and where it has tokens, one of the role
admin is needed. What is switched is kept over a restart with --data-dir, and canopy explain says which
asks wait because of it.` +
	clientExit

// operatedKind is a kind of object in commands: its word, and a name for examples.
type operatedKind struct{ word, example string }

var operatedKinds = map[scheduler.ObjectKind]operatedKind{
	scheduler.OnApplication: {"app", "spark-etl"}, scheduler.OnQueue: {"queue", "root.eng"},
	scheduler.OnNode: {"node", "n7"},
}

// operatorCommands returns a command for each kind of object, which has a command for each action (OPS-6).
func operatorCommands() []*cobra.Command {
	of := map[scheduler.ObjectKind]*cobra.Command{}
	var all []*cobra.Command
	for action := range scheduler.EachOperatorAction {
		on := action.Info().On
		if of[on] == nil {
			short := fmt.Sprintf("Act on %ss of a running server", on)
			of[on] = &cobra.Command{
				Use:   operatedKinds[on].word,
				Short: short,
				Long:  short + operatorHelp,
				Args:  cmdline.NoArguments,
			}
			all = append(all, of[on])
		}
		of[on].AddCommand(operatorCommand(action.Info()))
	}
	return all
}

// operatorCommandNames returns the names of the commands, separated by commas.
func operatorCommandNames() string {
	var names []string
	for action := range scheduler.EachOperatorAction {
		names = append(names, operatedKinds[action.Info().On].word+" "+action.Info().Verb)
	}
	return strings.Join(names, ", ")
}

func operatorCommand(action scheduler.ActionInfo) *cobra.Command {
	kind, names := operatedKinds[action.On], []string{strings.ToUpper(string(action.On))}
	example := fmt.Sprintf("  canopy %s %s %s", kind.word, action.Verb, kind.example)
	if action.ToQueue {
		names, example = append(names, "QUEUE"), example+" root.eng"
	}
	var c client
	cmd := &cobra.Command{
		Use: action.Verb + " " + strings.Join(names, " "), Short: action.Does, Long: action.Does + operatorHelp,
		Example: example, Args: exactly(names...),
		RunE: untilInterrupt(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			path := c.path(append([]string{string(action.On), args[0], action.Verb}, args[1:]...)...)
			var done dao.Operated
			text, err := c.decode(ctx, http.MethodPut, path, nil, &done)
			if err != nil {
				return err
			}
			return c.print(cmd.OutOrStdout(), text, func(out io.Writer) error { return printOperated(out, action, &done) })
		}),
	}
	c.add(cmd.Flags(), defaultAdmin)
	return cmd
}

// printOperated prints whether an action changed anything.
func printOperated(out io.Writer, action scheduler.ActionInfo, done *dao.Operated) error {
	text := fmt.Sprintf("%s %s was %s", operatedKinds[action.On].word, done.Name, action.Done)
	if done.Queue != "" {
		text += " to " + done.Queue
	}
	if !done.Changed {
		text += " before"
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
