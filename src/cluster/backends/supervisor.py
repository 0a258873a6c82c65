"""Containers of a session on the nodes of a Ray cluster: the program of ray_backend.cpp, which carries it as text.

Descriptor 0 is a socket to the session's process. Messages are lines of fields that '\\0' ends; the first field is the kind:

  to here    begin ADDRESS THREADS | program EXECUTABLE NAME [MODULE...] | listen ADDRESS TOKEN | start NUMBER RUN | kill NUMBER RUN
  from here  ready CONTAINERS HOST ONE-MACHINE | started NUMBER RUN PLACE | ended NUMBER RUN HOW | failed WHY

The session's process may be killed: its end of the socket closes, and everything here ends with it. Ray ends actors and placement groups
of a driver that is killed itself; containers end when their actor's process does, or when the session does. No file is written: a
program runs from memory of its process (memfd).
"""
import os
import platform
import socket
import sys
import threading
import time

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy, PlacementGroupSchedulingStrategy

START_LIMIT = 60.0  # seconds: a worker of Ray's imports Python's modules from disks of any speed
PLACE_LIMIT = 20.0
SILENCE_LIMIT = 1.5
RETRY_LIMIT = 10.0  # on a node that may be gone without Ray knowing yet

# What compilers use when they are told that a program need not run elsewhere (-march=native).
CPU_FEATURES = {
    "sse3", "pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe", "adx", "sha_ni",
    "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile",
    "asimd", "sve", "sve2",
}


def cpu_features():
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith(("flags", "Features")):
                return CPU_FEATURES.intersection(line.split(":", 1)[1].split())
    return set()


