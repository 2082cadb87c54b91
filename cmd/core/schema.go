package main

import (
	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
)

const schemaHelp = `Print the JSON Schema (2020-12) of queues.yaml, for editors and other checkers.

It is generated from the tables of the parser of queues.yaml: it has every key with its
meaning, its unit and its default. An editor with the schema completes keys and marks
misspelt keys and values of the wrong type. Problems that involve several values, such as a
guarantee above its max, are found by 'canopy validate' only.

The YAML language server finds the schema by the first line of a file:

  # yaml-language-server: $schema=queues.schema.json`

const schemaExamples = `  canopy schema > queues.schema.json`

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of queues.yaml, for editors",
		Long:    schemaHelp,
		Example: schemaExamples,
		Args:    cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(queuesyaml.Schema())
			return err
		},
	}
}
