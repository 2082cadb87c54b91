package own

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// envManifests is the folder deploy/kubernetes.
const envManifests = "CANOPY_MANIFESTS"

// The API server accepts the manifests, without a field that it does not know.
func TestManifests_AreAccepted(t *testing.T) {
	c := connect(t, "manifests")
	base := strings.ReplaceAll(c.rendered("base"), "namespace: yunikorn\n", "namespace: manifests\n")
	base = strings.Replace(base, "  name: yunikorn\n---", "  name: manifests\n---", 1) // the namespace itself
	c.kubectl(base, "apply", "--validate=strict", "-f", "-")
	t.Cleanup(func() { c.kubectl(base, "delete", "--wait=false", "-f", "-") })
	secure := strings.ReplaceAll(c.rendered("secure"), "namespace: yunikorn\n", "namespace: manifests\n")
	c.kubectl(secure, "apply", "--validate=strict", "--dry-run=server", "-f", "-")
}

// The roles of the manifests, with none of YuniKorn's, are enough to place pods, to preempt, and to create and replace
// the placeholders of a gang.
func TestManifests_RolesAreEnough(t *testing.T) {
	c := connect(t, "roles")
	var roles strings.Builder // the service account is there already
	for _, document := range strings.Split(c.rendered("base"), "\n---\n") {
		if strings.Contains(document, "\nkind: ClusterRole") || strings.Contains(document, "\nkind: Role") {
			roles.WriteString(document + "\n---\n")
		}
	}
	c.dropRoles("yunikorn-admin")
	c.kubectl(roles.String(), "apply", "-f", "-")
	t.Cleanup(func() { c.kubectl(roles.String(), "delete", "-f", "-") })
	c.restart("")

	c.create("roles", "large", "root.large", 20, "1")
	c.untilPlaced("roles", 16) // of 16 CPU
	c.create("roles", "urgent", "root.urgent", 2, "1")
	c.until("two urgent pods are bound", func(ctx context.Context) error {
		if got := c.placed(ctx, "roles"); got["urgent-0"] == "" || got["urgent-1"] == "" {
			return fmt.Errorf("%v", got)
		}
		return nil
	})
	zero := int64(0)
	assert.NilError(t,
		c.client.CoreV1().Pods("roles").DeleteCollection(t.Context(), metav1.DeleteOptions{GracePeriodSeconds: &zero},
			metav1.ListOptions{}))
	c.createWith("roles", "gang", "root.gang", 1, "1", func(p *v1.Pod) {
		p.Annotations = map[string]string{
			"yunikorn.apache.org/task-group-name": "workers",
			"yunikorn.apache.org/task-groups":     `[{"name": "workers", "minMember": 3, "minResource": {"cpu": "1"}}]`,
		}
	})
	placed := c.untilPlaced("roles", 3) // two placeholders are left
	assert.Assert(t, placed["gang-0"] != "", "%v", placed)
	assert.Equal(t, count(placed, "tg-"), 2)
}

// dropRoles takes all roles from a service account of the namespace yunikorn, until the end of the test.
func (c *cluster) dropRoles(account string) {
	c.t.Helper()
	bindings := c.client.RbacV1().ClusterRoleBindings()
	list, err := bindings.List(c.t.Context(), metav1.ListOptions{})
	assert.NilError(c.t, err)
	dropped := 0
	for _, b := range list.Items {
		if len(b.Subjects) != 1 || b.Subjects[0].Name != account || b.Subjects[0].Namespace != "yunikorn" {
			continue
		}
		dropped++
		again := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: b.Name}, RoleRef: b.RoleRef,
			Subjects: b.Subjects}
		assert.NilError(c.t, bindings.Delete(c.t.Context(), b.Name, metav1.DeleteOptions{}))
		c.t.Cleanup(func() {
			_, err := bindings.Create(context.Background(), again, metav1.CreateOptions{})
			assert.Check(c.t, err)
		})
	}
	assert.Assert(c.t, dropped > 0, "%s has no roles", account)
}

// rendered are the manifests of a folder of deploy/kubernetes.
func (c *cluster) rendered(folder string) string {
	c.t.Helper()
	return c.kubectl("", "kustomize", filepath.Join(os.Getenv(envManifests), folder))
}

// kubectl runs kubectl with an input, and returns what it writes.
func (c *cluster) kubectl(input string, args ...string) string {
	c.t.Helper()
	k := exec.Command("kubectl", args...)
	k.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(c.folder, "kubeconfig"))
	k.Stdin = strings.NewReader(input)
	var problems strings.Builder
	k.Stderr = &problems
	out, err := k.Output()
	assert.NilError(c.t, err, "kubectl %v: %s", args, problems.String())
	return string(out)
}
