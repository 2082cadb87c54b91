package canopy

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/canopy-scheduler/canopy/internal/server/logging"
)

// Options configure a Server. The zero value is valid. A number or duration that is zero means its
// default; where "negative" is not mentioned, a negative one is an error of Start.
type Options struct {
	Config Config // queues.yaml
	// DataDir is a directory in which accepted configurations survive a restart. It is created if it
	// does not exist, and used by one Server at a time. Empty: they are lost.
	DataDir string

	Usage Usage // the usage of queues, users and groups over time

	Recording Recording // a recording of all that is decided upon

	// DurationTag is the tag of applications by whose values the durations of allocations are learnt, for the expected
	// start of asks, besides by queue. Empty: by queue only.
	DurationTag string

	GRPC GRPC // the API for resource managers in other processes
	HTTP HTTP // REST, metrics and event streams
	// AdminAddress is the listener on which REST may change the configuration: HOST:PORT of a loopback address, or
	// unix:/path; with TLS and authentication of Security, any HOST:PORT. Empty: nowhere.
	AdminAddress string
	Security     Security // which clients may use the listeners, and how their connections are encrypted

	// Debug serves stacks and profiles of the process over REST, and the reflection of gRPC.
	Debug bool

	// Log gets the log lines of docs/LOGGING.md. Its core should not block: decisions wait for it. nil:
	// nothing is logged.
	Log *zap.Logger
	// LogLevel is set to the least level that a resource manager asks for (the keys log.level and log.core.NAME.level of
	// its extra configuration, CFG-100), and back to the level that it has now. nil: those keys have no effect.
	LogLevel *zap.AtomicLevel
	// Now is the clock of the scheduler: of submission times, timeouts, events and the history. Timers
	// run in real time, so a clock that runs faster is noticed late. nil: time.Now.
	Now func() time.Time

	Applications Applications `negative:"none"` // how long applications without allocations are kept
	// StrictPriorityClasses rejects asks that have a priority and name no priority class. Existing shims
	// of YuniKorn name none.
	StrictPriorityClasses bool
	// AuditInterval is the time between two audits of each partition's accounting, in small steps between
	// decisions; Server.Health has the result. Default 1 min; negative: only when /healthz is asked for.
	AuditInterval time.Duration `negative:"none"`
	// Users says how the groups of users are found, for partitions that have a usergroupresolver.
	Users Users

	InProcess InProcess // for a resource manager in this process

	// CloseTimeout bounds the time of Server.Close. Default 10 s.
	CloseTimeout time.Duration

	// OptionName is the name of an option in the interface of the program, such as "--grpc-address" for
	// "GRPC.Address": errors and warnings use it. It is called with the names of fields as
	// OptionError.Option has them, and with "ReloadFile" for what calls that method. nil: the names of
	// the fields.
	OptionName func(field string) string

	levels     *logging.Levels // of Log, once the process has begun; nil: its level stays
	startLevel zapcore.Level   // of Log, when the process began
}

// Config says which configuration is in force, besides those that come later by Server.Reload or over REST.
type Config struct {
	// Text is the text of a queues.yaml, or of a ConfigMap with one. With Text or File, the configurations that
	// resource managers send are ignored. Without both, the latest configuration of DataDir is in force, or else the
	// default one, until a resource manager registers with another.
	Text string
	// Name says where Text is from, in log lines, errors and the history. Empty: not known. With a Name, an empty Text
	// is refused.
	Name string
	// File is the name of a file with such a text, instead of Text. It is read again when it changes, and by
	// Server.ReloadFile.
	File       string
	NotWatched bool         // a change of File is noticed by Server.ReloadFile only
	Limits     ConfigLimits // bound each configuration, of any source
	History    int          // how many configurations are remembered, the one in force included; default 50
	// Partitions names the partitions of the configuration that this process serves; empty: all. It needs a Text or a
	// File, which is the same for all processes, and must have them. Members of a group have the same Partitions
	// (docs/SCALE.md).
	Partitions []string
}

// hasText reports whether there is a Text, which may be empty.
func (c *Config) hasText() bool { return c.Text != "" || c.Name != "" }

// exists reports whether there is a Text or a File. Then the configurations of resource managers are ignored.
func (c *Config) exists() bool { return c.File != "" || c.hasText() }

// name returns the name of the configuration, for log lines and the history.
func (c *Config) name() string { return cmp.Or(c.File, c.Name) }

// field returns the field that has the configuration.
func (c *Config) field() string {
	if c.File != "" {
		return "Config.File"
	}
	return "Config.Text"
}

// ConfigLimits bound a configuration. A larger one is refused.
type ConfigLimits struct {
	MaxBytes  int // length of the text; default 8 MiB, 1 GiB at most
	MaxValues int // scalars, lists and mappings, estimated; each takes some 300 bytes to read; default 1,000,000
	MaxQueues int // in all partitions together; default 100,000
	MaxDepth  int // levels of queues, root included, and of placement rules; default 64
}

