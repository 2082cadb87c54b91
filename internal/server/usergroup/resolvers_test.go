package usergroup

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

func TestResolvers_ForPartition(t *testing.T) {
	dir := writeSettings(t, "127.0.0.1", "1", nil)
	x := NewResolvers(dir, Options{})
	t.Cleanup(x.Close)
	none, err := x.For("", nil)
	assert.NilError(t, err)
	assert.Assert(t, none == nil)
	_, err = x.For("active-directory", nil)
	assert.Error(t, err, `unknown user group resolver "active-directory"`)

	p, err := x.For("ldap", nil)
	assert.NilError(t, err)
	q, err := x.For("ldap", nil)
	assert.NilError(t, err)
	assert.Assert(t, p != q, "each partition has a cache of its own")
	system, err := x.For("os", p)
	assert.NilError(t, err)
	assert.Assert(t, system != p)
	again, err := x.For("os", system)
	assert.NilError(t, err)
	assert.Assert(t, again == system)

	resultErr := make(chan error, 1)
	p.Resolve("ann", func(_ []string, err error) { resultErr <- err })
	assert.ErrorContains(t, <-resultErr, "ldap://127.0.0.1:1: ")
	again, err = x.For("ldap", p)
	assert.NilError(t, err)
	_, known, _ := again.Cached("ann")
	assert.Assert(t, again == p && known, "the same settings keep the Resolver and its cache")

	assert.NilError(t, os.WriteFile(filepath.Join(dir, "Port"), []byte("2"), 0o600))
	again, err = x.For("ldap", p)
	assert.NilError(t, err)
	_, known, _ = again.Cached("ann")
	assert.Assert(t, again != p && !known, "other settings make a new Resolver")
	_, known, _ = p.Cached("ann")
	assert.Assert(t, known, "the current Resolver keeps its cache: the configuration may still be refused")

	assert.NilError(t, os.Remove(filepath.Join(dir, "Port")))
	_, err = x.For("ldap", p)
	assert.ErrorContains(t, err, "missing: Port")
}

// An unused Resolver is garbage, however many reloads there are.
func TestResolver_UnusedIsGarbageCollected(t *testing.T) {
	x := NewResolvers(t.TempDir(), Options{})
	t.Cleanup(x.Close)
	const made = 20
	collected := make(chan int, made)
	for i := range made {
		d, err := x.For("os", nil)
		assert.NilError(t, err)
		resultErr := make(chan error, 1)
		d.Resolve("no:such/user", func(_ []string, err error) { resultErr <- err })
		assert.ErrorContains(t, <-resultErr, "there is no user")
		runtime.AddCleanup(d, func(i int) { collected <- i }, i)
	}
	x.lifetime.running.Wait() // the workers
	for n := 0; n < made; {
		runtime.GC()
		select {
		case <-collected:
			n++
		default:
			runtime.Gosched() // the time-out of go test ends an endless loop
		}
	}
}

// A Resolver that was replaced still finishes its lookups, until Close.
func TestResolver_UnusedStillAnswersPendingLookups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, a := NewResolvers(t.TempDir(), Options{}), &resultRecorder{}
		x.osSource.lookupGroups = func(user string) ([]string, error) {
			time.Sleep(time.Second)
			return []string{user + "s"}, nil
		}
		d, err := x.For("os", nil)
		assert.NilError(t, err)
		d.Resolve("ann", a.callback("ann"))
		none, err := x.For("", d)
		assert.NilError(t, err)
		assert.Assert(t, none == nil)
		d = nil
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, a.result("ann"), "[anns]")

		late, err := x.For("os", d)
		assert.NilError(t, err)
		late.Resolve("bob", a.callback("bob"))
		x.Close()
		late.Resolve("eve", a.callback("eve"))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, a.count(""), 1, "a callback was called after Close")
	})
}

// A hanging call of the operating system keeps a thread, so calls are bounded for the
// process and not for a Resolver (ACL-38).
func TestResolvers_ShareOSCalls(t *testing.T) {
	x := NewResolvers(t.TempDir(), Options{})
	t.Cleanup(x.Close)
	p, err := x.For("os", nil)
	assert.NilError(t, err)
	q, err := x.For("os", nil)
	assert.NilError(t, err)
	assert.Assert(t, p != q && p.source == q.source)
	assert.Equal(t, cap(p.source.(*osSource).calls), maxOSCalls)
}
