package usergroup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jellydator/ttlcache/v3"
)

// How long an answer is good (behaviour.md 9.4).
const (
	goodFor    = 300 * time.Second
	failureFor = 30 * time.Second // nobody can say
)

// DefaultTimeout is how long an answer may take when nothing else is said.
const DefaultTimeout = 5 * time.Second

// Source knows the groups of users.
type Source interface {
	// Groups lists the groups of user in any order. It returns soon after ctx ends. An
	// error means that nobody can say; a user without groups is none.
	Groups(ctx context.Context, user string) ([]string, error)
	fmt.Stringer // who it is, for a reason
}

// Options say how a Directory works. The zero value is good.
type Options struct {
	Timeout time.Duration // from question to answer; 0: DefaultTimeout
	Askers  int           // questions a Source is asked at the same time; 0: 64
	Known   uint64        // users whose answers are remembered; 0: 65,536
	Bytes   uint64        // what these answers may take together, roughly; 0: 128 MiB
}

// Directory answers questions about users out of a Source. It is safe for concurrent use.
type Directory struct {
	opt    Options
	source Source
	life   *life
	known  *ttlcache.Cache[string, answer] // cleaned when something is added: it has no goroutine

	mu     sync.Mutex           // guards the rest
	open   map[string]*question // by user: those without an answer
	line   []*question          // those nobody asks yet
	askers int
}

type answer struct {
	groups []string
	err    error
}

// bytesOf is about what an answer takes to remember.
func bytesOf(item ttlcache.CostItem[string, answer]) uint64 {
	const (
		entry = 256 // in the cache
		text  = 16  // besides its bytes
	)
	n := entry + len(item.Key)
	if item.Value.err != nil {
		n += len(item.Value.err.Error())
	}
	for _, g := range item.Value.groups {
		n += text + len(g)
	}
	return uint64(n)
}

// question is about one user, whoever wants to know.
type question struct {
	user  string
	until time.Time
	then  []func(groups []string, err error)
}

// NewDirectory returns a Directory that asks source, with a life of its own.
func NewDirectory(source Source, opt Options) *Directory { return newDirectory(source, opt, newLife()) }

// newDirectory returns a Directory that holds nothing but memory while nobody asks it: whoever
// does not want it any more forgets it.
func newDirectory(source Source, opt Options, l *life) *Directory {
	if opt.Timeout <= 0 {
		opt.Timeout = DefaultTimeout
	}
	if opt.Askers <= 0 {
		opt.Askers = 64
	}
	if opt.Known == 0 {
		opt.Known = 1 << 16
	}
	if opt.Bytes == 0 {
		opt.Bytes = 128 << 20
	}
	d := &Directory{opt: opt, source: source, life: l, open: map[string]*question{}}
	d.known = ttlcache.New(ttlcache.WithCapacity[string, answer](opt.Known),
		ttlcache.WithMaxCost(opt.Bytes, bytesOf), ttlcache.WithDisableTouchOnHit[string, answer]())
	return d
}

// Known is what can be said without asking anybody. ok is false when it has to be Found
// out; err says that nobody could say, a short while ago. The groups are in order and
// must not be changed.
func (d *Directory) Known(user string) (groups []string, ok bool, err error) {
	item := d.known.Get(user)
	if item == nil {
		return nil, false, nil
	}
	return item.Value().groups, true, item.Value().err
}

// Find finds out and tells then, once and on another goroutine, unless the Directory
// closes first. The wait for a turn counts in the time-out: a Source that hangs makes
// nobody wait longer than that.
func (d *Directory) Find(user string, then func(groups []string, err error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.over.Err() != nil {
		return
	}
	if q, ok := d.open[user]; ok {
		q.then = append(q.then, then)
		return
	}
	q := &question{user: user, until: time.Now().Add(d.opt.Timeout), then: []func([]string, error){then}}
	d.open[user] = q
	d.line = append(d.line, q)
	if d.askers < d.opt.Askers && d.life.spawn(d.ask) {
		d.askers++
	}
}

// Close ends the life of the Directory. When it returns, nobody is told anything any more.
func (d *Directory) Close() { d.life.close() }

// ask asks one question after the other, until there are none.
func (d *Directory) ask() {
	for q := d.next(); q != nil; q = d.next() {
		groups, known, err := d.Known(q.user) // somebody was told between two looks
		a := answer{groups, err}
		if !known {
			a = d.answer(q)
			d.remember(q, a)
		}
		for _, then := range d.answered(q) {
			then(a.groups, a.err)
		}
	}
}

func (d *Directory) next() *question {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.line) == 0 || d.life.over.Err() != nil {
		d.askers--
		return nil
	}
	q := d.line[0]
	d.line[0] = nil
	d.line = d.line[1:]
	return q
}

// answer asks the source.
func (d *Directory) answer(q *question) (a answer) {
	ctx, cancel := context.WithDeadline(d.life.over, q.until)
	defer cancel()
	defer func() {
		// What a Source reads comes from a network, through code that is not ours.
		if p := recover(); p != nil {
			a = answer{err: fmt.Errorf("%s: broken answer: %v", d.source, p)}
		}
	}()
	groups, err := d.source.Groups(ctx, q.user)
	if err == nil {
		groups, err = tidy(groups)
	}
	switch {
	case err == nil:
		return answer{groups: groups}
	case !time.Now().Before(q.until): // a dialer may notice before ctx does
		return answer{err: fmt.Errorf("%s: no answer within %s", d.source, d.opt.Timeout)}
	}
	return answer{err: fmt.Errorf("%s: %w", d.source, short(err))}
}

// short is an error without the end of a text that somebody else made very long.
func short(err error) error {
	const longest = 1 << 10
	if text := err.Error(); len(text) > longest {
		return errors.New(strings.ToValidUTF8(text[:longest], "") + "...")
	}
	return err
}

// remember keeps an answer, and forgets those that are not good any more: nobody else does.
func (d *Directory) remember(q *question, a answer) {
	if d.life.over.Err() != nil {
		return // it is no answer, but the end
	}
	ttl := goodFor
	if a.err != nil {
		ttl = failureFor
	}
	d.known.DeleteExpired()
	d.known.Set(q.user, a, ttl)
}

// answered closes a question and returns who has to be told: nobody, after the end.
func (d *Directory) answered(q *question) []func([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, q.user)
	if d.life.over.Err() != nil {
		return nil
	}
	return q.then
}
