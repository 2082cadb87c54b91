package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/auth"
	"github.com/canopy-scheduler/canopy/internal/server/configwatch"
)

const tokenHelp = `Make tokens for the clients of 'canopy serve --tokens FILE', and check such a file.

The file is a YAML list. Each entry has a name, a role, and the hash of a token or the name of a
client certificate; with rmID, the client may register as this resource manager only:

  - {name: prometheus, role: read, hash: "sha256:..."}
  - {name: shim, role: submit, rmID: mycluster, certificate: shim.example.org}

The roles are read (GET requests), submit (the scheduler interface over gRPC) and admin
(everything). A client sends the token as "authorization: Bearer TOKEN"; a browser asks for
it as a password.`

func tokenCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Make and check the credentials of 'canopy serve --tokens'",
		Long: tokenHelp}
	cmd.AddCommand(tokenNewCommand(), tokenCheckCommand())
	return cmd
}

const tokenNewHelp = `Make a token. Two lines are printed: the token, for the client, and the entry for the file of
--tokens. The token is not kept anywhere: the entry has only its hash.

With --append FILE the entry is appended to FILE, which may be new, and only the token is
printed. A running server uses it at once. To replace a token, make another one of the same
name, give it to the client, and remove the former entry.

The exit code is 0 when a token was made, 1 when FILE cannot be written or has errors, and 2
when the arguments are invalid.`

// tokenFlags are the flags as given.
type tokenFlags struct{ name, role, rm, file string }

// tokenNewCommand makes a token (SEC-6).
func tokenNewCommand() *cobra.Command {
	var f tokenFlags
	cmd := &cobra.Command{
		Use:   "new --name NAME --role ROLE",
		Short: "Make a token",
		Long:  tokenNewHelp,
		Example: `  canopy token new --name prometheus --role read
  canopy token new --name shim --role submit --rm-id mycluster --append tokens.yaml >shim.token`,
		Args: cmdline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			token := auth.NewToken()
			entry, err := f.entry(token)
			if err != nil {
				return cmdline.Exit(cmdline.Usage, err)
			}
			if f.file == "" {
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n%s\n", token, entry)
				return err
			}
			if err := appendEntry(f.file, entry); err != nil {
				return cmdline.Exit(cmdline.Refused, fmt.Errorf("--append: %w", err))
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), token)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`NAME` of the client, for the log")
	flags.StringVar(&f.role, "role", "", "`ROLE`: read, submit or admin")
	flags.StringVar(&f.rm, "rm-id", "", "the only `ID` as which the client may register; default: any")
	flags.StringVar(&f.file, "append", "", "append the entry to this `FILE`")
	return cmd
}

// entry returns the entry of a token, one line. An error is about a flag.
func (f *tokenFlags) entry(token string) (string, error) {
	switch {
	case f.name == "":
		return "", errors.New("--name: no name of the client")
	case f.role == "":
		return "", errors.New("--role is missing: it is read, submit or admin")
	}
	fields := []*yaml.Node{plainNode("name"), plainNode(f.name), plainNode("role"), plainNode(f.role)}
	if f.rm != "" {
		fields = append(fields, plainNode("rmID"), plainNode(f.rm))
	}
	fields = append(fields, plainNode("hash"), plainNode(auth.HashToken(token)))
	list := yaml.Node{Kind: yaml.SequenceNode,
		Content: []*yaml.Node{{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: fields}}}
	text, err := yaml.Marshal(&list)
	if err != nil {
		return "", err
	}
	if _, err := auth.ParseCredentials(text); err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "line 1: "))
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}

// plainNode returns a text that is quoted only if it has to be.
func plainNode(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// appendEntry appends an entry to a file of credentials, which must be right afterwards.
func appendEntry(name, entry string) error {
	text, err := configwatch.Read(name, auth.MaxFileBytes)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	addition := entry + "\n"
	if len(text) > 0 && text[len(text)-1] != '\n' {
		addition = "\n" + addition
	}
	if _, err := auth.ParseCredentials(append(text, addition...)); err != nil {
		return fmt.Errorf("%s is not changed: %w", name, err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(addition)
	return errors.Join(err, file.Close())
}

// tokenCheckCommand reads a file of credentials as serve does.
func tokenCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Check a file of credentials, and list its entries",
		Long: `Check a file of credentials as 'canopy serve --tokens FILE' reads it, and list its entries.

The exit code is 0 when the file is right, 1 when it has errors, which are printed, and 2 when it
cannot be read or the arguments are invalid.`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return checkTokens(args[0], cmd.OutOrStdout()) },
	}
}

func checkTokens(name string, out io.Writer) error {
	text, err := configwatch.Read(name, auth.MaxFileBytes)
	if err != nil {
		return cmdline.Exit(cmdline.Usage, err)
	}
	c, err := auth.ParseCredentials(text)
	if err != nil {
		return cmdline.Exit(cmdline.Refused, fmt.Errorf("%s: %w", name, err))
	}
	for _, e := range c.Entries() {
		if _, err := fmt.Fprintln(out, e); err != nil {
			return err
		}
	}
	return nil
}
