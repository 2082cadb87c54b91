package usage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Options are the bounds of a Store. The zero value means the defaults.
type Options struct {
	MaxAge   time.Duration // older usage is deleted; 0: a day in memory, a year on disk
	MaxBytes int64         // of the database; the oldest usage is deleted when it is larger; 0: DefaultMaxBytes
}

// The defaults of Options, and what they are in memory.
const (
	DefaultMaxAge   = 365 * 24 * time.Hour
	DefaultMaxBytes = 1 << 30
	memoryMaxAge    = 24 * time.Hour
	memoryMaxBytes  = 64 << 20
	openTimeout     = time.Second // for the lock of another process, like the next
	connectionsRead = 2
	fileName        = "usage.db"
	fileFormat      = "canopy usage history 1"
	maxPendingEnded = 10_000 // ended applications that wait for a disk that takes nothing
	sqliteCacheKiB  = 4096
	walPagesBetween = 1000
	modeOfFile      = 0o600
	modeOfDirectory = 0o700
)

// Store keeps samples and ended applications in an SQLite database: a file, or memory. One goroutine may write; any
// number may read at the same time.
type Store struct {
	file    string  // empty: in memory
	write   *sql.DB // one connection
	read    *sql.DB // of a file: connections of their own, so that a reader does not wait for a writer
	opt     Options
	session int64 // when it was opened, in milliseconds since 1970

	// Only the writer uses the fields below.
	partitions map[string]*written
	levels     []rollUpState
}

// schema is the database. A row of step says what a series has from then on, until its next row: a row is written when
// something changes. covered has the times for which samples are known. Times are milliseconds since 1970.
const schema = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE series (id INTEGER PRIMARY KEY, partition TEXT NOT NULL, kind INTEGER NOT NULL, name TEXT NOT NULL,
	UNIQUE (partition, kind, name));
CREATE TABLE step (series INTEGER NOT NULL, at INTEGER NOT NULL, v TEXT NOT NULL,
	PRIMARY KEY (series, at)) WITHOUT ROWID;
CREATE INDEX step_at ON step (at);
CREATE TABLE covered (partition TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL,
	PRIMARY KEY (partition, since)) WITHOUT ROWID;
CREATE TABLE application (partition TEXT NOT NULL, finished INTEGER NOT NULL, id TEXT NOT NULL,
	session INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (partition, finished, id)) WITHOUT ROWID;
`

// Open opens the store in a directory, and creates both if they do not exist. An empty directory name means in memory.
// A file that is damaged, locked, or of another format or program is an error that names the file; it is not changed
// then (USG-9). That a directory is used by one process at a time is left to the caller.
func Open(dir string, opt Options, now time.Time) (*Store, error) {
	s := &Store{session: now.UnixMilli(), partitions: map[string]*written{}}
	s.opt = Options{MaxAge: orDefault(opt.MaxAge, memoryMaxAge), MaxBytes: orDefault(opt.MaxBytes, memoryMaxBytes)}
	if dir != "" {
		s.opt = Options{MaxAge: orDefault(opt.MaxAge, DefaultMaxAge), MaxBytes: orDefault(opt.MaxBytes, DefaultMaxBytes)}
		if err := os.MkdirAll(dir, modeOfDirectory); err != nil {
			return nil, err
		}
		s.file = filepath.Join(dir, fileName)
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("the history of usage %s cannot be used: %w", s.file, err), s.Close())
	}
	return s, nil
}

func orDefault[N int64 | time.Duration](n, fallback N) N {
	if n <= 0 {
		return fallback
	}
	return n
}

func (s *Store) open() (err error) {
	if s.file == "" {
		if s.write, err = sql.Open("sqlite", ":memory:"); err != nil {
			return err
		}
		s.write.SetMaxOpenConns(1)
		s.read = s.write
		if _, err = s.write.Exec("PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
		return s.initialize()
	}
	if err := createFile(s.file); err != nil {
		return err
	}
	name := "file:" + (&url.URL{Path: s.file}).EscapedPath()
	pragmas := fmt.Sprintf("_pragma=busy_timeout(%d)&_pragma=cache_size(-%d)", openTimeout.Milliseconds(), sqliteCacheKiB)
	if s.write, err = sql.Open("sqlite", name+"?"+pragmas+"&_txlock=immediate"); err != nil {
		return err
	}
	s.write.SetMaxOpenConns(1)
	if err := s.checkFile(); err != nil {
		return err
	}
	if s.read, err = sql.Open("sqlite", name+"?"+pragmas+"&_pragma=query_only(1)"); err != nil {
		return err
	}
	s.read.SetMaxOpenConns(connectionsRead)
	return nil
}

// createFile creates the file if it does not exist, so that it gets its mode before the library writes to it. One
// without content is left of a damaged database, and is no new one.
func createFile(name string) error {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
		return errors.New("it is damaged: it is empty; remove it to begin anew")
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, modeOfFile)
	if err != nil {
		return err
	}
	return f.Close()
}

// checkFile makes a new file ready, or checks one that exists before anything is written to it.
func (s *Store) checkFile() error {
	var tables int
	if err := s.write.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return damaged(err)
	}
	if tables == 0 {
		if _, err := s.write.Exec("PRAGMA auto_vacuum = INCREMENTAL"); err != nil {
			return err
		}
	} else {
		var format string
		err := s.write.QueryRow("SELECT value FROM meta WHERE name = 'format'").Scan(&format)
		switch {
		case err != nil && tables > 0 && !s.hasTable("meta"):
			return errors.New("it is a database of another program")
		case err != nil:
			return damaged(err)
		case format != fileFormat:
			return fmt.Errorf("it is not of the format %q but %q", fileFormat, format)
		}
	}
	for _, p := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL",
		fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", walPagesBetween)} {
		if _, err := s.write.Exec(p); err != nil {
			return err
		}
	}
	if tables == 0 {
		return s.initialize()
	}
	return s.load()
}

// damaged says that the file is damaged, unless err says that it is locked.
func damaged(err error) error { return fmt.Errorf("it cannot be read, or is damaged: %w", err) }

func (s *Store) hasTable(name string) bool {
	var n int
	err := s.write.QueryRow("SELECT count(*) FROM sqlite_schema WHERE name = ?", name).Scan(&n)
	return err == nil && n > 0
}

// initialize creates the tables.
func (s *Store) initialize() error {
	return s.transaction(func(tx *sql.Tx) error {
		if _, err := tx.Exec(schema); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO meta VALUES ('format', ?)", fileFormat)
		s.levels = newLevels()
		return err
	})
}

// transaction does all of do, or nothing.
func (s *Store) transaction(do func(tx *sql.Tx) error) error {
	tx, err := s.write.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Close closes the database. Requires: nothing writes any more.
func (s *Store) Close() error {
	var all []error
	if s.read != nil && s.read != s.write {
		all = append(all, s.read.Close())
	}
	if s.write != nil {
		all = append(all, s.write.Close())
	}
	return errors.Join(all...)
}
