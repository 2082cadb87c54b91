package main

import (
	"github.com/spf13/cobra"

	"github.com/canopy-scheduler/canopy/pkg/configs"
)

const schemaHelp = `Print the JSON Schema (2020-12) of queues.yaml, for editors and other checkers.

It is made from the tables that the reader of queues.yaml goes by: every key is in it,
with what it is for, its unit and its default. An editor that knows the schema completes
keys and marks what is misspelt or of the wrong kind. What takes more than one value to
see, such as a guarantee above its max, only 'canopy validate' finds.

An editor with the YAML language server finds the schema by the first line of a file:

  # yaml-language-server: $schema=queues.schema.json`

const schemaExamples = `  canopy schema > queues.schema.json`

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of queues.yaml, for editors",
		Long:    schemaHelp,
		Example: schemaExamples,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(configs.Schema())
			return err
		},
	}
}
