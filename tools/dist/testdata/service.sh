#!/bin/sh
# It runs on a booted Debian with systemd on which canopy.deb and shim.deb are installed, and says "passed" last in
# /service.log.
exec >/service.log 2>&1
set -eux

wait_for() {
	for _ in $(seq 100); do
		if "$@"; then return; fi
		sleep 0.2
	done
	journalctl --no-pager -u canopy -u canopy-shim-kubernetes
	exit 1
}
serves() { canopy queues | grep "$1"; }

wait_for serves ' default '
[ "$(stat -c '%U %a' /var/lib/canopy/config.db)" = 'canopy 600' ]
grep -x 'NoNewPrivs:	1' "/proc/$(systemctl show -p MainPID --value canopy)/status"

# A changed configuration is in force without a reload, and a reload changes nothing.
echo '          - name: batch' >>/etc/canopy/queues.yaml
wait_for serves ' batch '
systemctl reload canopy
serves ' batch '

# Options that the file describes work within the sandbox.
sed -i 's|^CANOPY_OPTIONS=.*|CANOPY_OPTIONS="--admin --admin-listen unix:/run/canopy/admin.sock --record /var/lib/canopy/recording"|' \
	/etc/default/canopy
systemctl restart canopy
wait_for test -S /run/canopy/admin.sock
wait_for test -d /var/lib/canopy/recording
serves ' batch '

# A crash is repaired, an invalid option is not tried again.
kill -9 "$(systemctl show -p MainPID --value canopy)"
restarted() { [ "$(systemctl show -p NRestarts --value canopy)" = 1 ]; }
wait_for restarted
wait_for serves ' batch '
sed -i 's|^CANOPY_OPTIONS=.*|CANOPY_OPTIONS="--nonsense"|' /etc/default/canopy
systemctl restart canopy
wait_for systemctl --quiet is-failed canopy
[ "$(systemctl show -p ExecMainStatus --value canopy)" = 2 ]
sed -i 's|^CANOPY_OPTIONS=.*|CANOPY_OPTIONS=""|' /etc/default/canopy

# The shim is started by hand. It gets the kubeconfig that root alone may read, and waits for its cluster.
shim=canopy-shim-kubernetes
if systemctl --quiet is-enabled $shim; then exit 1; fi
install -D -m 600 /dev/stdin /etc/$shim/kubeconfig <<-EOF
	{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
	clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {token: t}}]}
EOF
systemctl start $shim
asks_the_cluster() { journalctl --no-pager -u $shim | grep 'the API server did not answer' && systemctl --quiet is-active $shim; }
wait_for asks_the_cluster
dpkg -i /shim.deb
wait_for asks_the_cluster
dpkg -P $shim
if systemctl --quiet is-active $shim; then exit 1; fi
[ ! -e /etc/$shim ]

# An upgrade keeps what was edited and restarts, a removal stops, a purge leaves nothing.
dpkg -i --force-confold /canopy.deb
wait_for serves ' batch '
dpkg -r canopy
if systemctl --quiet is-active canopy; then exit 1; fi
dpkg -P canopy
[ ! -e /var/lib/canopy ] && [ ! -e /etc/canopy ]
echo passed