class Container:
    """An actor: one container, a child of its process. Self-contained, as Ray sends it to other nodes by value."""

    def __init__(self):
        self.run, self.child, self.done, self.errors, self.failure = 0, None, None, b"", None

    def start(self, run, files, argument, invitation, environment, machine, features):
        import os
        import platform
        import socket
        import subprocess
        import threading

        if platform.machine() != machine:
            raise RuntimeError(f"the node is another machine: {platform.machine()}, and the program is for {machine}")
        with open("/proc/cpuinfo") as info:
            has = next((line.split(":", 1)[1].split() for line in info if line.startswith(("flags", "Features"))), [])
        missing = sorted(set(features) - set(has))
        if missing:
            raise RuntimeError("its processor lacks " + " ".join(missing) + "; if the program needs none of it: QUERY_CLUSTER_ANY_CPU=1")
        self.kill(self.run)
        self.run = run
        own, theirs = socket.socketpair()
        descriptors = []
        for name, text in files:
            try:
                fd = os.memfd_create(name, 0x10)  # MFD_EXEC, of Linux 6.3
            except OSError:
                fd = os.memfd_create(name, 0)
            descriptors.append(fd)
            view = memoryview(text)
            while view:
                view = view[os.write(fd, view):]
        paths = [f"/proc/self/fd/{fd}" for fd in descriptors]
        env = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "QUERY_", "LD_", "PYTHON")) and k != "OMP_NUM_THREADS"}
        env.update(environment)
        env["LD_PRELOAD"] = ":".join(paths[1:])
        env["QUERY_CONTAINER"] = f"invited:{theirs.fileno()}"
        begun, done = threading.Event(), threading.Event()
        self.child, self.done, self.errors, self.failure = None, done, b"", None
        state = self

        # The child ends with the thread that started it, which so has to wait for it.
        def keep():
            try:
                child = state.child = subprocess.Popen([argument], executable=paths[0], env=env, pass_fds=[theirs.fileno(), *descriptors],
                                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
            except OSError as e:
                state.failure = e
                begun.set()
                return
            finally:
                theirs.close()
                for fd in descriptors:
                    os.close(fd)
            begun.set()
            while text := os.read(child.stderr.fileno(), 65536):
                state.errors = (state.errors + text)[-2000:]
                os.write(2, text)
            child.wait()
            done.set()

        threading.Thread(target=keep, daemon=True).start()
        begun.wait()
        if self.failure:
            raise self.failure
        own.sendall(invitation.encode())
        own.close()
        return f"{platform.node()}, process {self.child.pid}"

    def wait(self):
        child = self.child
        self.done.wait()
        status, text = child.returncode, self.errors.decode(errors="replace").strip()
        how = f"ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return how + (": " + text if text and status > 0 else "")

    def kill(self, run):
        child, done = self.child, self.done
        if run == self.run and child and not done.is_set():
            child.kill()
            done.wait(5)


class Session:
    def __init__(self, control):
        self.control = control
        self.lock = threading.Lock()
        self.address, self.threads = "", 0
        self.program = []  # executable, its name, modules
        self.files = None
        self.preparing, self.refused = threading.Lock(), None
        self.invitation = ""
        self.group, self.homes = None, []  # the nodes of the group's bundles
        self.actors = {}  # by number: (actor, node)

    def say(self, *fields):
        line = b"".join(str(f).replace("\n", " ").replace("\0", " ").encode() + b"\0" for f in fields) + b"\n"
        with self.lock:
            try:
                self.control.sendall(line)
            except OSError:
                pass  # the session has ended: so do we

    # ------------------------------------------------------------------ nodes
    def begin(self, address, threads):
        self.address, self.threads = address, int(threads)
        if why := self.head_lost(5):
            raise RuntimeError(f"no Ray cluster at {address}: {why}")
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", configure_logging=True)
        except Exception as e:
            raise RuntimeError(f"{first_line(e)} (each host of the cluster, this one too, needs a node: ray start --address={address})")
        self.here = ray.get_runtime_context().get_node_id()
        nodes = [n for n in self.living() if answers(n)]
        others = [n for n in nodes if n["NodeID"] != self.here and n["Resources"].get("CPU", 0) >= 1]
        self.homes = others or [n for n in nodes if n["NodeID"] == self.here]
        hosts = {n["NodeManagerAddress"] for n in nodes}
        own = next(n["NodeManagerAddress"] for n in nodes if n["NodeID"] == self.here)
        one = int(len(hosts) == 1)
        self.say("ready", len(self.homes), "127.0.0.1" if one else own, one)

    def head_lost(self, limit):
        host, _, port = self.address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), limit).close()
        except OSError as e:
            return e.strerror or str(e)
        return ""

    def living(self):
        return sorted((n for n in ray.nodes() if n["Alive"]), key=lambda n: (n["NodeManagerAddress"], n["NodeID"]))

    def prepare(self, run):
        """Before the first container: a session that runs no query holds no processors."""
        with self.preparing:
            if self.files:
                return
            if self.refused and self.refused[0] == run:  # the same query's: it waited with the others
                raise self.refused[1]
            try:
                self.reserve()
                self.ship()
            except Exception as e:
                self.refused = (run, e)
                raise

    def reserve(self):
        cpus = [self.threads or int(n["Resources"].get("CPU", 0)) for n in self.homes]
        self.cpus = cpus
        self.group = placement_group([{"CPU": c} if c else {"node:" + n["NodeManagerAddress"]: 0.001} for c, n in zip(cpus, self.homes)],
                                     strategy="STRICT_SPREAD", bundle_label_selector=[{"ray.io/node-id": n["NodeID"]} for n in self.homes])
        if not self.group.wait(PLACE_LIMIT):
            asked = ", ".join(f"{c} of {n['NodeManagerAddress']}" for c, n in zip(cpus, self.homes))
            remove_placement_group(self.group)
            self.group = None
            raise RuntimeError(f"Ray has no free processors: asked for {asked}; another job may have them (fewer: the option `threads`)")

    def ship(self):
        executable, name, *modules = self.program
        texts = []
        for path in [executable, *modules]:
            with open(path, "rb") as f:
                texts.append((os.path.basename(name if path == executable else path), f.read()))
        self.files = ray.put(texts)

    # ------------------------------------------------------------------ containers
    def place(self, number, tried):
        """Where a container may run: its own node, else one with few of them."""
        home = self.homes[number]["NodeID"]
        used = [node for n, (_, node) in list(self.actors.items()) if n != number]
        order = lambda n: (n["NodeID"] != home, n["NodeID"] == self.here, used.count(n["NodeID"]))
        for node in sorted(self.living(), key=order):
            if node["NodeID"] in tried:
                continue
            if answers(node):
                return node["NodeID"]
            tried.add(node["NodeID"])
        return None

    def actor_on(self, number, node):
        actor, where = self.actors.get(number, (None, None))
        if actor and where == node:
            return actor
        self.forget(number)
        if node == self.homes[number]["NodeID"]:
            c = self.cpus[number]
            options = {"num_cpus": c, "scheduling_strategy": PlacementGroupSchedulingStrategy(self.group, number)}
        else:
            options = {"num_cpus": 0, "scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}
        actor = ray.remote(Container).options(max_restarts=0, max_concurrency=4, **options).remote()
        self.actors[number] = (actor, node)
        return actor

    def forget(self, number, only=None):
        actor, _ = self.actors.get(number, (None, None))
        if actor and (only is None or actor is only):
            self.actors.pop(number, None)
            try:
                ray.kill(actor, no_restart=True)
            except Exception:
                pass

    def run(self, number, run):
        if why := self.head_lost(3):  # Ray would wait for it for a minute
            return self.say("ended", number, run, f"the head of the Ray cluster at {self.address} is lost, which starts processes: {why}")
        how, limit = "no node of the Ray cluster answers", START_LIMIT if int(run) == 1 else RETRY_LIMIT
        own = ("QUERY_CLUSTER", "QUERY_CLUSTER_HOST", "QUERY_RAY_PYTHON", "QUERY_CONTAINER")
        try:
            self.prepare(run)
        except Exception as e:
            return self.say("ended", number, run, first_line(e))
        environment = {k: v for k, v in os.environ.items() if k.startswith("QUERY_") and k not in own}
        features = [] if os.environ.get("QUERY_CLUSTER_ANY_CPU") else sorted(cpu_features())
        tried, actor = set(), None
        end = time.monotonic() + START_LIMIT
        while time.monotonic() < end:
            try:
                node = self.place(number, tried)
                if node is None:
                    break
                tried.add(node)
                for again in (True, False):  # its actor may have died unseen
                    known = number in self.actors
                    actor = self.actor_on(number, node)
                    try:
                        place = ray.get(actor.start.remote(run, self.files, self.program[1], f"{self.invitation} {number} {run}\n",
                                                           environment, platform.machine(), features), timeout=limit)
                        break
                    except ray.exceptions.RayActorError:
                        self.forget(number)
                        if not (known and again):
                            raise
                self.say("started", number, run, place)
                break
            except Exception as e:
                how = first_line(e)
                self.forget(number, actor)
                actor = None
        if actor:
            try:
                how = ray.get(actor.wait.remote())
            except Exception as e:
                how = first_line(e)
                self.forget(number, actor)
        self.say("ended", number, run, how)

    def kill(self, number, run):
        actor, _ = self.actors.get(number, (None, None))
        if actor:
            actor.kill.remote(run)

    # ------------------------------------------------------------------ messages
    def handle(self, kind, fields):
        if kind == "begin":
            self.begin(*fields)
        elif kind == "program":
            self.program = fields
        elif kind == "listen":
            self.invitation = " ".join(fields)
        elif kind == "start":
            number, run = int(fields[0]), int(fields[1])
            threading.Thread(target=self.run, args=(number, run), daemon=True).start()
        elif kind == "kill":
            self.kill(int(fields[0]), int(fields[1]))

    def serve(self):
        lines = self.control.makefile("rb")
        for line in lines:
            kind, *fields = line[:-1].decode(errors="surrogateescape").split("\0")[:-1]
            try:
                self.handle(kind, fields)
            except Exception as e:
                self.say("failed", first_line(e))
                return

    def end(self):
        if self.head_lost(1):
            os._exit(0)
        threading.Timer(10, lambda: os._exit(1)).start()
        for number in list(self.actors):
            self.forget(number)
        if self.group:
            remove_placement_group(self.group)
        if ray.is_initialized():
            ray.shutdown()
        os._exit(0)


def answers(node):
    """Ray takes seconds to say that a node is gone."""
    try:
        socket.create_connection((node["NodeManagerAddress"], node["NodeManagerPort"]), SILENCE_LIMIT).close()
        return True
    except OSError:
        return False


def first_line(e):
    text = str(getattr(e, "cause", None) or e).strip() or type(e).__name__
    return " ".join(text.split())[:1000]


if __name__ == "__main__":
    session = Session(socket.socket(fileno=os.dup(0)))  # which processes of Ray's do not get
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    session.serve()
    session.end()
