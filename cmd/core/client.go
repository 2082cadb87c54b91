package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/canopy-scheduler/canopy/internal/cli/cmdline"
	"github.com/canopy-scheduler/canopy/internal/server/answer"
	"github.com/canopy-scheduler/canopy/pkg/webservice/dao"
)

// clientExit is the end of the help of commands that ask a server.
const clientExit = `

The exit code is 0 when it was printed or done, 1 when a name is unknown or the server refuses or does
not answer, and 2 when the arguments are invalid.`

// defaultREST is the address at which serve answers GET requests.
const defaultREST = "127.0.0.1:9080"

// client holds the flags of a command that asks a running server.
type client struct {
	address, partition, output string
	timeout                    time.Duration
	access                     cmdline.ClientAccess
}

// add adds the flags. address is the default of --address.
func (c *client) add(flags *pflag.FlagSet, address string) {
	c.addServer(flags, address)
	cmdline.TextFlag(flags, &c.partition, "partition", "default", "`NAME` of the partition", cmdline.NotEmpty)
	cmdline.OutputFlag(flags, &c.output)
}

// addServer adds the flags that say how the server is reached.
func (c *client) addServer(flags *pflag.FlagSet, address string) {
	cmdline.TextFlag(flags, &c.address, "address", address,
		"`HOST:PORT` of the "+listenerOf(address)+" of a running server", cmdline.HostAndPort)
	cmdline.DurationFlag(flags, &c.timeout, "timeout", 30*time.Second, "how long the server may take to answer", 1)
	c.access.Add(flags)
}

func listenerOf(address string) string {
	if address == defaultAdmin {
		return "admin listener"
	}
	return "REST interface"
}

// untilInterrupt has a command run with a context that ends with an interrupt. An error has the exit code exitRefused
// unless it says otherwise.
func untilInterrupt(run func(ctx context.Context, cmd *cobra.Command, args []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		if err := run(ctx, cmd, args); err != nil {
			return cmdline.RefusedOr(err)
		}
		return nil
	}
}

// path returns the path of something in the partition. The server decodes a name twice, as YuniKorn does.
func (c *client) path(names ...string) string {
	path := "/ws/v1/partition/" + url.PathEscape(url.QueryEscape(c.partition))
	for _, name := range names {
		path += "/" + url.PathEscape(url.QueryEscape(name))
	}
	return path
}

// send sends a request. The caller closes the body of the answer. timeout bounds the whole answer; 0: nothing does.
func (c *client) send(ctx context.Context, timeout time.Duration, method, path string,
	body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.address+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("--address: %w", err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/yaml")
	}
	sender, err := c.access.HTTPClient(c.address, timeout)
	if err != nil {
		return nil, err
	}
	got, err := sender.Do(r)
	return got, c.plainTimeout(err)
}

// plainTimeout says in words that the server did not answer in time, if err says so.
func (c *client) plainTimeout(err error) error {
	if err != nil && os.IsTimeout(err) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer within %s (--timeout)", c.address, c.timeout)
	}
	return err
}

// maxAnswerBytes bounds what is read of an answer; a thousand preemptions take far less.
const maxAnswerBytes = 1 << 28

// ask sends a request and returns the answer, whatever its status is.
func (c *client) ask(ctx context.Context, method, path string, body []byte) (text []byte, status int, err error) {
	got, err := c.send(ctx, c.timeout, method, path, body)
	if err != nil {
		return nil, 0, err
	}
	defer got.Body.Close()
	if text, err = io.ReadAll(io.LimitReader(got.Body, maxAnswerBytes)); err != nil {
		if late := c.plainTimeout(err); late != err {
			return nil, 0, late
		}
		return nil, 0, fmt.Errorf("%s: %w", c.address, err)
	}
	return text, got.StatusCode, nil
}

// decode sends a request and decodes the answer. A status other than 200 is an error with the message of the server.
func (c *client) decode(ctx context.Context, method, path string, body []byte, into any) (text []byte, err error) {
	text, status, err := c.ask(ctx, method, path, body)
	switch {
	case err != nil:
		return nil, err
	case status != http.StatusOK:
		return nil, c.withPartitions(ctx, c.refusal(text, status))
	}
	if err = answer.Decode(text, into); err != nil {
		return nil, fmt.Errorf("%s answers with an unexpected body: %w", c.address, err)
	}
	return text, nil
}

// read decodes the answer to a GET request.
func (c *client) read(ctx context.Context, path string, into any) error {
	_, err := c.decode(ctx, http.MethodGet, path, nil, into)
	return err
}

// refusal returns why an answer has another status than 200.
func (c *client) refusal(text []byte, status int) error {
	var refused dao.Error
	if json.Unmarshal(text, &refused) != nil || refused.Message == "" {
		return fmt.Errorf("%s answers with status %d: is this listener one of a canopy server of this version?", c.address,
			status)
	}
	return errors.New(refused.Message)
}

// withPartitions adds to an error about an unknown partition which ones there are.
func (c *client) withPartitions(ctx context.Context, err error) error {
	var all []struct{ Name string }
	if err.Error() != "Partition not found" || c.read(ctx, "/ws/v1/partitions", &all) != nil || len(all) == 0 {
		return err
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return fmt.Errorf("there is no partition %q: %s", c.partition, oneOf(c.partition, names))
}

// print prints an answer: as JSON, or by a function as text.
func (c *client) print(out io.Writer, text []byte, asText func(io.Writer) error) error {
	if c.output == "json" {
		return printIndented(out, text)
	}
	return asText(out)
}

func printIndented(out io.Writer, text []byte) error {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, text, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, pretty.String())
	return err
}

// exactly returns the rule of a command that takes the arguments of these names, none of them empty.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		given := len(args)
		for _, arg := range args {
			if arg == "" {
				given = -1
			}
		}
		if given == len(names) {
			return nil
		}
		count := map[int]string{1: "one argument", 2: "two arguments"}[len(names)]
		return cmdline.Exit(cmdline.Usage,
			fmt.Errorf("%s takes %s: %s", strings.TrimPrefix(cmd.CommandPath(), "canopy "), count,
				strings.Join(names, " ")))
	}
}
