package objects_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/canopy-scheduler/canopy/pkg/configs/queuesyaml"
	"github.com/canopy-scheduler/canopy/pkg/objects"
	"github.com/canopy-scheduler/canopy/pkg/security"
)

const manyLists = `
partitions:
  - name: default
    queues:
      - name: root
        adminacl: boss
        queues:
          - name: open
            submitacl: '*'
          - name: team
            submitacl: alice dev,data.science
            adminacl: ' leads'
            queues:
              - name: batch
                submitacl: system:serviceaccount:spark:driver
              - name: closed
          - name: '@recovery@'
            submitacl: '*'
`

func testUser(name string, groups ...string) security.User {
	return security.User{Name: name, Groups: groups}
}

func aclPartition(t *testing.T) *objects.Partition {
	t.Helper()
	conf, problems := queuesyaml.Load([]byte(manyLists))
	assert.Assert(t, conf != nil, "%v", problems)
	return objects.NewPartition(conf.Partitions[0])
}

func TestSubmitACL_MaySubmit(t *testing.T) {
	p := aclPartition(t)
	for _, c := range []struct {
		name  string
		user  security.User
		queue objects.QueuePath
		want  bool
	}{
		{"ACL-2: a star allows every user", testUser("eve"), "root.open", true},
		{"ACL-7: the submitacl of the queue names the user", testUser("alice"), "root.team", true},
		{"ACL-7: or one of the groups", testUser("eve", "qa", "data.science"), "root.team", true},
		{"ACL-8: the adminacl of the queue gives access", testUser("eve", "leads"), "root.team", true},
		{"ACL-7: access to the queue above is access", testUser("alice"), "root.team.closed", true},
		{"ACL-7: up to root", testUser("boss"), "root.team.closed", true},
		{"ACL-7: access to a sibling is none", testUser("system:serviceaccount:spark:driver"), "root.team.closed", false},
		{"ACL-4: a service account can be named", testUser("system:serviceaccount:spark:driver"), "root.team.batch", true},
		{"ACL-7: access to a child is no access to the parent", testUser("system:serviceaccount:spark:driver"), "root.team",
			false},
		{"ACL-5: a user is not a group", testUser("dev"), "root.team", false},
		{"ACL-5: nor a group a user", testUser("eve", "alice"), "root.team", false},
		{"ACL-5: names match with their case", testUser("Alice"), "root.team", false},
		{"ACL-3: an empty list allows no user", testUser("eve"), "root", false},
		{"ACL-10: no user has access to the recovery queue, whatever its list says", testUser("boss"), "root.@recovery@",
			false},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, ok := p.Queue(c.queue)
			assert.Assert(t, ok)
			assert.Equal(t, q.MaySubmit(c.user), c.want)
			assert.Equal(t, p.SubmitDenyReason(string(c.queue), c.user) == "", c.want)
		})
	}
}

func TestSubmitACL_RefusalNamesCheckedLists(t *testing.T) {
	p := aclPartition(t)
	many := testUser("eve")
	for i := range 20 {
		many.Groups = append(many.Groups, fmt.Sprint("g", i))
	}
	for _, c := range []struct {
		name string
		user security.User
		path string
		want string
	}{
		{"ACL-14: the queue and all above it", testUser("eve"), "root.team.closed",
			"user eve has no submit access to root.team.closed (submitacl of root.team.closed, root.team, root)"},
		{"ACL-14: for a missing queue its lowest existing ancestor", testUser("eve", "eve"), "root.team.new.x",
			"user eve has no submit access to root.team, below which root.team.new.x would be created (submitacl of " +
				"root.team, root)"},
		{"the groups say whether the user was resolved as expected", testUser("eve", "qa", "ops"), "root.team",
			"user eve has no submit access to root.team (submitacl of root.team, root; groups of eve: qa, ops)"},
		{"at most 8 groups are named", many, "root.team",
			"user eve has no submit access to root.team (submitacl of root.team, root; groups of eve: g0, g1, g2, g3, g4, g5, " +
				"g6, g7 and 12 more)"},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, p.SubmitDenyReason(c.path, c.user), c.want) })
	}
}

func TestSubmitACL_DeepQueueRefusalIsShort(t *testing.T) {
	p := aclPartition(t)
	assert.NilError(t, p.CreateLeaf("root.team.a.b.c.d.e.f.g", testUser("alice")))
	got := p.SubmitDenyReason("root.team.a.b.c.d.e.f.g", testUser("eve"))
	assert.Equal(t, got, "user eve has no submit access to root.team.a.b.c.d.e.f.g "+
		"(submitacl of root.team.a.b.c.d.e.f.g and of all 8 queues above it)")
}

// ACL-12: CreateLeaf checks submit access itself, whatever placement has decided.
func TestCreateLeaf_RequiresSubmitAccess(t *testing.T) {
	p := aclPartition(t)
	err := p.CreateLeaf("root.team.new.x", testUser("eve"))
	assert.Error(t, err, "queue root.team.new.x cannot be created: user eve has no submit access to root.team, "+
		"below which root.team.new.x would be created (submitacl of root.team, root)")
	_, made := p.Queue("root.team.new")
	assert.Assert(t, !made, "part of the path was created")
	assert.NilError(t, p.CreateLeaf("root.team.new.x", testUser("eve", "dev")))
	q, ok := p.Queue("root.team.new.x")
	assert.Assert(t, ok)
	assert.Assert(t, q.MaySubmit(testUser("alice")) && !q.MaySubmit(testUser("eve")),
		"the lists of the queues above apply")
	assert.NilError(t, p.Check())

	err = p.CreateLeaf("root.@recovery@.x", testUser("boss"))
	assert.Assert(t, err != nil && strings.Contains(err.Error(), "no submit access to root.@recovery@"), "%v", err)
}
