package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/configs/validation"
	"github.com/canopy-scheduler/canopy/pkg/resources"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

const validateHelp = `Read queues.yaml files and report everything that is wrong with them.

Every problem is listed with its line, column, rule and queue, not only the first. A file
with errors is not loaded. A warning does not prevent that, but the file may not have the
intended effect: a max of "cpu" limits nothing where nodes have "vcore". With --strict,
warnings are errors. With --address there is a warning for every quantity of a resource
that no node of a running server has, and for guarantees of more than all of its nodes
have. A file named - is standard input, and can be given once; of a ConfigMap of
Kubernetes its queues.yaml is read.

The exit code is 0 when all files are valid, perhaps with warnings, 1 when a file
has errors, and 2 when a file cannot be read, the server cannot be reached or the
arguments are invalid.`

const validateExamples = `  canopy validate queues.yaml
  canopy validate --output json prod/queues.yaml test/queues.yaml
  kubectl get configmap yunikorn-configs -o jsonpath='{.data.queues\.yaml}' | canopy validate -
  canopy validate --strict --address 127.0.0.1:9080 queues.yaml
  canopy validate --max-queues 1000 --max-depth 8 queues.yaml
  canopy validate --rules`

// validateCommand checks configurations without a server (CFG-128).
func validateCommand() *cobra.Command {
	var output string
	var rules bool
	var f validateFlags
	cmd := &cobra.Command{
		Use:     "validate FILE...",
		Short:   "Report everything that is wrong with queues.yaml files",
		Long:    validateHelp,
		Example: validateExamples,
		Args: func(_ *cobra.Command, files []string) error {
			switch {
			case !rules && len(files) == 0:
				return cmdline.Exit(cmdline.Usage, errors.New("name at least one file, or - for standard input"))
			case rules && len(files) > 0:
				return cmdline.Exit(cmdline.Usage, errors.New("--rules takes no files"))
			case len(slices.DeleteFunc(slices.Clone(files), func(name string) bool { return name != "-" })) > 1:
				return cmdline.Exit(cmdline.Usage,
					errors.New("- is standard input, which can be read only once, and it is given more than once"))
			}
			return cmdline.UsageError(cmdline.CheckBounds(f.bounds))
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			if rules {
				return printRules(cmd.OutOrStdout(), output)
			}
			if err := f.fetchNodeCapacity(cmd.Context()); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			r := f.validate(files, cmd.InOrStdin())
			if err := r.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), output); err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			return r.exit()
		},
	}
	cmdline.OutputFlag(cmd.Flags(), &output)
	cmd.Flags().BoolVar(&rules, "rules", false, "list all rules and exit")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "warnings are errors")
	f.addServer(cmd.Flags(), "")
	cmd.Flags().Lookup("address").Usage += ", to warn of resources and guarantees that its nodes do not have"
	cmdline.AddBounds(cmd.Flags(), &f.bounds)
	return cmd
}

// validationOutput has the problems of all files. Its JSON form is stable: other programs read it.
type validationOutput struct {
	Files    []validatedFile `json:"files"`
	Errors   int             `json:"errors"`
	Warnings int             `json:"warnings"`
}

type validatedFile struct {
	File       string              `json:"file"`
	Valid      bool                `json:"valid"`
	Unreadable string              `json:"unreadable,omitempty"` // why the file could not be read
	Problems   validation.Problems `json:"problems"`
}

// validateFlags are the flags of validate.
type validateFlags struct {
	client
	strict bool
	bounds queuesyaml.Options
}

// fetchNodeCapacity sets f.bounds.NodeCapacity to what the nodes of the server have.
func (f *validateFlags) fetchNodeCapacity(ctx context.Context) error {
	if f.address == "" {
		return nil
	}
	var all []dao.Partition
	if err := f.read(ctx, "/ws/v1/partitions", &all); err != nil {
		return err
	}
	f.bounds.NodeCapacity = map[string]map[string]resources.Quantity{}
	for _, p := range all {
		of := map[string]resources.Quantity{}
		for name, n := range p.Capacity.Capacity {
			of[name] = resources.Quantity(n)
		}
		f.bounds.NodeCapacity[p.Name] = of
	}
	return nil
}

// validate checks files, also those after one that cannot be read. Warnings are not errors unless
// strict is set (CFG-72).
func (flags *validateFlags) validate(files []string, stdin io.Reader) validationOutput {
	bounds := flags.bounds
	var v validationOutput
	for _, name := range files {
		text, err := cmdline.ReadConfig(name, stdin, bounds)
		f := validatedFile{File: name, Problems: validation.Problems{}}
		if err != nil {
			f.Unreadable = err.Error()
			v.Files = append(v.Files, f)
			continue
		}
		_, f.Problems = queuesyaml.LoadWith(text, bounds)
		for i := range f.Problems {
			if flags.strict {
				f.Problems[i].Severity = validation.Error
			}
		}
		f.Valid = !f.Problems.HasErrors()
		v.Files = append(v.Files, f)
		v.Errors += len(f.Problems.Errors())
		v.Warnings += len(f.Problems.Warnings())
	}
	return v
}

func (v validationOutput) exit() error {
	for _, f := range v.Files {
		if f.Unreadable != "" {
			return cmdline.Exit(cmdline.Usage, nil)
		}
	}
	if v.Errors > 0 {
		return cmdline.Exit(cmdline.Refused, nil)
	}
	return nil
}

func (v validationOutput) print(out, errs io.Writer, format string) error {
	if format == "json" {
		return cmdline.PrintJSON(out, v)
	}
	for _, f := range v.Files {
		if f.Unreadable != "" {
			fmt.Fprintf(errs, "%s: unreadable: %s\n", f.File, f.Unreadable)
			continue
		}
		for _, p := range f.Problems.Merged() {
			fmt.Fprintln(out, p.WithFile(f.File))
		}
		if _, err := fmt.Fprintf(out, "%s: %s\n", f.File, f.summary()); err != nil {
			return err
		}
	}
	return nil
}

// summary returns a text such as "valid", "valid, 1 warning" or "3 errors, 1 warning".
func (f validatedFile) summary() string {
	var parts []string
	if n := len(f.Problems.Errors()); n > 0 {
		parts = append(parts, cmdline.Plural(n, "error"))
	} else {
		parts = append(parts, "valid")
	}
	if n := len(f.Problems.Warnings()); n > 0 {
		parts = append(parts, cmdline.Plural(n, "warning"))
	}
	return strings.Join(parts, ", ")
}

func printRules(out io.Writer, format string) error {
	if format == "json" {
		type rule struct {
			ID       string `json:"id"`
			Severity string `json:"severity"`
			Summary  string `json:"summary"`
		}
		var all []rule
		for _, x := range validation.Rules() {
			all = append(all, rule{x.ID, x.Severity.String(), x.Summary})
		}
		return cmdline.PrintJSON(out, map[string]any{"rules": all})
	}
	return printList(out, "RULE\tSEVERITY\tSUMMARY", validation.Rules(), 0, func(x *validation.Rule) []string {
		return []string{x.ID, x.Severity.String(), x.Summary}
	})
}
