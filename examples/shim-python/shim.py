#!/usr/bin/python3
"""A resource manager for the YuniKorn scheduler interface: it fills a cluster, loses an allocation to
preemption, survives a restart of the scheduler, and ends. Exit code 1: something went wrong."""
import argparse
import itertools
import pathlib
import queue
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "build"))  # what protoc made of the published interface
import grpc  # noqa: E402
import si_pb2 as si  # noqa: E402
import si_pb2_grpc  # noqa: E402

RM_ID, PARTITION = "shim-python", "default"
NODES = ["node-1", "node-2"]  # of 4 cores each
APPLICATIONS = {"batch": "root.batch", "service": "root.service"}


def amounts(cores):
    """Amounts are 1000ths of a core and bytes."""
    vcore, memory = si.Quantity(value=cores * 1000), si.Quantity(value=cores << 30)
    return si.Resource(resources={"vcore": vcore, "memory": memory})


class ShimError(Exception):
    pass


def check(holds, message):
    if not holds:
        raise ShimError(message)


class Shim:
    """What this shim knows. The scheduler keeps nothing over a restart, so all of it is reported again."""

    def __init__(self, addresses, timeout):
        self.addresses, self.timeout, self.channel, self.epoch = addresses, timeout, None, 0
        self.tasks = {}  # allocation key -> its message: without a node the task is pending
        self.preempted = []

    def until(self, what, condition):
        """Handle messages until a condition is true."""
        deadline = time.monotonic() + self.timeout
        while not condition():
            try:
                handle, message = self.inbox.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                raise ShimError(f"timeout: {what}") from None
            handle(message)

    def open(self, rpc, handle):
        """Open a stream. It stays open: answers and decisions come at any time."""
        outbox, inbox = queue.SimpleQueue(), self.inbox
        stream = rpc(iter(outbox.get, None))

        def read():
            try:
                for message in stream:
                    inbox.put((handle, message))
            except grpc.RpcError:
                pass  # the code and the details of the stream say it
            inbox.put((self.on_end, f"a stream ended: {stream.code().name} {stream.details()}"))
        threading.Thread(target=read, daemon=True).start()
        return outbox

    def on_end(self, why):
        self.lost = why
        check(self.expect_loss, why)

    def on_answer(self, field):
        """The handler of messages whose entries are accepted or rejected."""
        def handle(message):
            for entry in message.rejected:
                raise ShimError(f"{getattr(entry, field)} was rejected: {entry.reason}")
            self.accepted |= {getattr(entry, field) for entry in message.accepted}
        return handle

    def on_allocation(self, message):
        for ask in message.rejectedAllocations:
            raise ShimError(f"{ask.allocationKey} was rejected: {ask.reason}")
        for placed in message.new:
            key, node = placed.allocationKey, placed.nodeID
            check(key in self.tasks, f"unknown task {key} was placed")
            check(key not in self.confirmed, f"{key} was placed twice")
            before = self.tasks[key].nodeID
            check(before in ("", node), f"{key} runs on {before}, and the scheduler says {node}")
            print(f"kept: {key} on {node}" if before else f"allocated: {key} on {node}")
            self.tasks[key].nodeID = node
            self.confirmed.add(key)
        for gone in message.released:
            check(self.runs(gone.allocationKey), f"{gone.allocationKey} was released, and does not run")
            del self.tasks[gone.allocationKey]
            print(f"released: {gone.allocationKey} ({si.TerminationType.Name(gone.terminationType)})")
            if gone.terminationType == si.PREEMPTED_BY_SCHEDULER:
                self.release(gone)  # the same message confirms that the task has ended
                self.preempted.append(gone.allocationKey)

    def register(self):
        """Register. In a group of schedulers one leads: another one says where, or else the next address is
        tried. The epoch is that of the leader, and a lower one is of a leader that was replaced."""
        request = si.RegisterResourceManagerRequest(
            rmID=RM_ID, version="1.9.0", policyGroup="queues", config=(HERE / "queues.yaml").read_text())
        deadline = time.monotonic() + self.timeout
        for address in itertools.cycle(self.addresses):
            check(time.monotonic() < deadline, "timeout: a leader of the latest epoch")
            while address:
                if self.channel:
                    self.channel.close()
                self.channel = grpc.insecure_channel(address)
                scheduler = si_pb2_grpc.SchedulerStub(self.channel)
                try:
                    _, call = scheduler.RegisterResourceManager.with_call(request, timeout=self.timeout)
                    epoch = int(dict(call.initial_metadata()).get("canopy-epoch", 0))
                    if epoch >= self.epoch:
                        self.epoch = epoch
                        return scheduler
                    address = None
                except grpc.RpcError as err:
                    if err.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > deadline:
                        raise
                    address = dict(err.trailing_metadata() or ()).get("canopy-leader")
                time.sleep(0.1)

    def connect(self):
        """Register, which makes the scheduler forget what it knew, and report everything in the order that
        keeps what runs: unschedulable nodes, applications, what runs, what waits, schedulable nodes."""
        scheduler = self.register()
        self.inbox, self.lost, self.expect_loss = queue.SimpleQueue(), None, False
        self.accepted, self.confirmed = set(), set()  # by this registration
        self.node_stream = self.open(scheduler.UpdateNode, self.on_answer("nodeID"))
        self.app_stream = self.open(scheduler.UpdateApplication, self.on_answer("applicationID"))
        self.allocation_stream = self.open(scheduler.UpdateAllocation, self.on_allocation)
        self.allocate([])  # the first message names the resource manager: nothing is decided before
        self.send_nodes(si.NodeInfo.CREATE_DRAIN, schedulableResource=amounts(4),
                        attributes={"si/node-partition": PARTITION})
        user = si.UserGroupInformation(user="alice", groups=["developers"])
        self.app_stream.put(si.ApplicationRequest(rmID=RM_ID, new=[si.AddApplicationRequest(
            applicationID=app, queueName=name, partitionName=PARTITION, ugi=user)
            for app, name in APPLICATIONS.items()]))
        everything = {*NODES, *APPLICATIONS}
        self.until("nodes and applications are accepted", lambda: self.accepted == everything)
        running = {key for key in self.tasks if self.runs(key)}
        self.allocate(self.tasks[key] for key in running)
        self.until("what runs is known again", lambda: self.confirmed == running)
        self.allocate(task for key, task in self.tasks.items() if key not in running)
        self.send_nodes(si.NodeInfo.DRAIN_TO_SCHEDULABLE)

    def send_nodes(self, action, **fields):
        nodes = [si.NodeInfo(nodeID=node, action=action, **fields) for node in NODES]
        self.node_stream.put(si.NodeRequest(rmID=RM_ID, nodes=nodes))

    def submit_tasks(self, app, *keys):
        policy = si.PreemptionPolicy(allowPreemptSelf=app == "batch", allowPreemptOther=app == "service")
        for key in keys:
            self.tasks[key] = si.Allocation(allocationKey=key, applicationID=app, partitionName=PARTITION,
                                            resourcePerAlloc=amounts(1), preemptionPolicy=policy)
        self.allocate(self.tasks[key] for key in keys)

    def allocate(self, tasks):  # those with a node run already, those without one are asks
        self.allocation_stream.put(si.AllocationRequest(rmID=RM_ID, allocations=tasks))

    def release(self, gone):
        releases = si.AllocationReleasesRequest(allocationsToRelease=[gone])
        self.allocation_stream.put(si.AllocationRequest(rmID=RM_ID, releases=releases))

    def stop(self, key):
        self.release(si.AllocationRelease(partitionName=PARTITION, applicationID=self.tasks[key].applicationID,
                                          allocationKey=key, terminationType=si.STOPPED_BY_RM))

    def runs(self, *keys):
        return all(key in self.tasks and self.tasks[key].nodeID for key in keys)

    def run(self):
        self.connect()
        batch = [f"batch-{i}" for i in range(8)]
        self.submit_tasks("batch", *batch, "batch-8")  # one more than the nodes take
        self.until("the cluster is full", lambda: self.runs(*batch))
        self.stop("batch-0")
        self.until("the last replaces the first", lambda: "batch-0" not in self.tasks and self.runs("batch-8"))
        self.submit_tasks("service", "service-0")  # its queue is below its guarantee: it preempts
        self.until("the service preempts", lambda: self.preempted and self.runs("service-0"))
        self.submit_tasks("batch", "batch-again")  # the victim is tried again, and waits
        print("ready: kill the scheduler and start it again", flush=True)
        self.expect_loss = True
        self.until("the scheduler is killed", lambda: self.lost)
        print("lost:", self.lost)
        self.connect()
        print(f"recovered: {len(self.tasks)} tasks")
        self.stop("service-0")
        self.until("the waiting task runs", lambda: self.runs("batch-again"))
        check(len(self.tasks) == 8 and len(self.preempted) == 1, f"{len(self.tasks)} run, {self.preempted} ended")
        print("running:", *sorted(f"{key}={task.nodeID}" for key, task in self.tasks.items()), flush=True)
        self.app_stream.put(si.ApplicationRequest(rmID=RM_ID, remove=[
            si.RemoveApplicationRequest(applicationID=app, partitionName=PARTITION) for app in APPLICATIONS]))
        self.until("everything is released", lambda: not self.tasks)
        self.expect_loss = True
        for stream in (self.node_stream, self.app_stream, self.allocation_stream):
            stream.put(None)  # half-closes it
        self.until("the streams end", lambda: self.lost)


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--address", default="127.0.0.1:3333", help="gRPC address of the scheduler; several of a group, with commas")
    flags.add_argument("--timeout", type=float, default=30, help="seconds for each step")
    args = flags.parse_args()
    try:
        Shim(args.address.split(","), args.timeout).run()
    except (ShimError, grpc.RpcError) as err:
        sys.exit(f"shim-python: {err.details() if isinstance(err, grpc.RpcError) else err}")  # exit code 1
    print("done")


if __name__ == "__main__":
    main()