// GRPC configures the server for resource managers in other processes.
type GRPC struct {
	// Address is HOST:PORT to listen on; port 0 is a free one. Empty: there is no gRPC server. Without
	// Options.Security any client that reaches the address may register as the resource manager.
	Address        string
	MaxConnections int // further ones are closed; default 128

	MaxSilentStreams    int           // streams without a first message: when there are more, the oldest ends; default 16
	FirstMessageTimeout time.Duration // a stream ends whose first message has not arrived after this time; default 30 s

	MaxMessageBytes int // a longer message ends its stream; default 8 MiB, 1 GiB at most
	// nodes, applications, allocations and releases of a message: one with more ends its stream; default 100,000
	MaxMessageElements int
	DecodeBytes        int64 // memory for decoding messages, all together; default 256 MiB

	// MaxUndeliveredBytes are the unread answers of one kind of stream, in bytes, beyond which the
	// resource manager is not read; decisions pause at a quarter. Default 32 MiB.
	MaxUndeliveredBytes int
	UndeliveredTimeout  time.Duration // above that, a stream that is not read for this time ends; default 1 min
	// ManagerTimeout is the time for which a resource manager may have no stream before another one may register
	// in its place. Default 5 min.
	ManagerTimeout time.Duration
	// ReplaceManager: another resource manager may register at any time, in the place of one that is
	// connected too. A resource manager that was replaced so has to wait until its successor is gone.
	ReplaceManager bool
}

// HTTP configures the server of REST, metrics, event streams and the page. Except for Address, the settings are
// those of Server.Handler and of the admin listener too.
type HTTP struct {
	// Address is HOST:PORT to listen on; port 0 is a free one. Empty: there is no HTTP server. Clients
	// can change nothing; without Options.Security any client can read everything.
	Address         string
	MaxConnections  int // of each listener; a further one closes an idle one, or has status 503; default 512
	MaxLargeAnswers int // answers of more than 64 KiB that are written at the same time; default 32
	// a client that does not read 64 KiB in this time is disconnected; 1 s or more; default 10 s
	StallTimeout time.Duration
	// AllowedOrigins are the origins, such as https://page.example.org, whose web pages may read answers in a browser,
	// or * for all. Not of the admin listener. Empty: none.
	AllowedOrigins []string
	// HostNames are further names for which the listener of Address answers, such as that of a proxy or of a Kubernetes
	// service, or * for every name. An address, localhost and the name in Address need not be listed. A request for any
	// other name is refused (DNS rebinding), except for health and metrics. Handler does not check names: the server in
	// which it is mounted may.
	HostNames      []string
	MaxLiveStreams int // streams of changes for pages; default 256
	// WebRoot is a directory with another page, such as a build of yunikorn-web, that is served at / in place
	// of the embedded one. Start fails if it has no index.html. The admin listener serves the embedded page.
	WebRoot string
}

// Applications are the lifetimes of applications. For each of them, negative means zero.
type Applications struct {
	// without asks and allocations for this time, an application has completed; default 30 s
	CompletingTimeout  time.Duration
	NewTimeout         time.Duration // without any ask for this time, an application has completed; default: it stays
	CompletedRetention time.Duration // how long a completed application is shown; default 3 days
	RejectedRetention  time.Duration // how long a rejected application is shown; default 3 days
	MaxEnded           int           // completed, and rejected, applications of a partition that are shown; default 50,000
}

// InProcess is for a resource manager in this process that behaves as the shim of YuniKorn for Kubernetes does.
type InProcess struct {
	// RecoveryQuiet is for one that starts while its allocations run, and asks for new ones before it has reported them
	// all: after a registration nothing is decided until no allocation has been reported for this long since the first
	// application, or for 30 times as long whatever is reported, unless the first application comes later than twice
	// this long after the first schedulable node (RMI-80). Default 0: nothing is held back, which is right if nodes
	// become schedulable last.
	RecoveryQuiet time.Duration
	// PlacementsPerSecond is for one that calls another server for each placement: no partition places more than this
	// in a second, 32 of them without a pause (RMI-82). Default 0: there is no limit.
	PlacementsPerSecond int
}

// Usage says how the usage of queues, users and groups, and ended applications, are kept: in DataDir, or in memory if
// there is none.
type Usage struct {
	Interval time.Duration `negative:"none"` // between two samples; default 1 min; negative: nothing is kept
	MaxAge   time.Duration // older usage is deleted; default a year, in memory a day
	// of the database: the oldest usage is deleted when it is larger; default 1 GiB, in memory 64 MiB
	MaxBytes int64
}

// Users says how the groups of a user are found, for applications that come without groups. It concerns
// only partitions with a usergroupresolver; in others, a user is alone in a group of the same name.
type Users struct {
	// Lookup returns the groups of a user, soon after ctx ends at the latest, for partitions with any
	// usergroupresolver. Answers are cached for 5 min. It is called by several goroutines. nil: the
	// operating system, or a directory server (LDAP), as the usergroupresolver of the partition says.
	Lookup func(ctx context.Context, user string) (groups []string, err error)
	// LDAPSecrets is the directory with the settings of LDAP, one file each. A configuration that needs
	// them is refused when one is missing. Default /run/secrets/ldap.
	LDAPSecrets string
	// LookupTimeout bounds the time that an application waits for the groups of its user. Default 5 s.
	LookupTimeout time.Duration
}
