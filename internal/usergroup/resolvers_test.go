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
	assert.Assert(t, p != q, "each partition has a memory of its own")
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
	assert.Assert(t, again == p && known, "the same settings keep what is known")

	assert.NilError(t, os.WriteFile(filepath.Join(dir, "Port"), []byte("2"), 0o600))
	again, err = x.For("ldap", p)
	assert.NilError(t, err)
	_, known, _ = again.Cached("ann")
	assert.Assert(t, again != p && !known, "other settings do not")
	_, known, _ = p.Cached("ann")
	assert.Assert(t, known, "what is in use stays as it is: the configuration may be refused yet")

	assert.NilError(t, os.Remove(filepath.Join(dir, "Port")))
	_, err = x.For("ldap", p)
	assert.ErrorContains(t, err, "missing: Port")
}

// What nobody uses any more is garbage, however often configurations come and go.
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
	x.lifetime.running.Wait() // those who have answered, on their way out
	for n := 0; n < made; {
		runtime.GC()
		select {
		case <-collected:
			n++
		default:
			runtime.Gosched() // the package's time-out fails the test
		}
	}
}

// One that is not used on still answers who asked before, until the end of all.
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
		assert.Equal(t, a.count(""), 1, "nobody is told after the end")
	})
}

// A call of the operating system that hangs keeps a thread, so they are bounded for the
// process, whatever configurations come and go meanwhile.
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
